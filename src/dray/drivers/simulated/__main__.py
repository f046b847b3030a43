"""`python -m dray.drivers.simulated`: the driver as a process of its own, for any node."""

from __future__ import annotations

import argparse
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from dray.drivers.simulated.control import SOCKET_NAME, controlled
from dray.drivers.simulated.driver import SimulatedDriver
from dray.drivers.simulated.fleet import Fleet, default_fleet, load_fleet
from dray.sdk import ConfigurationError, run


class _Controlled(SimulatedDriver):
    """The driver with a socket for faults beside its own."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(fleet)
        self._stack = AsyncExitStack()

    async def started(self) -> None:
        await super().started()
        # Instances of a rolling update share the directory; the one that came last is commanded.
        if self.context.directory is not None:
            path = self.context.directory / SOCKET_NAME
            await self._stack.enter_async_context(controlled(self.faults, path))

    async def stopped(self) -> None:
        await self._stack.aclose()
        await super().stopped()


def main() -> None:
    """Run until told to end."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--fleet", type=Path, help="a YAML file of models and nodes")
    parser.add_argument("--driver-name", help="another name than the fleet's")
    own, rest = parser.parse_known_args()
    if {"-h", "--help"} & set(rest):
        parser.print_usage()
    try:
        fleet = load_fleet(own.fleet) if own.fleet else default_fleet()
    except ConfigurationError as error:
        sys.exit(f"{error}")
    if own.driver_name:
        fleet = msgspec.structs.replace(fleet, driver=own.driver_name)
    run(_Controlled(fleet), rest)


if __name__ == "__main__":
    main()
