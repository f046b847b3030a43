"""Conditions in the status of any kind.

Upstream's schema declares these rules as well, but on trial: only the hand-written ones count.
Upstream counterpart: ValidateConditions in apimachinery's apis/meta/v1/validation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from dray.api.meta import Condition
from dray.validation.findings import Findings
from dray.validation.rules import byte_length, check_label_key

__all__ = ["CONDITION_MESSAGE_BYTES_MAX", "CONDITION_REASON_BYTES_MAX", "check_conditions"]

CONDITION_REASON_BYTES_MAX: Final = 1024
CONDITION_MESSAGE_BYTES_MAX: Final = 32 * 1024

_CONDITION_STATUSES: Final = ("False", "True", "Unknown")
_REASON_FORMAT: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_PATTERN: Final = re.compile(_REASON_FORMAT)
_REASON_RULE: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of"
    " alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
    " (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB',"
    f" regex used for validation is '{_REASON_FORMAT}')"
)


def check_conditions(found: Findings, conditions: Sequence[Condition], path: str) -> None:
    """Conditions of one object; the caller limits how many there may be."""
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        where = f"{path}[{index}]"
        if condition.type in seen:
            found.duplicate(where, condition.type)
        seen.add(condition.type)
        _check_condition(found, condition, where)


def _check_condition(found: Findings, condition: Condition, path: str) -> None:
    if not condition.type:
        found.required(f"{path}.type", "is required")
    else:
        check_label_key(found, condition.type, f"{path}.type")
    if not condition.status:
        found.required(f"{path}.status")
    elif condition.status not in _CONDITION_STATUSES:
        found.not_supported(f"{path}.status", condition.status, _CONDITION_STATUSES)
    if condition.observed_generation < 0:
        detail = "must be greater than or equal to zero"
        found.invalid(f"{path}.observedGeneration", condition.observed_generation, detail)
    if condition.last_transition_time is None:
        found.required(f"{path}.lastTransitionTime")
    if not condition.reason:
        found.required(f"{path}.reason")
    else:
        if not _REASON_PATTERN.fullmatch(condition.reason):
            found.invalid(f"{path}.reason", condition.reason, _REASON_RULE)
        if byte_length(condition.reason) > CONDITION_REASON_BYTES_MAX:
            found.too_long(f"{path}.reason", CONDITION_REASON_BYTES_MAX)
    if byte_length(condition.message) > CONDITION_MESSAGE_BYTES_MAX:
        found.too_long(f"{path}.message", CONDITION_MESSAGE_BYTES_MAX)
