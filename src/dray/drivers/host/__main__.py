"""`python -m dray.drivers.host --config FILE`: the driver as a process of its own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

import msgspec

from dray.drivers.host.config import HostConfig
from dray.drivers.host.driver import HostDriver
from dray.drivers.host.reading import load_config
from dray.sdk import ConfigurationError, run

__all__ = ["main"]

# As the SDK's, for what a restart does not cure.
EXIT_MISCONFIGURED: Final = 2


def main() -> None:
    """Run until told to end."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", type=Path, help="a YAML file of devices")
    parser.add_argument("--driver-name", help="another name than the file's")
    own, rest = parser.parse_known_args()
    if {"-h", "--help"} & set(rest):
        parser.print_usage()
        run(HostDriver(HostConfig(driver="host.dray.dev", groups=())), rest)
    if own.config is None:
        sys.exit("--config FILE must say which devices there are")
    try:
        config = load_config(own.config)
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(EXIT_MISCONFIGURED)
    if own.driver_name:
        config = msgspec.structs.replace(config, driver=own.driver_name)
    run(HostDriver(config), rest)


if __name__ == "__main__":
    main()
