"""DeviceClass: a named choice of devices that an administrator offers to claims.

Upstream counterpart: k8s.io/api/resource/v1.
"""

from __future__ import annotations

from typing import Final

from dray.api.meta import ListMeta, Object
from dray.api.resource._selection import DeviceSelector, OpaqueDeviceConfiguration
from dray.api.wire import Struct, always

__all__ = [
    "DEVICE_CLASS_RESOURCE_PREFIX",
    "DeviceClass",
    "DeviceClassConfiguration",
    "DeviceClassList",
    "DeviceClassSpec",
]

DEVICE_CLASS_RESOURCE_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
"""With the name of a class behind it, the extended resource that every class stands for."""


class DeviceClassConfiguration(Struct):
    """Setup that comes with every device of the class."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(Struct):
    """All selectors must match a device for it to be of the class."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(Object):
    """A named choice of devices."""

    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("DeviceClass")
    spec: DeviceClassSpec = always(DeviceClassSpec)


class DeviceClassList(Struct):
    """Several device classes."""

    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("DeviceClassList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[DeviceClass, ...] | None = always(None)
