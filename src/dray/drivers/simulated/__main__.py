"""`python -m dray.drivers.simulated`: the driver as a process of its own, for any node."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from dray.drivers.simulated.driver import SimulatedDriver
from dray.drivers.simulated.fleet import default_fleet, load_fleet
from dray.sdk import ConfigurationError, run

__all__ = ["main"]


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
    run(SimulatedDriver(fleet), rest)


if __name__ == "__main__":
    main()
