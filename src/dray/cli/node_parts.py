"""What nodes are made of, whichever command runs them: their runtimes and their drivers."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from dray.agent.agent import Agent
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.runtimes.runtime import Runtime
from dray.client import Client
from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.errors import DrayError
from dray.sdk import Driver, RunningDriver, Settings, serve

__all__ = ["attached", "cdi_directory", "open_runtime", "pods_known", "settled"]

_log = logging.getLogger(__name__)

# Usually it takes a moment; a node without devices is still one.
SETTLE_SECONDS: Final = 5.0

# What every CRI runtime reads unless it was configured otherwise.
CRI_CDI_DIRECTORY: Final = Path("/var/run/cdi")


async def settled(driver: RunningDriver, clock: Clock) -> None:
    """Wait for what whoever sees that the node is ready relies on: the driver and its devices."""
    name = driver.driver.name
    for done, what in (
        (driver.published, f"devices of {name} are not published yet"),
        (driver.registered, f"driver {name} is not registered yet"),
    ):
        try:
            await within(clock, SETTLE_SECONDS, done())
        except (TimeoutError, DrayError) as error:
            _log.warning("%s: %s", what, error)


async def pods_known(agent: Agent, clock: Clock) -> None:
    """Wait until the node knows its pods, whose logs may be asked for once it says it is ready."""
    try:
        await within(clock, SETTLE_SECONDS, agent.pods.recovery())
    except TimeoutError as error:
        _log.warning("pods of node %s are not known yet: %s", agent.settings.node_name, error)


@asynccontextmanager
async def attached(
    driver: Driver, agent: Agent, client: Client, clock: Clock, entropy: Entropy
) -> AsyncIterator[RunningDriver]:
    """A driver in this process, on a node that only seems to be there."""
    place = Settings(node_name=agent.settings.node_name, in_memory=True)
    async with serve(driver, place, client=client, clock=clock, entropy=entropy) as running:
        service = running.service
        detach = agent.attach(driver.name, service, offers_health=service.offers_health)
        try:
            yield running
        finally:
            detach()


def cdi_directory(given: Path | None, runtime: str, root: Path) -> Path:
    """Where drivers write. A CRI runtime is not told where to look, so it is where it looks."""
    if given is not None:
        return given.absolute()
    return CRI_CDI_DIRECTORY if runtime == "cri" else root / "cdi"


@asynccontextmanager
async def open_runtime(
    name: str, root: Path, cdi: Path, cri_endpoint: str, clock: Clock, entropy: Entropy
) -> AsyncIterator[Runtime]:
    """What runs containers: process, cri or memory."""
    directories = ("/etc/cdi", "/var/run/cdi", cdi)
    match name:
        case "memory":
            yield MemoryRuntime(clock)
        case "cri":
            from dray.agent.runtimes.cri.runtime import CRIRuntime  # noqa: PLC0415 - few need it

            async with CRIRuntime(
                cri_endpoint, clock=clock, entropy=entropy, cdi_directories=directories
            ) as runtime:
                yield runtime
        case _:
            from dray.agent.runtimes.process.runtime import ProcessRuntime  # noqa: PLC0415 - likewise

            async with ProcessRuntime(
                root / "runtime", clock=clock, entropy=entropy, cdi_directories=directories
            ) as processes:
                yield processes
