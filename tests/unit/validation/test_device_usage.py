"""Binding conditions and skipped node operations."""

from __future__ import annotations

import pytest

from dray.validation.device_usage import (
    check_binding_conditions,
    check_skip_node_operations,
    declare_binding_conditions,
    declare_skip_node_operations,
)
from tests.unit.validation.builders import told


@pytest.mark.parametrize(
    ("conditions", "failures", "texts"),
    [
        pytest.param((), (), [], id="neither"),
        pytest.param(("ready",), ("failed",), [], id="both"),
        pytest.param(
            ("ready",),
            (),
            [
                (
                    "d.bindingFailureConditions: Invalid value: null:"
                    " bindingFailureConditions are required to use bindingConditions"
                )
            ],
            id="success-only",
        ),
        pytest.param(
            (),
            ("failed",),
            [
                (
                    "d.bindingConditions: Invalid value: null:"
                    " bindingConditions are required to use bindingFailureConditions"
                )
            ],
            id="failure-only",
        ),
        pytest.param(
            ("a", "a"),
            ("b", "b"),
            [
                'd.bindingConditions[1]: Duplicate value: "a"',
                'd.bindingFailureConditions[1]: Duplicate value: "b"',
            ],
            id="repeated",
        ),
        pytest.param(
            ("a",),
            ("b", "a"),
            [
                (
                    'd.bindingFailureConditions[1]: Invalid value: "a":'
                    " bindingFailureConditions must not overlap with bindingConditions"
                )
            ],
            id="overlapping",
        ),
        pytest.param(
            ("a", "b", "c", "d", "-"),
            ("e",),
            ["d.bindingConditions: Too many: 5: must have at most 4 items"],
            id="too-many-are-not-looked-at",
        ),
    ],
)
def test_binding_conditions_come_in_two_lists_that_differ(
    conditions: tuple[str, ...], failures: tuple[str, ...], texts: list[str]
) -> None:
    assert told(check_binding_conditions, conditions, failures, "d") == texts


def test_the_declared_rules_count_binding_conditions_only() -> None:
    assert told(declare_binding_conditions, ("-",) * 5, ("-",), "d") == [
        "d.bindingConditions: Too many: 5: must have at most 4 items"
    ]


@pytest.mark.parametrize(
    ("skipped", "good"),
    [
        ((), True),
        (("NodeUnprepareResources",), True),
        (("NodePrepareResources", "NodeUnprepareResources"), True),
        (("NodePrepareResources", "*"), True),
        (("*",), True),
        (("NodePrepareResources",), False),
    ],
)
def test_who_skips_preparing_skips_unpreparing(skipped: tuple[str, ...], good: bool) -> None:
    assert (not told(check_skip_node_operations, skipped, "s")) is good


@pytest.mark.parametrize(
    ("skipped", "old", "texts"),
    [
        pytest.param(("*",), (), [], id="known"),
        pytest.param(
            ("Sleep",),
            (),
            [
                (
                    's[0]: Unsupported value: "Sleep": supported values: "*",'
                    ' "NodePrepareResources", "NodeUnprepareResources"'
                )
            ],
            id="unknown",
        ),
        pytest.param(("Sleep",), ("Sleep",), [], id="unchanged"),
        pytest.param(("Sleep", "*"), ("Sleep",), [], id="stored-is-kept"),
        pytest.param(("*", "*"), ("*",), ['s[1]: Duplicate value: "*"'], id="repeated"),
    ],
)
def test_skipped_operations_are_known_ones(
    skipped: tuple[str, ...], old: tuple[str, ...], texts: list[str]
) -> None:
    assert told(declare_skip_node_operations, skipped, old, "s") == texts
