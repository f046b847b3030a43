"""Node taints and the tolerations that withstand them. Device taints are in dray.api.resource.

Upstream counterpart: Taint and Toleration in k8s.io/api/core/v1.
"""

from __future__ import annotations

from typing import Final

from dray.api.wire import Int64, Struct, Time, always

__all__ = [
    "TAINT_EFFECT_NO_EXECUTE",
    "TAINT_EFFECT_NO_SCHEDULE",
    "TAINT_EFFECT_PREFER_NO_SCHEDULE",
    "TOLERATION_OPERATOR_EQUAL",
    "TOLERATION_OPERATOR_EXISTS",
    "TOLERATION_OPERATOR_GREATER_THAN",
    "TOLERATION_OPERATOR_LESS_THAN",
    "Taint",
    "Toleration",
]

TAINT_EFFECT_NO_SCHEDULE: Final = "NoSchedule"
TAINT_EFFECT_PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
TAINT_EFFECT_NO_EXECUTE: Final = "NoExecute"

TOLERATION_OPERATOR_EXISTS: Final = "Exists"
TOLERATION_OPERATOR_EQUAL: Final = "Equal"
TOLERATION_OPERATOR_LESS_THAN: Final = "Lt"
TOLERATION_OPERATOR_GREATER_THAN: Final = "Gt"


class Taint(Struct):
    """A mark that keeps pods off a node unless they tolerate it."""

    key: str = always("")
    value: str = ""
    effect: str = always("")
    time_added: Time | None = None

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


class Toleration(Struct):
    """Which taints a pod withstands; an empty key or effect stands for every one."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None
