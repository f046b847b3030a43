"""Taints and tolerations."""

from __future__ import annotations

import pytest

from dray.api.resource import DeviceTaint, DeviceToleration
from dray.validation.findings import Findings, merge
from dray.validation.taints import (
    check_taint,
    check_toleration,
    declare_taint,
    declare_toleration,
)
from tests.unit.validation.builders import told


def fields(texts: list[str]) -> list[str]:
    return [text.split(":", 1)[0] for text in texts]


@pytest.mark.parametrize(
    ("taint", "wrong"),
    [
        pytest.param(DeviceTaint(key="hot", effect="NoSchedule"), [], id="good"),
        pytest.param(DeviceTaint(key="a.b/hot", value="1", effect="None"), [], id="in-full"),
        pytest.param(DeviceTaint(effect="NoExecute"), ["t.key", "t.key"], id="no-key"),
        pytest.param(DeviceTaint(key="hot", value="-", effect="None"), ["t.value"], id="bad-value"),
        pytest.param(DeviceTaint(key="hot"), ["t.effect"], id="no-effect"),
        pytest.param(DeviceTaint(key="hot", effect="Maybe"), ["t.effect"], id="unknown-effect"),
    ],
)
def test_a_taint_has_a_key_and_a_known_effect(taint: DeviceTaint, wrong: list[str]) -> None:
    assert fields(told(check_taint, taint, None, "t")) == wrong


def test_an_effect_that_is_stored_is_not_asked_for_again() -> None:
    stored = DeviceTaint(key="hot", effect="FromTheFuture")
    changed = DeviceTaint(key="hotter", effect="FromTheFuture")
    assert told(check_taint, changed, stored, "t") == []
    assert told(declare_taint, changed, stored, "t") == []


def test_both_sides_know_the_effects_and_tell_once() -> None:
    handwritten, declared = Findings(), Findings(shared=True)
    taint = DeviceTaint(key="hot", effect="Maybe")
    check_taint(handwritten, taint, None, "t")
    declare_taint(declared, taint, None, "t")
    assert [str(error) for error in merge(handwritten, declared)] == [
        't.effect: Unsupported value: "Maybe": supported values: "NoExecute", "NoSchedule", "None"'
    ]


@pytest.mark.parametrize(
    ("toleration", "handwritten", "declared"),
    [
        pytest.param(DeviceToleration(operator="Exists"), [], [], id="every-taint"),
        pytest.param(DeviceToleration(key="hot", operator="Equal", value="1"), [], [], id="equal"),
        pytest.param(DeviceToleration(operator="Equal"), [], [], id="equal-without-a-key"),
        pytest.param(
            DeviceToleration(operator="Exists", value="1"), ["t.value"], [], id="exists-with-value"
        ),
        pytest.param(
            DeviceToleration(operator="Equal", value="-"), ["t.value"], [], id="bad-value"
        ),
        pytest.param(DeviceToleration(), ["t.operator"], ["t.operator"], id="no-operator"),
        pytest.param(
            DeviceToleration(operator="Is"), ["t.operator"], ["t.operator"], id="unknown-operator"
        ),
        pytest.param(
            DeviceToleration(key="-", operator="Exists"), ["t.key"], ["t.key"], id="bad-key"
        ),
        pytest.param(
            DeviceToleration(operator="Exists", effect="Maybe"),
            ["t.effect"],
            ["t.effect"],
            id="unknown-effect",
        ),
    ],
)
def test_a_toleration_fits_its_operator(
    toleration: DeviceToleration, handwritten: list[str], declared: list[str]
) -> None:
    assert fields(told(check_toleration, toleration, "t")) == handwritten
    assert fields(told(declare_toleration, toleration, "t")) == declared
