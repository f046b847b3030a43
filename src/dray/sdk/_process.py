"""A driver as a process of its own: flags, logging, signals, and an exit code that says why.

One line on standard output says that the driver is ready, which it is once its node has registered
it; everything else is logged to standard error. SIGTERM and SIGINT end it cleanly, sockets removed.
It exits with 0 when told to end, with 2 when it was set up wrongly, and 1 when something failed
that a restart may cure.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from dray.client import Client, connect, load_kubeconfig
from dray.clock import Clock, SystemClock
from dray.errors import ConfigurationError, DrayError
from dray.sdk._driver import Driver, check_driver_name
from dray.sdk._runner import RunningDriver, serve
from dray.sdk._settings import Settings, settings_from

__all__ = ["run"]

_log = logging.getLogger(__name__)

EXIT_ENDED: Final = 0
EXIT_FAILED: Final = 1
EXIT_MISCONFIGURED: Final = 2

_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def run(
    driver: Driver,
    arguments: Sequence[str] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a driver until it is told to end; a failure is the process' exit code.

    Flags are those of the command line, unless given here. See --help.
    """
    told = os.environ if environment is None else environment
    flags = sys.argv[1:] if arguments is None else arguments
    settings, level = settings_from(flags, told, driver=driver.name)
    logging.basicConfig(
        level=level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    code = asyncio.run(_main(driver, settings, told))
    if code != EXIT_ENDED:
        sys.exit(code)


async def _main(driver: Driver, settings: Settings, environment: Mapping[str, str]) -> int:
    clock = SystemClock()
    try:
        check_driver_name(driver.name)
        settings.check(driver.name)
        client = _client(driver, settings, clock, environment)
    except ConfigurationError as error:
        _log.error("%s", error)
        return EXIT_MISCONFIGURED
    try:
        return await _serve(driver, settings, client, clock)
    except ConfigurationError as error:
        _log.error("%s", error)
        return EXIT_MISCONFIGURED
    except DrayError as error:
        _log.error("driver %s cannot run: %s", driver.name, error)
        return EXIT_FAILED
    finally:
        await client.close()


def _client(
    driver: Driver, settings: Settings, clock: Clock, environment: Mapping[str, str]
) -> Client:
    paths = [settings.kubeconfig] if settings.kubeconfig else []
    config = load_kubeconfig(*paths, environment=environment)
    return connect(config, clock=clock, field_manager=driver.name)


async def _serve(driver: Driver, settings: Settings, client: Client, clock: Clock) -> int:
    stop = asyncio.Event()
    starting = asyncio.current_task()

    def end() -> None:
        if starting is not None and not stop.is_set():
            starting.cancel()
        stop.set()

    loop = asyncio.get_running_loop()
    for number in _STOP_SIGNALS:
        loop.add_signal_handler(number, end)
    try:
        async with serve(driver, settings, client=client, clock=clock) as running:
            # From here on there is something to end in order.
            starting = None
            _log.info("driver %s waits for its node to register it", driver.name)
            announcing = asyncio.create_task(_announce(driver, settings, running))
            try:
                error = await _wait(stop, running)
            finally:
                announcing.cancel()
                await asyncio.wait((announcing,))
    except asyncio.CancelledError:
        if not stop.is_set():
            raise
        return EXIT_ENDED
    if error is not None:
        _log.error("driver %s failed", driver.name, exc_info=error)
        return EXIT_FAILED
    _log.info("driver %s has ended", driver.name)
    return EXIT_ENDED


async def _announce(driver: Driver, settings: Settings, running: RunningDriver) -> None:
    await running.registered()
    where = f" on node {settings.node_name}" if settings.node_name else ""
    sys.stdout.write(f"driver {driver.name} is ready{where}\n")
    sys.stdout.flush()


async def _wait(stop: asyncio.Event, running: RunningDriver) -> BaseException | None:
    """Wait until the driver is to end, or cannot go on: then returns why."""
    stopping = asyncio.create_task(stop.wait())
    failing = asyncio.create_task(running.failure())
    try:
        await asyncio.wait((stopping, failing), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        failing.cancel()
        await asyncio.wait((stopping, failing))
    return None if failing.cancelled() else failing.result()
