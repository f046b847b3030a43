"""What became of a container: its state, and the health of the devices it was given.

Upstream counterpart: ContainerStatus in k8s.io/api/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import field

from dray.api.core._resources import ResourceRequirements
from dray.api.quantity import Quantity
from dray.api.wire import Int32, Int64, Struct, Time, always

__all__ = [
    "RESOURCE_HEALTH_HEALTHY",
    "RESOURCE_HEALTH_UNHEALTHY",
    "RESOURCE_HEALTH_UNKNOWN",
    "ContainerState",
    "ContainerStateRunning",
    "ContainerStateTerminated",
    "ContainerStateWaiting",
    "ContainerStatus",
    "ContainerUser",
    "ImageVolumeStatus",
    "LinuxContainerUser",
    "ResourceHealth",
    "ResourceStatus",
    "VolumeMountStatus",
    "VolumeStatus",
]

RESOURCE_HEALTH_HEALTHY: Final = "Healthy"
RESOURCE_HEALTH_UNHEALTHY: Final = "Unhealthy"
RESOURCE_HEALTH_UNKNOWN: Final = "Unknown"


class ContainerStateWaiting(Struct):
    """Not running yet, and why."""

    reason: str = ""
    message: str = ""


class ContainerStateRunning(Struct):
    """Running since then."""

    started_at: Time | None = always(None)


class ContainerStateTerminated(Struct):
    """How the container ended."""

    exit_code: Int32 = always(0)
    signal: Int32 = 0
    reason: str = ""
    message: str = ""
    started_at: Time | None = always(None)
    finished_at: Time | None = always(None)
    container_id: str = field(default="", name="containerID")


class ContainerState(Struct):
    """One of the three; a state without any counts as waiting."""

    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ResourceHealth(Struct):
    """How one device is, as its driver or plugin last said."""

    # A factory other than dict writes the member even when empty, as always() does.
    resource_id: str = always("", name="resourceID")
    health: str = ""
    message: str | None = None


class ResourceStatus(Struct):
    """The health of every device behind one claim or resource of the container."""

    name: str = always("")
    resources: tuple[ResourceHealth, ...] = ()


class LinuxContainerUser(Struct):
    """The numbers the first process started with."""

    uid: Int64 = always(0)
    gid: Int64 = always(0)
    supplemental_groups: tuple[Int64, ...] = ()


class ContainerUser(Struct):
    """As whom the container runs."""

    linux: LinuxContainerUser | None = None


class ImageVolumeStatus(Struct):
    """Which image a volume shows."""

    image_ref: str = ""


class VolumeStatus(Struct):
    """What the node says of a mounted volume."""

    image: ImageVolumeStatus | None = None


class VolumeMountStatus(Struct):
    """How a volume was mounted in the end."""

    name: str = always("")
    mount_path: str = always("")
    read_only: bool = False
    recursive_read_only: str | None = None
    volume_status: VolumeStatus | None = None


class ContainerStatus(Struct):
    """What the node says of one container."""

    name: str = always("")
    state: ContainerState = always(ContainerState)
    last_state: ContainerState = always(ContainerState)
    ready: bool = always(False)
    restart_count: Int32 = always(0)
    image: str = always("")
    image_id: str = always("", name="imageID")
    container_id: str = field(default="", name="containerID")
    started: bool | None = None
    allocated_resources: Mapping[str, Quantity] = field(default_factory=dict)
    resources: ResourceRequirements | None = None
    volume_mounts: tuple[VolumeMountStatus, ...] = ()
    user: ContainerUser | None = None
    allocated_resources_status: tuple[ResourceStatus, ...] = ()
    stop_signal: str | None = None
