"""A driver at work: all parts, started in order and stopped in reverse.

First the author's code is told to begin and what an earlier process left is made good; then the
service socket opens, and the registration socket after it, because a node that sees that one calls
at once; then devices are discovered and published. On the way down the node hears first that the
driver is gone. Slices stay: a driver that is restarted has the same devices.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from inspect import isawaitable
from pathlib import Path
from typing import Any, Final

import grpc.aio

from dray.api.resource import Device
from dray.client import Client
from dray.clock import Clock, SystemClock
from dray.entropy import Entropy, SystemEntropy
from dray.errors import ConfigurationError, DrayError, TransientError
from dray.proto import registration_v1_pb2_grpc
from dray.sdk._aftermath import Aftermath
from dray.sdk._background import Background
from dray.sdk._calls import Contained, attempt
from dray.sdk._cdi_files import CDIFiles
from dray.sdk._claim_metadata import ClaimMetadata
from dray.sdk._claim_status import ClaimStatuses
from dray.sdk._context import Context
from dray.sdk._device_work import prepared_device
from dray.sdk._devices import PreparedDevice
from dray.sdk._driver import Driver, check_driver_name
from dray.sdk._inventory import Inventory
from dray.sdk._journal import Journal, read_boot_id
from dray.sdk._metadata import MetadataFiles
from dray.sdk._metrics import DriverMetrics
from dray.sdk._monitor import HealthMonitor
from dray.sdk._preparation import Preparation
from dray.sdk._probe_endpoint import ProbeEndpoint
from dray.sdk._probes import probe_endpoint
from dray.sdk._publisher import Publisher
from dray.sdk._registration import Registration, RegistrationStatus
from dray.sdk._serialization import LOCK_FILE_NAME, ProcessLock
from dray.sdk._services import DriverService, add_services
from dray.sdk._settings import Settings
from dray.sdk._sockets import (
    clear_path,
    clear_siblings,
    registration_socket,
    remove_socket,
    service_socket,
)
from dray.sdk._steps import OnStep, pass_by
from dray.sdk._taints import TaintPolicy, Taints

__all__ = ["RunningDriver", "serve"]

_log = logging.getLogger(__name__)

JOURNAL_FILE_NAME: Final = "journal.json"
TAINTS_FILE_NAME: Final = "taints.json"

# Upstream's drivers look as often; it is for what was lost, and nobody waits for it.
COLLECTION_SECONDS: Final = 600.0

# Between attempts at discovering devices at all.
DISCOVERY_PAUSE_SECONDS: Final = 1.0
DISCOVERY_PAUSE_SECONDS_MAX: Final = 60.0

# Calls have 30 s of their own; a container that is stopped has 30 s by default.
STOP_GRACE_SECONDS: Final = 10.0

# A node has one kubelet, with one call for each pod that comes or goes.
CALLS_MAX: Final = 256


class RunningDriver:
    """A driver on a node. `service` is what a node calls, with or without sockets."""

    def __init__(
        self,
        driver: Driver,
        settings: Settings,
        *,
        client: Client,
        clock: Clock,
        entropy: Entropy,
        boot_id: str,
        on_step: OnStep,
    ) -> None:
        self.driver: Final = driver
        self.settings: Final = settings
        self.client: Final = client
        self._clock = clock
        self._entropy = entropy
        self._background = Background()
        # None until devices were discovered: until then nobody knows that there are none.
        self._inventory: Inventory | None = None
        self._devices: dict[tuple[str, str], Device] = {}
        self._refreshing = asyncio.Lock()
        self.journal: Final = Journal(
            self._kept_at(JOURNAL_FILE_NAME),
            driver=driver.name,
            boot_id=boot_id,
            on_problem=lambda message: _log.error("%s", message),
        )
        self.metrics: Final = DriverMetrics(driver.name)
        self.taints: Final = Taints(
            clock=clock,
            on_change=self._publish_taints,
            path=self._kept_at(TAINTS_FILE_NAME),
            policy=driver.taint_policy or TaintPolicy.usual(driver.name),
        )
        self.monitor: Final = HealthMonitor(
            driver,
            devices=self.devices,
            clock=clock,
            on_change=self.taints.hear,
            on_forget=self.taints.forget,
            metrics=self.metrics,
        )
        self.publisher: Final = (
            Publisher(
                client,
                driver=driver.name,
                node_name=settings.node_name,
                clock=clock,
                entropy=entropy,
                on_error=lambda error: _log.error("publishing devices: %s", error),
                metrics=self.metrics,
            )
            if settings.publish
            else None
        )
        self.metrics.count_journal(lambda: len(self.journal.entries()))
        self._statuses = ClaimStatuses(client, driver=driver.name, clock=clock)
        self.preparation: Final = Preparation(
            driver,
            client,
            journal=self.journal,
            cdi_files=CDIFiles(
                None if settings.in_memory else settings.cdi_directory,
                driver=driver.name,
                device_class=settings.device_class,
            ),
            lock=ProcessLock(
                self._kept_at(LOCK_FILE_NAME), clock=clock, acquired=self.journal.refresh
            ),
            clock=clock,
            entropy=entropy,
            published=self._published,
            observer=self._aftermath(),
            companions=self._companions(),
            metrics=self.metrics,
            on_step=on_step,
        )
        self.service: Final = DriverService(
            self.preparation, self.monitor, driver=driver.name, clock=clock
        )
        self.registration: Registration | None = None
        self.probes: ProbeEndpoint | None = None

    def devices(self) -> tuple[tuple[str, Device], ...]:
        """The devices there are, with their pools' names."""
        if self._inventory is None:
            return ()
        return self._inventory.devices(self.settings.node_name)

    def prepared(self) -> tuple[PreparedDevice, ...]:
        """What claims have of the devices, begun or complete."""
        return tuple(
            prepared_device(self.driver.name, entry, device)
            for entry in self.journal.entries()
            for device in entry.devices
        )

    async def refresh(self) -> None:
        """Ask the author's code for devices again, and publish them.

        Raises what that code raises on purpose, TransientError for everything else, and
        InventoryError for what cannot be published: then everything is as it was.
        """
        async with self._refreshing:
            inventory = await attempt("discovering devices", self._discover)
            self._publish(inventory)
            # Only now: what cannot be published must not take the place of what was.
            self._inventory = inventory
            self._devices = {(pool, each.name): each for pool, each in self.devices()}
            self.monitor.refresh()

    async def published(self) -> None:
        """Wait until the API has the devices as they are."""
        if self.publisher is not None:
            await self.publisher.published()

    async def registered(self) -> None:
        """Wait until the node has registered the driver; without a socket for it, somebody has."""
        if self.registration is not None:
            await self.registration.registered()

    async def failure(self) -> BaseException:
        """Wait until something that should not end has ended."""
        return await self._background.failure()

    async def _discover(self) -> Inventory:
        found: Any = self.driver.discover()  # as all methods, it may be a plain one
        return Inventory.of(await found if isawaitable(found) else found)

    def _publish(self, inventory: Inventory) -> None:
        if self.publisher is not None:
            self.publisher.publish(self.taints.apply(inventory, self.settings.node_name))

    def _publish_taints(self) -> None:
        if self._inventory is not None:
            self._publish(self._inventory)

    def _aftermath(self) -> Aftermath:
        return Aftermath(
            self.taints,
            self._statuses,
            driver=self.driver.name,
            clock=self._clock,
            recovers=self.monitor.offers_health,
            published=self.published,
        )

    def _companions(self) -> ClaimMetadata | None:
        if self.settings.in_memory or not self.driver.tell_containers:
            return None
        files = MetadataFiles(
            self.settings.plugin_path(self.driver.name),
            self.settings.cdi_directory,
            driver=self.driver.name,
        )
        return ClaimMetadata(files, driver=self.driver.name, published=self._published)

    def _published(self, pool: str, device: str) -> Device | None:
        return self._devices.get((pool, device))

    def _kept_at(self, name: str) -> Path | None:
        if self.settings.in_memory:
            return None
        return self.settings.plugin_path(self.driver.name) / name

    # Starting and stopping -----------------------------------------------------------------------

    @asynccontextmanager
    async def running(self) -> AsyncIterator[RunningDriver]:
        """Start everything; stop it in reverse."""
        async with AsyncExitStack() as undo:
            self._make_directories()
            self.driver.context = Context(
                node_name=self.settings.node_name,
                directory=None
                if self.settings.in_memory
                else self.settings.plugin_path(self.driver.name),
                client=self.client,
                clock=self._clock,
                entropy=self._entropy,
                taints=self.taints,
                prepared=self.prepared,
                refresh=self.refresh,
            )
            self._read_journal()
            await self.driver.started()
            undo.push_async_callback(self.driver.stopped)
            undo.push_async_callback(self.preparation.close)
            try:
                await self.preparation.recover()
            except (TransientError, OSError) as error:
                # The next operation tries again; a driver that does not start helps nobody.
                _log.warning("what an earlier process left cannot be looked at yet: %s", error)
            if not self.settings.in_memory:
                await self._open_sockets(undo)
            undo.push_async_callback(self._background.stop)
            try:
                await self.refresh()
            except TransientError as error:
                # A kernel module that is not loaded yet, say: claims can be given back without it.
                _log.warning("devices cannot be discovered yet: %s", error)
                self._background.start(self._discover_at_last(), name="first discovery")
            if self.publisher is not None:
                self._background.start(self.publisher.run(), name="slices")
            self._background.start(self.monitor.run(), name="health")
            self._background.start(self.taints.run(), name="taints")
            self._background.start(self._statuses.run(), name="claim statuses")
            self._background.start(self._collect_for_ever(), name="collection")
            if self.driver.discover_seconds > 0:
                self._background.start(self._discover_for_ever(), name="discovery")
            if self.settings.health_address:
                await self._open_probes(undo)
            yield self

    def _read_journal(self) -> None:
        """Know what there is before the author's code asks; making it good comes after."""
        try:
            self.journal.refresh()
        except (TransientError, OSError) as error:
            _log.warning("the journal cannot be read yet: %s", error)

    def _make_directories(self) -> None:
        if self.settings.in_memory:
            return
        directories = (self.settings.plugin_path(self.driver.name), self.settings.registry_path())
        for directory in directories:
            try:
                directory.mkdir(mode=0o750, parents=True, exist_ok=True)
            except OSError as error:
                raise ConfigurationError(f"cannot make directory {directory}: {error}") from error

    async def _open_sockets(self, undo: AsyncExitStack) -> None:
        settings, name = self.settings, self.driver.name
        endpoint = service_socket(settings.plugin_path(name), settings.pod_uid)
        services: tuple[str, ...] = ()
        await clear_siblings(settings.registry_path(), settings.plugin_path(name), name)

        def offer(server: grpc.aio.Server) -> None:
            nonlocal services
            services = add_services(
                server,
                self.service,
                v1=settings.offer_v1,
                v1beta1=settings.offer_v1beta1,
                health=settings.offer_health,
            )

        await self._listen(endpoint, offer, undo)
        # A stream that stays open would keep the server from stopping.
        undo.callback(self.service.end_streams)
        registration = Registration(
            driver=name,
            endpoint=endpoint,
            services=services,
            clock=self._clock,
            on_status=self._hear_status,
        )
        self.registration = registration
        await self._listen(
            registration_socket(settings.registry_path(), name, settings.pod_uid),
            lambda server: registration_v1_pb2_grpc.add_RegistrationServicer_to_server(
                registration, server
            ),
            undo,
        )

    def _hear_status(self, status: RegistrationStatus) -> None:
        self.metrics.registered(status.registered)
        with Contained("registered"):
            self.driver.registered(status)

    async def _listen(
        self, path: Path, add: Callable[[grpc.aio.Server], None], undo: AsyncExitStack
    ) -> None:
        await clear_path(path)
        server = grpc.aio.server(maximum_concurrent_rpcs=CALLS_MAX)
        add(server)
        try:
            server.add_insecure_port(f"unix:{path}")
        except RuntimeError as error:
            raise ConfigurationError(f"cannot listen at {path}: {error}") from error
        undo.callback(remove_socket, path)
        undo.push_async_callback(server.stop, STOP_GRACE_SECONDS)
        await server.start()

    async def _open_probes(self, undo: AsyncExitStack) -> None:
        settings, name = self.settings, self.driver.name
        socket = None
        if not settings.in_memory and settings.offer_v1:
            socket = service_socket(settings.plugin_path(name), settings.pod_uid)
        probes = probe_endpoint(
            settings.health_address,
            socket=socket,
            registration=self.registration,
            background=self._background,
            monitor=self.monitor,
            publisher=self.publisher,
            metrics=self.metrics,
            clock=self._clock,
        )
        await probes.start()
        undo.push_async_callback(probes.stop)
        self.probes = probes

    # Background ----------------------------------------------------------------------------------

    async def _collect_for_ever(self) -> None:
        while True:
            await self._clock.sleep(COLLECTION_SECONDS * self._entropy.uniform(1.0, 1.1))
            await self.preparation.collect()

    async def _discover_at_last(self) -> None:
        pause_seconds = DISCOVERY_PAUSE_SECONDS
        while not await self._discovered(pause_seconds):
            pause_seconds = min(2 * pause_seconds, DISCOVERY_PAUSE_SECONDS_MAX)

    async def _discover_for_ever(self) -> None:
        while True:
            await self._discovered(self.driver.discover_seconds)

    async def _discovered(self, pause_seconds: float) -> bool:
        """Whether devices could be discovered after a pause; what is known stays if not."""
        await self._clock.sleep(pause_seconds)
        try:
            await self.refresh()
        except DrayError as error:
            self.metrics.error("discovery")
            _log.warning("devices cannot be discovered now: %s", error)
            return False
        return True


@asynccontextmanager
async def serve(
    driver: Driver,
    settings: Settings,
    *,
    client: Client,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    boot_id: str | None = None,
    on_step: OnStep = pass_by,
) -> AsyncIterator[RunningDriver]:
    """Run a driver inside of `async with`. Raises ConfigurationError for what cannot work.

    `boot_id` tells boots of the machine apart and `on_step` hears how claims come along: both are
    for tests.
    """
    check_driver_name(driver.name)
    settings.check(driver.name)
    found = "" if settings.in_memory else read_boot_id()
    running = RunningDriver(
        driver,
        settings,
        client=client,
        clock=clock or SystemClock(),
        entropy=entropy or SystemEntropy(),
        boot_id=found if boot_id is None else boot_id,
        on_step=on_step,
    )
    async with running.running():
        yield running
