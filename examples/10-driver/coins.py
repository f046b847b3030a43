"""A whole driver: coins that containers can have for themselves. python coins.py --help

Coins are directories below COINS_DIRECTORY, so that there is something to break: a coin without its
file `metal` is unhealthy.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import msgspec

from dray.sdk import (
    ClaimedDevice,
    Device,
    DeviceHealth,
    Driver,
    Edits,
    Health,
    Mount,
    PreparedDevice,
    device,
    run,
)


class Engraving(msgspec.Struct, forbid_unknown_fields=True):
    """What a claim may say about its coins, as opaque configuration."""

    motto: str = "in code we trust"


class Coins(Driver):
    """Gives every container a coin that is its own."""

    name = "coins.example.com"
    discover_seconds = 1.0
    probe_seconds = 1.0

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    async def discover(self) -> list[Device]:
        found = sorted(await asyncio.to_thread(lambda: list(self.directory.iterdir())))
        return [
            device(path.name, attributes={"metal": metal(path)}, capacity={"weight": 8})
            for path in found
        ]

    async def prepare(self, device: ClaimedDevice) -> Edits:
        engraving = device.configured(Engraving, Engraving())
        purse = self.directory.parent / "purses" / f"{device.claim_uid}-{device.device}"
        # Remembered before it is made: after a crash right here, unprepare knows what to remove.
        await device.remember(str(purse))
        await asyncio.to_thread(fill, purse, engraving.motto)
        return Edits(
            env=(f"COIN={device.device}", f"COIN_DIRECTORY={purse}"),
            mounts=(Mount(host_path=str(purse), container_path=str(purse)),),
        )

    async def unprepare(self, device: PreparedDevice) -> None:
        if device.state is not None:
            await asyncio.to_thread(shutil.rmtree, device.state, ignore_errors=True)

    async def probe(self, device: Device) -> DeviceHealth:
        if await asyncio.to_thread((self.directory / device.name / "metal").exists):
            return DeviceHealth(device.name, Health.HEALTHY)
        return DeviceHealth(device.name, Health.UNHEALTHY, "it has lost its metal")


def metal(coin: Path) -> str:
    try:
        return (coin / "metal").read_text().strip()
    except FileNotFoundError:
        return "unknown"


def fill(purse: Path, motto: str) -> None:
    purse.mkdir(parents=True, exist_ok=True)
    (purse / "motto").write_text(f"{motto}\n")


if __name__ == "__main__":
    run(Coins(Path(os.environ.get("COINS_DIRECTORY", "/var/lib/coins/all"))))
