"""The driver of NVIDIA GPUs with hardware that is not there: what the conformance kit starts."""

from __future__ import annotations

import sys

from tests.unit.drivers.nvml import fake_nvml


def main() -> None:
    fake_nvml.machine = fake_nvml.machine_from_environment()
    sys.modules["pynvml"] = fake_nvml
    from dray.drivers.nvml.__main__ import main as run_driver

    run_driver()


if __name__ == "__main__":
    main()
