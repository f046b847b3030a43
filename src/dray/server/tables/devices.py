"""The kinds of resource.k8s.io as tables show them.

Upstream counterpart: the printers of resource.k8s.io in pkg/printers/internalversion.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from dray.api import resource
from dray.server.tables.durations import age
from dray.server.tables.printer import (
    AGE,
    NAME,
    NONE,
    Cells,
    Column,
    Glimpse,
    MetadataGlimpse,
    Printer,
    name_and_age,
)

__all__ = [
    "CLAIMS",
    "DEVICE_CLASSES",
    "POOL_STATUS_REQUESTS",
    "SLICES",
    "TAINT_RULES",
    "TEMPLATES",
    "claim_cells",
    "pool_status_cells",
    "slice_cells",
    "taint_rule_cells",
]

DEVICE_CLASSES: Final = Printer((NAME, AGE), name_and_age)
TEMPLATES: Final = Printer((NAME, AGE), name_and_age)


# Claims ----------------------------------------------------------------------------------------


class _ClaimStatus(Glimpse):
    # Whether they are there is all that counts.
    allocation: msgspec.Raw = msgspec.Raw()
    reserved_for: tuple[msgspec.Raw, ...] = ()


class _Claim(Glimpse):
    metadata: MetadataGlimpse
    status: _ClaimStatus = msgspec.field(default_factory=_ClaimStatus)


def claim_cells(claim: resource.ResourceClaim, now: datetime) -> Cells:
    """The cells of a claim: pending, or allocated and maybe in use, and maybe on its way out."""
    states = []
    deleted = claim.metadata.deletion_timestamp is not None
    if deleted:
        states.append("deleted")
    if _is_there(claim.status.allocation):
        states.append("allocated")
        if claim.status.reserved_for:
            states.append("reserved")
    elif not deleted:
        states.append("pending")
    return [claim.metadata.name, ",".join(states), age(claim.metadata.creation_timestamp, now)]


def _is_there(value: object) -> bool:
    if isinstance(value, msgspec.Raw):
        return bytes(value) not in (b"", b"null")
    return value is not None


CLAIMS: Final = Printer(
    (NAME, Column("State", "Whether devices were found, and whether they are in use."), AGE),
    claim_cells,
    _Claim,
)


# Slices ----------------------------------------------------------------------------------------


class _Pool(Glimpse):
    name: str = ""


class _SliceSpec(Glimpse):
    driver: str = ""
    pool: _Pool = msgspec.field(default_factory=_Pool)
    node_name: str | None = None


class _Slice(Glimpse):
    metadata: MetadataGlimpse
    spec: _SliceSpec = msgspec.field(default_factory=_SliceSpec)


def slice_cells(published: resource.ResourceSlice, now: datetime) -> Cells:
    """The cells of a slice; of its devices there are too many."""
    metadata, spec = published.metadata, published.spec
    return [
        metadata.name,
        spec.node_name or "",
        spec.driver,
        spec.pool.name,
        age(metadata.creation_timestamp, now),
    ]


SLICES: Final = Printer(
    (
        NAME,
        Column("Node", "The only node from which the devices can be used, if there is one."),
        Column("Driver", "Whose devices they are."),
        Column("Pool", "The pool that the slice is a part of."),
        AGE,
    ),
    slice_cells,
    _Slice,
)


# Taint rules -----------------------------------------------------------------------------------


class _Taint(Glimpse):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class _RuleSpec(Glimpse):
    taint: _Taint = msgspec.field(default_factory=_Taint)


class _Rule(Glimpse):
    metadata: MetadataGlimpse
    spec: _RuleSpec = msgspec.field(default_factory=_RuleSpec)


def taint_rule_cells(rule: resource.DeviceTaintRule, now: datetime) -> Cells:
    """The cells of a rule: its taint, since what it selects may take a page."""
    taint = rule.spec.taint
    return [
        rule.metadata.name,
        taint.key,
        taint.value,
        taint.effect,
        age(taint.time_added, now) if taint.time_added else "",
        age(rule.metadata.creation_timestamp, now),
    ]


TAINT_RULES: Final = Printer(
    (
        NAME,
        Column("Key", "The key of the taint."),
        Column("Value", "The value of the taint."),
        Column("Effect", "What the taint does to pods that do not tolerate it."),
        Column("TimeAdded", "How long ago the taint was added."),
        AGE,
    ),
    taint_rule_cells,
    _Rule,
)


# Requests for the status of pools ---------------------------------------------------------------


class _PoolStatus(Glimpse):
    total_devices: int | None = None
    allocated_devices: int | None = None
    available_devices: int | None = None
    unavailable_devices: int | None = None
    validation_error: str | None = None


class _Condition(Glimpse):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class _RequestStatus(Glimpse):
    pool_count: int | None = None
    pools: tuple[_PoolStatus, ...] = ()
    conditions: tuple[_Condition, ...] = ()


class _Request(Glimpse):
    metadata: MetadataGlimpse
    spec: _SliceSpec = msgspec.field(default_factory=_SliceSpec)
    status: _RequestStatus | None = None


def pool_status_cells(request: resource.ResourcePoolStatusRequest, now: datetime) -> Cells:
    """The cells of a request: sums over the pools that the answer lists."""
    told, completed, pool_count = "Pending", NONE, 0
    sums = ["-"] * 5
    status = request.status
    if status is not None:
        for condition in status.conditions:
            if condition.status == "True" and condition.type in ("Complete", "Failed"):
                told = condition.type
                if told == "Complete":
                    completed = age(condition.last_transition_time, now)
                break
        pool_count = status.pool_count or 0
        if told != "Failed":
            sums = _sums(status)
        if told == "Complete" and pool_count > len(status.pools):
            told = f"Complete ({len(status.pools)}/{pool_count} pools)"
    return [request.metadata.name, request.spec.driver, *sums, pool_count, told, completed]


def _sums(status: resource.ResourcePoolStatusRequestStatus) -> list[str]:
    pools = status.pools
    counts = (
        sum(pool.total_devices or 0 for pool in pools),
        sum(pool.available_devices or 0 for pool in pools),
        sum(pool.allocated_devices or 0 for pool in pools),
        sum(pool.unavailable_devices or 0 for pool in pools),
        sum(pool.validation_error is not None for pool in pools),
    )
    return [str(count) for count in counts]


POOL_STATUS_REQUESTS: Final = Printer(
    (
        NAME,
        Column("Driver", "Whose pools are asked about."),
        Column("Total", "How many devices the pools have."),
        Column("Available", "How many of them are free."),
        Column("Allocated", "How many of them are taken."),
        Column("Unavailable", "How many of them cannot be had."),
        Column("Errors", "How many of the pools are not valid."),
        Column("Pools", "How many pools the question covers.", type="integer"),
        Column("Status", "Whether the answer is there."),
        Column("Completed", "How long ago the answer came."),
    ),
    pool_status_cells,
    _Request,
)
