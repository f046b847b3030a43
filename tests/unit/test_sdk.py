"""The SDK as a package: what importing it takes, and what an idle driver needs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import dray.sdk

# What pip installs with dray[sdk], and what gRPC and HTTP parser bring along themselves.
ALLOWED = {"dray", "msgspec", "grpc", "google", "httptools", "typing_extensions", "cython_runtime"}

LISTING = """
import sys
before = set(sys.modules)
import dray.sdk, json
names = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps(sorted(names - sys.stdlib_module_names)))
"""

IDLE = """
import asyncio, pathlib, tempfile
from dray.client import Client, in_process
from dray.clock import SystemClock
from dray.sdk import Driver, Settings, device, serve

class Idle(Driver):
    name = "idle.example.com"
    async def discover(self):
        return [device(f"d-{n}") for n in range(8)]
    async def probe(self, device):
        return True

class Nobody:
    async def get(self, *_, **__):
        raise LookupError
    async def apply(self, *_, **__):
        raise LookupError

async def main():
    with tempfile.TemporaryDirectory(prefix="dray", dir="/tmp") as name:
        root = pathlib.Path(name)
        settings = Settings(
            node_name="n1", kubelet_directory=root, cdi_directory=root / "cdi", publish=False
        )
        async with serve(Idle(), settings, client=Nobody()):
            for line in open("/proc/self/status"):
                if line.startswith("VmRSS:"):
                    print(int(line.split()[1]) // 1024)

asyncio.run(main())
"""

# Most of it is gRPC and protobuf, which differ by platform; 46 on Linux x86-64.
IDLE_MEBIBYTES_MAX = 60


def output_of(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.slow
def test_importing_it_takes_only_what_is_installed_with_it() -> None:
    names = {name for name in json.loads(output_of(LISTING)) if not name.startswith("_cython_")}
    assert names - ALLOWED == set()


@pytest.mark.slow
def test_an_idle_driver_needs_little_memory() -> None:
    assert int(output_of(IDLE)) < IDLE_MEBIBYTES_MAX


def test_every_name_it_offers_is_there() -> None:
    assert [name for name in dray.sdk.__all__ if not hasattr(dray.sdk, name)] == []
