"""What classes and claims say alike: which devices, and how to set them up.

Upstream counterpart: k8s.io/api/resource/v1.
"""

from __future__ import annotations

from dray.api.wire import NULL, Carried, Struct, always

__all__ = ["CELDeviceSelector", "DeviceSelector", "OpaqueDeviceConfiguration"]


class CELDeviceSelector(Struct):
    """A CEL expression that is true of the wanted devices."""

    expression: str = always("")


class DeviceSelector(Struct):
    """A test of one device. Exactly one member must be set; today there is one."""

    cel: CELDeviceSelector | None = None


class OpaqueDeviceConfiguration(Struct):
    """Parameters only their driver understands: any JSON object."""

    driver: str = always("")
    parameters: Carried = always(NULL)
