"""The three words a condition's status can have, whatever the kind.

Upstream counterpart: ConditionStatus in k8s.io/api/core/v1 and apimachinery's meta/v1.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CONDITION_FALSE", "CONDITION_TRUE", "CONDITION_UNKNOWN"]

CONDITION_TRUE: Final = "True"
CONDITION_FALSE: Final = "False"
CONDITION_UNKNOWN: Final = "Unknown"
