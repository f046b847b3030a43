"""A device as it stands in the pools of a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dray.api.resource import Device, DeviceID, ResourceSlice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dray.allocator.requests import Want
    from dray.api.quantity import Quantity

__all__ = ["Choice", "PlacedDevice"]


@dataclass(frozen=True, slots=True, eq=False)
class PlacedDevice:
    """One device and the slice that publishes it."""

    id: DeviceID
    device: Device
    slice: ResourceSlice


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A device the search gave to a want.

    `consumed` is what the want takes of a device that several claims may share, by capacity; None
    for a device that is given whole.
    """

    want: Want
    placed: PlacedDevice
    consumed: Mapping[str, Quantity] | None
