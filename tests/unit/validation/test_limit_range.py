"""Limit ranges."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import LimitRange, LimitRangeItem, LimitRangeSpec
from tests.unit.validation.pod_builders import paths, quantities
from tests.unit.validation.workload_builders import created, metadata, updated


def limit(type_: str = "Container", /, **amounts: Any) -> LimitRangeItem:
    fields: dict[str, Any] = {name: quantities(named) for name, named in amounts.items()}
    return LimitRangeItem(type=type_, **fields)


def limit_range(*limits: LimitRangeItem) -> LimitRange:
    return LimitRange(metadata=metadata(), spec=LimitRangeSpec(limits=limits))


def told(*limits: LimitRangeItem) -> list[str]:
    return [text.removeprefix("spec.limits") for text in created(limit_range(*limits))]


def test_bounds_that_leave_room_are_fine() -> None:
    item = limit(
        min={"cpu": "1"},
        max={"cpu": "4"},
        default={"cpu": "3"},
        default_request={"cpu": "2"},
        max_limit_request_ratio={"cpu": "4"},
    )
    fine = limit_range(item, limit("Pod", max={"cpu": "8"}), limit("a/b", max={"x/y": "1"}))
    assert created(fine) == updated(fine, fine) == []


@pytest.mark.parametrize(
    ("amounts", "text"),
    [
        (
            {"min": {"cpu": "2"}, "max": {"cpu": "1"}},
            '.min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
        ),
        (
            {"min": {"cpu": "2"}, "default_request": {"cpu": "1"}},
            (
                '.defaultRequest[cpu]: Invalid value: "1": '
                "min value 2 is greater than default request value 1"
            ),
        ),
        (
            {"default_request": {"cpu": "2"}, "default": {"cpu": "1"}},
            (
                '.defaultRequest[cpu]: Invalid value: "2": '
                "default request value 2 is greater than default limit value 1"
            ),
        ),
        (
            {"default": {"cpu": "2"}, "max": {"cpu": "1"}},
            '.default[cpu]: Invalid value: "1": default value 2 is greater than max value 1',
        ),
        (
            {"max_limit_request_ratio": {"cpu": "500m"}},
            '.maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
        ),
        (
            {
                "min": {"cpu": "1"},
                "max": {"cpu": "3"},
                "max_limit_request_ratio": {"cpu": "4"},
            },
            (
                '.maxLimitRequestRatio[cpu]: Invalid value: "4": '
                "ratio 4 is greater than max/min = 3.000000"
            ),
        ),
        (
            {"default": {"a.io/gpu": "2"}, "default_request": {"a.io/gpu": "1"}},
            (
                '.defaultRequest[a.io/gpu]: Invalid value: "1": '
                "default value 2 must equal to defaultRequest value 1 in a.io/gpu"
            ),
        ),
        (
            {"max": {"storage": "1"}},
            '.max[storage]: Invalid value: "storage": must be a standard resource for containers',
        ),
    ],
)
def test_bounds_that_leave_none(amounts: dict[str, dict[str, str]], text: str) -> None:
    assert told(limit(**amounts)) == [f"[0]{text}"]


@pytest.mark.parametrize("most", ["0", "4"])
def test_no_ratio_is_too_big_for_nothing(most: str) -> None:
    item = limit(min={"cpu": "0"}, max={"cpu": most}, max_limit_request_ratio={"cpu": "9"})
    assert told(item) == []


def test_amounts_beyond_thousandths_are_compared_as_they_are() -> None:
    item = limit(
        min={"memory": "1"}, max={"memory": "4E"}, max_limit_request_ratio={"memory": "5E"}
    )
    assert paths(told(item)) == ["[0].maxLimitRequestRatio[memory]"]


def test_pods_have_no_defaults() -> None:
    assert told(limit("Pod", default={"cpu": "1"}, default_request={"cpu": "1"})) == [
        "[0].default: Forbidden: may not be specified when `type` is 'Pod'",
        "[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
    ]


def test_a_volume_claim_is_bounded_somehow() -> None:
    assert told(limit("PersistentVolumeClaim", max={"storage": "1"})) == []
    assert paths(told(limit("PersistentVolumeClaim"))) == ["[0].limits"]


def test_each_type_is_bounded_once() -> None:
    assert told(limit("Pod"), limit("Pod")) == ['[1].type: Duplicate value: "Pod"']


@pytest.mark.parametrize("type_", ["", "Thing", "A!"])
def test_types_are_known_or_qualified(type_: str) -> None:
    assert set(paths(told(limit(type_)))) == {"[0].type"}
