"""What was probably meant."""

from __future__ import annotations

import pytest

from dray.allocator.devices import PlacedDevice
from dray.allocator.explain.near_names import attribute_names, did_you_mean, near
from tests.unit.allocator.builders import DRIVER, device, slice_
from tests.unit.allocator.reporting import allocator, inspector


@pytest.mark.parametrize(
    ("name", "names", "meant"),
    [
        ("memry", ["memory", "cores"], "memory"),
        ("Memory", ["memory"], "memory"),
        ("a.io/nuna", ["a.io/numa", "b.io/nunb"], "a.io/numa"),
        ("a.io/numaNode", ["a.io/numa", "a.io/model"], "a.io/numa"),
        ("gpu.acme.com/numa", ["gpu.acme.io/numa"], "gpu.acme.io/numa"),
        ("cores", ["memory"], ""),
        ("gpu.acme.io/uuid", ["gpu.acme.io/numa"], ""),
        ("memory", ["memory", "memori"], ""),
        ("memory", [], ""),
    ],
)
def test_the_closest_name_is_meant(name: str, names: list[str], meant: str) -> None:
    assert near(name, names) == meant


def test_a_name_like_no_other_is_not_guessed() -> None:
    assert did_you_mean("cores", ["memory"]) == ""
    assert did_you_mean("memry", ["memory"]) == " (did you mean memory?)"


def test_attributes_are_named_with_their_domain() -> None:
    devices: tuple[PlacedDevice, ...] = tuple(
        inspector(
            allocator(slice_(device(attributes={"numa": 0, "other.io/pci": 1})))
        ).layout.devices
    )
    assert attribute_names(devices) == {f"{DRIVER}/numa", "other.io/pci"}
