"""Device taints and the tolerations that withstand them.

Upstream counterpart: k8s.io/api/resource/v1.
"""

from __future__ import annotations

from typing import Final

from dray.api.wire import Int64, Struct, Time, always

__all__ = [
    "TAINT_EFFECT_NONE",
    "TAINT_EFFECT_NO_EXECUTE",
    "TAINT_EFFECT_NO_SCHEDULE",
    "TOLERATION_OPERATOR_EQUAL",
    "TOLERATION_OPERATOR_EXISTS",
    "DeviceTaint",
    "DeviceToleration",
]

TAINT_EFFECT_NONE: Final = "None"
TAINT_EFFECT_NO_SCHEDULE: Final = "NoSchedule"
TAINT_EFFECT_NO_EXECUTE: Final = "NoExecute"

TOLERATION_OPERATOR_EXISTS: Final = "Exists"
TOLERATION_OPERATOR_EQUAL: Final = "Equal"


class DeviceTaint(Struct):
    """A mark that keeps pods off a device unless they tolerate it."""

    key: str = always("")
    value: str = ""
    effect: str = always("")
    time_added: Time | None = None

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


class DeviceToleration(Struct):
    """Which taints a request accepts; an empty key or effect stands for every one."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None
