"""LimitRange: how much one pod or container may ask for, and what it gets by default.

Upstream counterpart: LimitRange in k8s.io/api/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import field

from dray.api.meta import ListMeta, Object
from dray.api.quantity import Quantity
from dray.api.wire import Struct, always

__all__ = [
    "LIMIT_TYPE_CONTAINER",
    "LIMIT_TYPE_POD",
    "LimitRange",
    "LimitRangeItem",
    "LimitRangeList",
    "LimitRangeSpec",
]

LIMIT_TYPE_POD: Final = "Pod"
LIMIT_TYPE_CONTAINER: Final = "Container"


class LimitRangeItem(Struct):
    """Bounds and defaults for things of one type."""

    type: str = always("")
    max: Mapping[str, Quantity] = field(default_factory=dict)
    min: Mapping[str, Quantity] = field(default_factory=dict)
    default: Mapping[str, Quantity] = field(default_factory=dict)
    default_request: Mapping[str, Quantity] = field(default_factory=dict)
    max_limit_request_ratio: Mapping[str, Quantity] = field(default_factory=dict)


class LimitRangeSpec(Struct):
    """All bounds of a namespace."""

    limits: tuple[LimitRangeItem, ...] | None = always(None)


class LimitRange(Object):
    """How much each pod or container of a namespace may ask for."""

    api_version: str = always("v1")
    kind: str = always("LimitRange")
    spec: LimitRangeSpec = always(LimitRangeSpec)


class LimitRangeList(Struct):
    """Several limit ranges."""

    api_version: str = always("v1")
    kind: str = always("LimitRangeList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[LimitRange, ...] | None = always(None)
