"""Everything a check works with: the cluster, a kubelet's hands, the driver, and its CDI files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import grpc.aio

from dray.api.resource import DeviceID, ResourceClaim
from dray.clock import Clock
from dray.conform.cdi_directory import CDIDirectory
from dray.conform.check import NotApplicable, Violation
from dray.conform.cluster import Cluster, uid_of
from dray.conform.kubelet import Instance, Kubelet, Prepared
from dray.conform.subject import Process, Subject
from dray.entropy import Entropy

__all__ = ["Bench", "Options"]

LOOK_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Options:
    """How patient and how thorough a run is."""

    start_seconds: float = 30.0  # until a driver that was started is registered
    # Until its slices are there, or there again: upstream's helper may take a minute and a half.
    publish_seconds: float = 120.0
    kills: int = 10  # how often it is killed at a random moment of a prepare
    watch_seconds: float = 90.0  # how long health may have to be watched for a gap


@dataclass(slots=True)
class Bench:
    """One driver under test and all around it."""

    driver: str
    cluster: Cluster
    kubelet: Kubelet
    subject: Subject
    cdi: CDIDirectory
    clock: Clock
    entropy: Entropy
    options: Options
    plugins: Path
    instance: Instance | None = field(default=None)
    process: Process | None = field(default=None)

    # The driver -------------------------------------------------------------------------------

    async def start(self) -> Instance:
        """Start the driver, and register it as a kubelet does."""
        self.process = await self.subject.start()
        return await self.register()

    async def register(self) -> Instance:
        """Find the driver's socket, and tell it that it is registered."""
        try:
            instance = await self.kubelet.find(
                self.driver, seconds=self.options.start_seconds, ended=self._ended
            )
        except Violation as violation:
            if self.process is not None and self._ended():
                await self.process.read_out()
            raise Violation(f"{violation}{self._last_words()}") from violation
        await self.kubelet.notify(instance.socket)
        self.instance = instance
        return instance

    async def registered(self) -> Instance:
        """The running driver; started again if a check before this one ended it."""
        if self._ended():
            return await self.start()
        if self.instance is None:
            return await (self.start() if self.subject.startable else self.register())
        return self.instance

    async def kill(self) -> None:
        """Kill the driver where it stands."""
        if self.process is None:
            raise NotApplicable("needs the driver's command, to start and kill it")
        await self.process.kill()

    def _ended(self) -> bool:
        return self.process is not None and not self.process.running

    def _last_words(self) -> str:
        if self.process is None or not self.process.output:
            return ""
        state = "" if self.process.running else ", which has ended,"
        return f"\nthe driver{state} wrote last:\n{self.process.output}"

    # Claims -----------------------------------------------------------------------------------

    async def devices(self, count: int = 1) -> Sequence[DeviceID]:
        """Devices to make claims of, once the driver has published them."""
        await self.registered()
        deadline = self.clock.monotonic() + self.options.publish_seconds
        while True:
            found = await self.cluster.devices(self.driver)
            if len(found) >= count:
                return found[:count]
            if self.clock.monotonic() >= deadline:
                if found:
                    raise NotApplicable(f"needs {count} devices, and there are {len(found)}")
                raise Violation(
                    f"no devices published after {self.options.publish_seconds:g} s"
                    f"{self._last_words()}"
                )
            await self.clock.sleep(LOOK_SECONDS)

    @asynccontextmanager
    async def claim(self, devices: Sequence[DeviceID]) -> AsyncIterator[ResourceClaim]:
        """An allocated claim, unprepared and deleted afterwards, whatever happens."""
        claim = await self.cluster.claim(devices)
        try:
            yield claim
        finally:
            instance = await self.registered()
            try:
                await self.kubelet.unprepare(instance, [uid_of(claim)])
            finally:
                await self.cluster.delete(claim)

    async def prepare(self, *claims: ResourceClaim, version: str = "") -> Mapping[str, Prepared]:
        """Prepare claims; the call as a whole must be answered."""
        instance = await self.registered()
        try:
            return await self.kubelet.prepare(
                instance, [uid_of(claim) for claim in claims], version=version
            )
        except grpc.aio.AioRpcError as error:
            raise Violation(
                f"NodePrepareResources failed: {error.code().name}: {error.details()}"
            ) from error

    async def prepared(self, claim: ResourceClaim, *, version: str = "") -> Prepared:
        """Prepare one claim, which has to work."""
        answer = await self.prepare(claim, version=version)
        uid = claim.metadata.uid
        if uid not in answer:
            raise Violation(f"no answer for claim {uid}; there were: {sorted(answer)}")
        if answer[uid].error:
            raise Violation(f"claim was not prepared: {answer[uid].error}")
        return answer[uid]

    async def refusal(self, *claim: str, version: str = "") -> str:
        """Why a claim, named by hand, was not prepared: its error, or that of the whole call.

        What was prepared after all is given back, so that only one check has to do with it.
        """
        instance = await self.registered()
        namespace, name, uid = claim
        try:
            answer = await self.kubelet.prepare(instance, [(namespace, name, uid)], version=version)
        except grpc.aio.AioRpcError as error:
            return f"{error.code().name}: {error.details()}"
        if uid not in answer:
            return "no answer for this claim"
        if not answer[uid].error:
            with suppress(grpc.aio.AioRpcError):
                await self.kubelet.unprepare(instance, [(namespace, name, uid)], version=version)
        return answer[uid].error

    async def unprepare(self, *claims: ResourceClaim, version: str = "") -> None:
        """Unprepare claims, which has to work."""
        await self.unprepare_names([uid_of(claim) for claim in claims], version=version)

    async def unprepare_names(
        self, names: Sequence[tuple[str, str, str]], *, version: str = ""
    ) -> None:
        """Unprepare claims by namespace, name and UID, which has to work."""
        instance = await self.registered()
        try:
            answer = await self.kubelet.unprepare(instance, names, version=version)
        except grpc.aio.AioRpcError as error:
            raise Violation(
                f"NodeUnprepareResources failed: {error.code().name}: {error.details()}"
            ) from error
        for _namespace, _name, uid in names:
            if uid not in answer:
                raise Violation(f"no answer for claim {uid}; there were: {sorted(answer)}")
            if answer[uid]:
                raise Violation(f"claim {uid} was not unprepared: {answer[uid]}")
