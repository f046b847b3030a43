"""ResourcePoolStatusRequest: a question about pools, answered once in its status.

Served at v1alpha3 only. Upstream counterpart: k8s.io/api/resource/v1alpha3.
"""

from __future__ import annotations

from dray.api.meta import Condition, ListMeta, Object
from dray.api.quantity import Quantity
from dray.api.wire import Int32, Int64, Struct, always

__all__ = [
    "PartitionTypeStatus",
    "PoolStatus",
    "ResourcePoolStatusRequest",
    "ResourcePoolStatusRequestList",
    "ResourcePoolStatusRequestSpec",
    "ResourcePoolStatusRequestStatus",
    "ShareableCapacityStatus",
    "ShareableSummaryStatus",
]


class ResourcePoolStatusRequestSpec(Struct):
    """Which pools: a driver's, or one of them."""

    driver: str = always("")
    pool_name: str | None = None
    limit: Int32 | None = None
    default_partition_type_attribute: str | None = None


class PartitionTypeStatus(Struct):
    """How many partitions of one type a pool has, and how many can still be had."""

    attribute: str = ""
    type: str = ""
    total: Int32 | None = None
    allocatable: Int32 | None = None


class ShareableCapacityStatus(Struct):
    """What is left of one capacity of the shared devices of a pool."""

    name: str = ""
    total: Quantity | None = None
    consumed: Quantity | None = None
    available: Quantity | None = None


class ShareableSummaryStatus(Struct):
    """How far the shared devices of a pool are used."""

    fully_available_devices: Int32 | None = None
    partially_available_devices: Int32 | None = None
    capacity: tuple[ShareableCapacityStatus, ...] = ()


class PoolStatus(Struct):
    """One pool, counted."""

    driver: str = ""
    pool_name: str = ""
    generation: Int64 = always(0)
    resource_slice_count: Int32 | None = None
    total_devices: Int32 | None = None
    allocated_devices: Int32 | None = None
    available_devices: Int32 | None = None
    unavailable_devices: Int32 | None = None
    node_name: str | None = None
    validation_error: str | None = None
    partition_summary: tuple[PartitionTypeStatus, ...] = ()
    shareable_summary: ShareableSummaryStatus | None = None


class ResourcePoolStatusRequestStatus(Struct):
    """The answer; it never changes once given."""

    pool_count: Int32 | None = None
    pools: tuple[PoolStatus, ...] = ()
    conditions: tuple[Condition, ...] = ()


class ResourcePoolStatusRequest(Object):
    """A question about pools and, in its status, the answer."""

    api_version: str = always("resource.k8s.io/v1alpha3")
    kind: str = always("ResourcePoolStatusRequest")
    spec: ResourcePoolStatusRequestSpec = always(ResourcePoolStatusRequestSpec)
    status: ResourcePoolStatusRequestStatus | None = None


class ResourcePoolStatusRequestList(Struct):
    """Several questions."""

    api_version: str = always("resource.k8s.io/v1alpha3")
    kind: str = always("ResourcePoolStatusRequestList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[ResourcePoolStatusRequest, ...] | None = always(None)
