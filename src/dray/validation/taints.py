"""Taints of devices and the tolerations that withstand them.

The declared rules repeat the hand-written ones word for word, so both sides' findings are shared.
Upstream counterpart: pkg/apis/resource/validation.
"""

from __future__ import annotations

from typing import Final

from dray.api.resource import (
    TAINT_EFFECT_NO_EXECUTE,
    TAINT_EFFECT_NO_SCHEDULE,
    TAINT_EFFECT_NONE,
    TOLERATION_OPERATOR_EQUAL,
    TOLERATION_OPERATOR_EXISTS,
    DeviceTaint,
    DeviceToleration,
)
from dray.validation.findings import Findings
from dray.validation.rules import check_label_key, check_label_value

__all__ = ["check_taint", "check_toleration", "declare_taint", "declare_toleration"]

_EFFECTS: Final = (TAINT_EFFECT_NO_EXECUTE, TAINT_EFFECT_NO_SCHEDULE, TAINT_EFFECT_NONE)
_OPERATORS: Final = (TOLERATION_OPERATOR_EQUAL, TOLERATION_OPERATOR_EXISTS)


def check_taint(found: Findings, taint: DeviceTaint, old: DeviceTaint | None, path: str) -> None:
    check_label_key(found, taint.key, f"{path}.key")
    if taint.value:
        check_label_value(found, taint.value, f"{path}.value")
    if old is None or old.effect != taint.effect:
        _check_effect(found, taint.effect, f"{path}.effect")


def declare_taint(found: Findings, taint: DeviceTaint, old: DeviceTaint | None, path: str) -> None:
    if old is None or old.effect != taint.effect:
        _check_effect(found, taint.effect, f"{path}.effect")


def _check_effect(found: Findings, effect: str, path: str) -> None:
    if not effect:
        found.required(path, shared=True)
    elif effect not in _EFFECTS:
        found.not_supported(path, effect, _EFFECTS, shared=True)


def check_toleration(found: Findings, toleration: DeviceToleration, path: str) -> None:
    if toleration.key:
        check_label_key(found, toleration.key, f"{path}.key", shared=True)
    if toleration.operator == TOLERATION_OPERATOR_EXISTS:
        if toleration.value:
            detail = "must be empty for operator `Exists`"
            found.invalid(f"{path}.value", toleration.value, detail)
    elif toleration.operator == TOLERATION_OPERATOR_EQUAL:
        check_label_value(found, toleration.value, f"{path}.value")
    else:
        _check_operator(found, toleration.operator, f"{path}.operator")
    if toleration.effect:
        _check_effect(found, toleration.effect, f"{path}.effect")


def declare_toleration(found: Findings, toleration: DeviceToleration, path: str) -> None:
    if toleration.key:
        check_label_key(found, toleration.key, f"{path}.key", shared=True)
    _check_operator(found, toleration.operator, f"{path}.operator")
    if toleration.effect:
        _check_effect(found, toleration.effect, f"{path}.effect")


def _check_operator(found: Findings, operator: str, path: str) -> None:
    if not operator:
        found.required(path, shared=True)
    elif operator not in _OPERATORS:
        found.not_supported(path, operator, _OPERATORS, shared=True)
