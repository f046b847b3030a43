from __future__ import annotations

from typing import Any

import pytest

from dray.api.apiextensions import CustomResourceSubresourceScale
from dray.server.custom.scale_rules import (
    ABSENT,
    WrongPlace,
    integer_at,
    scale_spec_errors,
    scale_status_errors,
    steps,
    text_at,
)

SCALE = CustomResourceSubresourceScale(
    spec_replicas_path=".spec.replicas",
    status_replicas_path=".status.replicas",
    label_selector_path=".status.selector",
)


def test_values_are_found_by_their_paths() -> None:
    document = {"spec": {"replicas": 3}, "status": {"selector": "a=b"}}
    assert steps(".spec.replicas") == ("spec", "replicas")
    assert integer_at(document, ".spec.replicas") == 3
    assert integer_at(document, ".status.replicas") is ABSENT
    assert text_at(document, ".status.selector") == "a=b"


@pytest.mark.parametrize(
    "document", [{"spec": 3}, {"spec": {"replicas": "3"}}, {"spec": {"replicas": True}}]
)
def test_what_is_no_number_is_in_the_wrong_place(document: Any) -> None:
    with pytest.raises(WrongPlace, match="accessor error"):
        integer_at(document, ".spec.replicas")


@pytest.mark.parametrize(
    ("replicas", "told"),
    [
        (-1, ".spec.replicas: Invalid value: -1: should be a non-negative integer"),
        (
            2**31,
            ".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647",
        ),
        (
            "3",
            (
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 3 is of the type "
                "string, expected int64"
            ),
        ),
    ],
)
def test_replicas_are_a_number_that_can_be(replicas: Any, told: str) -> None:
    errors = scale_spec_errors({"spec": {"replicas": replicas}}, SCALE)
    assert [str(error) for error in errors] == [told]


def test_the_status_is_judged_likewise() -> None:
    document = {"status": {"replicas": -1, "selector": 5}}
    fields = [error.field for error in scale_status_errors(document, SCALE)]
    assert fields == [".status.replicas", ".status.selector"]


def test_kinds_without_a_scale_have_no_such_rules() -> None:
    assert list(scale_spec_errors({"spec": {"replicas": -1}}, None)) == []
    assert list(scale_status_errors({"status": {"replicas": -1}}, None)) == []
