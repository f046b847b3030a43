"""DeviceTaintRule: taints that an administrator puts on devices, whatever their driver says.

Upstream counterpart: k8s.io/api/resource/v1.
"""

from __future__ import annotations

from dray.api.meta import Condition, ListMeta, Object
from dray.api.resource._taint import DeviceTaint
from dray.api.wire import Struct, always

__all__ = [
    "DeviceTaintRule",
    "DeviceTaintRuleList",
    "DeviceTaintRuleSpec",
    "DeviceTaintRuleStatus",
    "DeviceTaintSelector",
]


class DeviceTaintSelector(Struct):
    """Which devices; every member given must match, and one without members matches all."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Struct):
    """The taint and where it goes; without a selector, nowhere."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = always(DeviceTaint)


class DeviceTaintRuleStatus(Struct):
    """How far the rule has taken effect."""

    conditions: tuple[Condition, ...] = ()


class DeviceTaintRule(Object):
    """A taint for every device a selector matches."""

    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("DeviceTaintRule")
    spec: DeviceTaintRuleSpec = always(DeviceTaintRuleSpec)
    status: DeviceTaintRuleStatus = always(DeviceTaintRuleStatus)


class DeviceTaintRuleList(Struct):
    """Several taint rules."""

    api_version: str = always("resource.k8s.io/v1")
    kind: str = always("DeviceTaintRuleList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[DeviceTaintRule, ...] | None = always(None)
