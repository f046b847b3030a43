"""ResourcePoolStatusRequest: a question about pools and its one answer.

Nearly all rules of this kind are declared only, so they stand alone. Upstream counterpart:
validation_resourcepoolstatusrequest.go in pkg/apis/resource/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api.equality import semantically_equal
from dray.api.features import FeatureGates
from dray.api.resource import (
    PartitionTypeStatus,
    PoolStatus,
    ResourcePoolStatusRequest,
    ResourcePoolStatusRequestSpec,
    ResourcePoolStatusRequestStatus,
    ShareableSummaryStatus,
)
from dray.validation.conditions import check_conditions
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta, validate_object_meta_update
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import (
    IMMUTABLE,
    byte_length,
    check_immutable,
    check_size,
    declare_dns_subdomain,
    declare_driver_name,
    declare_fully_qualified_name,
    declare_pool_name,
    declare_unique,
)

__all__ = ["CONDITIONS_MAX", "LIMIT_MAX", "POOLS_MAX", "RULEBOOK", "VALIDATION_ERROR_BYTES_MAX"]

LIMIT_MAX: Final = 1000
POOLS_MAX: Final = 1000
CONDITIONS_MAX: Final = 10
SUMMARIES_MAX: Final = 32
VALIDATION_ERROR_BYTES_MAX: Final = 256


def _create(new: ResourcePoolStatusRequest, context: Context) -> Verdict:
    handwritten, declared = Findings(), Findings()
    handwritten.extend(validate_object_meta(new.metadata, namespaced=False))
    _declare_spec(declared, new.spec, context.gates)
    if new.status is not None:
        _declare_status(declared, new.status, None)
    return Verdict(handwritten, declared)


def _update(
    new: ResourcePoolStatusRequest, old: ResourcePoolStatusRequest, _context: Context
) -> Verdict:
    handwritten = Findings()
    handwritten.extend(validate_object_meta_update(new.metadata, old.metadata))
    return Verdict(handwritten, _declare_update(new, old))


def _status_update(
    new: ResourcePoolStatusRequest, old: ResourcePoolStatusRequest, _context: Context
) -> Verdict:
    handwritten = Findings()
    handwritten.extend(validate_object_meta_update(new.metadata, old.metadata))
    if old.status is not None:
        check_immutable(handwritten, new.status, old.status, "status")
    elif new.status is not None:
        check_conditions(handwritten, new.status.conditions, "status.conditions")
    return Verdict(handwritten, _declare_update(new, old))


RULEBOOK: Final = Rulebook(
    namespaced=False, create=_create, update=_update, status_update=_status_update
)


def _declare_update(new: ResourcePoolStatusRequest, old: ResourcePoolStatusRequest) -> Findings:
    found = Findings()
    if not semantically_equal(new.spec, old.spec):
        found.invalid("spec", None, IMMUTABLE)
    if new.status is not None and not semantically_equal(new.status, old.status):
        _declare_status(found, new.status, old.status)
    return found


def _declare_spec(
    found: Findings, spec: ResourcePoolStatusRequestSpec, gates: FeatureGates
) -> None:
    declare_driver_name(found, spec.driver, "spec.driver", bounded=False)
    if spec.pool_name is not None:
        declare_pool_name(found, spec.pool_name, "spec.poolName")
    if spec.limit is None:
        found.required("spec.limit")
    else:
        if spec.limit > LIMIT_MAX:
            detail = f"must be less than or equal to {LIMIT_MAX}"
            found.invalid("spec.limit", spec.limit, detail)
        _declare_minimum(found, spec.limit, 1, "spec.limit")
    attribute = spec.default_partition_type_attribute
    if attribute is not None:
        path = "spec.defaultPartitionTypeAttribute"
        if "DRAPartitionableDevicesType" in gates:
            declare_fully_qualified_name(found, attribute, path)
        else:
            found.forbidden(path)


def _declare_status(
    found: Findings,
    status: ResourcePoolStatusRequestStatus,
    old: ResourcePoolStatusRequestStatus | None,
) -> None:
    if old is None or old.pool_count != status.pool_count:
        _declare_count(found, status.pool_count, "status.poolCount")
    if (old is None or not semantically_equal(old.pools, status.pools)) and check_size(
        found, status.pools, POOLS_MAX, "status.pools"
    ):
        for index, pool in enumerate(status.pools):
            _declare_pool(found, pool, f"status.pools[{index}]")
    if old is None or not semantically_equal(old.conditions, status.conditions):
        check_size(found, status.conditions, CONDITIONS_MAX, "status.conditions")


def _declare_pool(found: Findings, pool: PoolStatus, path: str) -> None:
    declare_driver_name(found, pool.driver, f"{path}.driver", bounded=False)
    if not pool.pool_name:
        found.required(f"{path}.poolName")
    else:
        declare_pool_name(found, pool.pool_name, f"{path}.poolName")
    # Generation 0 counts as missing: upstream's schema cannot tell the two apart.
    if not pool.generation:
        found.required(f"{path}.generation")
    _declare_minimum(found, pool.generation, 0, f"{path}.generation")
    _declare_minimum(found, pool.resource_slice_count, 1, f"{path}.resourceSliceCount")
    _declare_minimum(found, pool.total_devices, 0, f"{path}.totalDevices")
    _declare_minimum(found, pool.allocated_devices, 0, f"{path}.allocatedDevices")
    _declare_minimum(found, pool.available_devices, 0, f"{path}.availableDevices")
    _declare_minimum(found, pool.unavailable_devices, 0, f"{path}.unavailableDevices")
    if pool.node_name is not None:
        declare_dns_subdomain(found, pool.node_name, f"{path}.nodeName")
    if (
        pool.validation_error is not None
        and byte_length(pool.validation_error) > VALIDATION_ERROR_BYTES_MAX
    ):
        found.too_long(f"{path}.validationError", VALIDATION_ERROR_BYTES_MAX)
    if pool.partition_summary:
        _declare_partitions(found, pool.partition_summary, f"{path}.partitionSummary")
    if pool.shareable_summary is not None:
        _declare_shareable(found, pool.shareable_summary, f"{path}.shareableSummary")


def _declare_partitions(
    found: Findings, partitions: Sequence[PartitionTypeStatus], path: str
) -> None:
    if not check_size(found, partitions, SUMMARIES_MAX, path):
        return
    keys = ((partition.attribute, partition.type) for partition in partitions)
    declare_unique(found, partitions, keys, path)
    for index, partition in enumerate(partitions):
        where = f"{path}[{index}]"
        if not partition.attribute:
            found.required(f"{where}.attribute")
        if not partition.type:
            found.required(f"{where}.type")
        _declare_count(found, partition.total, f"{where}.total")
        _declare_count(found, partition.allocatable, f"{where}.allocatable")


def _declare_shareable(found: Findings, summary: ShareableSummaryStatus, path: str) -> None:
    _declare_count(found, summary.fully_available_devices, f"{path}.fullyAvailableDevices")
    partially = summary.partially_available_devices
    _declare_count(found, partially, f"{path}.partiallyAvailableDevices")
    if check_size(found, summary.capacity, SUMMARIES_MAX, f"{path}.capacity"):
        for index, capacity in enumerate(summary.capacity):
            where = f"{path}.capacity[{index}]"
            for name, value in (
                ("name", capacity.name or None),
                ("total", capacity.total),
                ("consumed", capacity.consumed),
                ("available", capacity.available),
            ):
                if value is None:
                    found.required(f"{where}.{name}")


def _declare_count(found: Findings, value: int | None, path: str) -> None:
    if value is None:
        found.required(path)
    else:
        _declare_minimum(found, value, 0, path)


def _declare_minimum(found: Findings, value: int | None, least: int, path: str) -> None:
    if value is not None and value < least:
        found.invalid(path, value, f"must be greater than or equal to {least}")
