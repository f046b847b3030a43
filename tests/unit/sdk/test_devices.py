"""What authors get to prepare, and to undo."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from dray.sdk._configuration import configuration_of
from dray.sdk._devices import ClaimedDevice, PreparedDevice
from tests.unit.sdk.drivers import DRIVER, claim, config


class Sharing(msgspec.Struct):
    replicas: int = 1


def claimed(*values: Any) -> ClaimedDevice:
    entries = configuration_of([config(value) for value in values], driver=DRIVER, request="gpu")
    return ClaimedDevice(
        driver=DRIVER,
        pool="n1",
        device="gpu-0",
        request="gpu",
        requests=("gpu",),
        claim=claim(),
        config=entries,
    )


def test_the_last_entry_is_what_applies_else_the_default() -> None:
    default = Sharing(9)
    assert claimed().configured(Sharing, default) is default
    assert claimed({"replicas": 2}, {"replicas": 3}).configured(Sharing, default) == Sharing(3)


def test_devices_are_named_by_pool_and_name() -> None:
    assert str(claimed()) == "n1/gpu-0"
    assert claimed().claim_uid == "uid-1"
    given_back = PreparedDevice(driver=DRIVER, pool="n1", device="gpu-0", claim_uid="uid-1")
    assert str(given_back) == "n1/gpu-0"


def test_remembering_outside_of_a_driver_does_nothing() -> None:
    asyncio.run(claimed().remember({"a": 1}))
