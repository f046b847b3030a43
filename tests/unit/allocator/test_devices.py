"""Devices in their places."""

from __future__ import annotations

from tests.unit.allocator.builders import choice, device, placed, slice_, want


def test_equal_devices_in_two_places_are_two() -> None:
    gpu = device()
    here = slice_(gpu)
    assert placed(gpu, here) != placed(gpu, here)


def test_devices_can_be_kept_in_sets_though_slices_cannot() -> None:
    gpu = device(attributes={"numa": 0})
    one = placed(gpu, slice_(gpu))
    assert len({one, one}) == 1


def test_a_device_given_whole_consumes_nothing_in_particular() -> None:
    gpu = device()
    assert choice(want(), gpu, slice_(gpu)).consumed is None
