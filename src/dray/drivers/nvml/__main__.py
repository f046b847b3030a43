"""`python -m dray.drivers.nvml`: the driver as a process of its own, for any node."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

import msgspec

from dray.drivers.nvml.config import NvmlConfig, load_config
from dray.drivers.nvml.driver import NvmlDriver
from dray.sdk import ConfigurationError, run

__all__ = ["main"]

# As the SDK's, for what a restart does not cure.
EXIT_MISCONFIGURED: Final = 2


def main() -> None:
    """Run until told to end."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", type=Path, help="a YAML file")
    parser.add_argument("--driver-name", help="another name than gpu.nvidia.com")
    own, rest = parser.parse_known_args()
    if {"-h", "--help"} & set(rest):
        parser.print_usage()
    try:
        config = load_config(own.config) if own.config else NvmlConfig()
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(EXIT_MISCONFIGURED)
    if own.driver_name:
        config = msgspec.structs.replace(config, driver=own.driver_name)
    run(NvmlDriver(config), rest)


if __name__ == "__main__":
    main()
