"""Taint rules."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.meta import Condition, ObjectMeta
from dray.api.resource import (
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintRuleStatus,
    DeviceTaintSelector,
)
from dray.api.wire import Time
from dray.validation import validate_create, validate_status_update, validate_update
from tests.unit.validation.builders import texts

GOOD = DeviceTaint(key="hot", effect="NoExecute")


def rule(
    taint: DeviceTaint = GOOD,
    selector: DeviceTaintSelector | None = None,
    conditions: tuple[Condition, ...] = (),
) -> DeviceTaintRule:
    return DeviceTaintRule(
        metadata=ObjectMeta(name="rule", resource_version="1", uid="u"),
        spec=DeviceTaintRuleSpec(taint=taint, device_selector=selector),
        status=DeviceTaintRuleStatus(conditions=conditions),
    )


@pytest.mark.parametrize(
    "selector",
    [None, DeviceTaintSelector(), DeviceTaintSelector(driver="d", pool="a/b", device="gpu-0")],
    ids=["none", "every-device", "one-device"],
)
def test_any_selection_passes(selector: DeviceTaintSelector | None) -> None:
    assert validate_create(rule(selector=selector)) == []


@pytest.mark.parametrize("member", ["driver", "pool", "device"])
def test_a_member_that_is_given_must_say_something(member: str) -> None:
    options: dict[str, Any] = {member: ""}
    (error,) = validate_create(rule(selector=DeviceTaintSelector(**options)))
    assert error.field == f"spec.deviceSelector.{member}"


def test_a_taint_needs_a_key_and_an_effect() -> None:
    errors = validate_create(rule(DeviceTaint()))
    assert [error.field for error in errors] == ["spec.taint.key"] * 2 + ["spec.taint.effect"]


def test_a_stored_effect_is_kept() -> None:
    stored = rule(DeviceTaint(key="hot", effect="FromTheFuture"))
    renamed = rule(DeviceTaint(key="cold", effect="FromTheFuture"))
    assert validate_update(renamed, stored) == []
    assert len(validate_update(rule(DeviceTaint(key="hot", effect="Maybe")), stored)) == 1


def conditions(count: int) -> tuple[Condition, ...]:
    time = Time.parse("2025-03-01T10:00:00Z")
    return tuple(
        Condition(type=f"c{number}", status="True", reason="R", last_transition_time=time)
        for number in range(count)
    )


def test_a_status_holds_eight_conditions_and_all_are_checked() -> None:
    assert validate_status_update(rule(conditions=conditions(8)), rule()) == []
    broken = (*conditions(8), Condition(type="x", status="True", reason="R"))
    assert texts(validate_status_update(rule(conditions=broken), rule())) == [
        "status.conditions[8].lastTransitionTime: Required value",
        "status.conditions: Too many: 9: must have at most 8 items",
    ]


def test_the_main_resource_leaves_the_status_alone() -> None:
    broken = (Condition(),)
    assert validate_update(rule(conditions=broken), rule(conditions=broken)) == []
