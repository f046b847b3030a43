"""What the status of a rule says."""

from __future__ import annotations

import pytest

from dray.api.resource import DeviceTaintRuleStatus
from dray.api.wire import Time, replace
from dray.controllers.device_taint_eviction.rule_status import (
    Survey,
    condition_of,
    next_condition,
)
from tests.unit.controllers.device_taint_eviction.objects import NOW, make_rule

LATER = Time.parse("2026-01-01T00:01:00Z")

DRY_RUN = (
    " if the effect was NoExecute. This information will not be updated again. Recreate the"
    " DeviceTaintRule to trigger an update."
)


@pytest.mark.parametrize(
    ("effect", "survey", "status", "reason", "message"),
    [
        pytest.param("NoExecute", Survey(), "False", "NotStarted", "", id="nothing-yet"),
        pytest.param(
            "NoExecute",
            Survey(pods_count=1, namespaces_count=1),
            "True",
            "PodsPendingEviction",
            "1 pod needs to be evicted in 1 namespace.",
            id="one-pod",
        ),
        pytest.param(
            "NoExecute",
            Survey(pods_count=3, namespaces_count=2, evicted_count=1),
            "True",
            "PodsPendingEviction",
            "3 pods need to be evicted in 2 different namespaces."
            " 1 pod evicted since starting the controller.",
            id="some-left-and-some-to-go",
        ),
        pytest.param(
            "NoExecute",
            Survey(evicted_count=4),
            "False",
            "Completed",
            "4 pods evicted since starting the controller.",
            id="all-left",
        ),
        pytest.param(
            "None",
            Survey(pods_count=1, namespaces_count=1, published_count=1, allocated_count=2),
            "False",
            "NoEffect",
            "1 published device selected. 2 allocated devices selected."
            " 1 pod would be evicted in 1 namespace" + DRY_RUN,
            id="dry-run",
        ),
        pytest.param(
            "None",
            Survey(published_count=2, allocated_count=1),
            "False",
            "NoEffect",
            "2 published devices selected. 1 allocated device selected."
            " 0 pods would be evicted in 0 different namespaces" + DRY_RUN,
            id="dry-run-that-hits-nobody",
        ),
        pytest.param(
            "NoSchedule",
            Survey(),
            "False",
            "OtherEffect",
            "Eviction only happens for the NoExecute effect.",
            id="other-effect",
        ),
    ],
)
def test_the_words_are_upstreams(
    effect: str, survey: Survey, status: str, reason: str, message: str
) -> None:
    condition = next_condition(make_rule(effect=effect), survey, NOW)
    assert condition is not None
    assert condition.type == "EvictionInProgress"
    assert (condition.status, condition.reason, condition.message) == (status, reason, message)
    assert condition.last_transition_time == NOW


def test_what_is_said_already_is_not_said_again_and_any_change_has_its_time() -> None:
    rule = make_rule()
    said = next_condition(rule, Survey(pods_count=1, namespaces_count=1), NOW)
    assert said is not None
    rule = replace(rule, status=DeviceTaintRuleStatus(conditions=(said,)))
    assert condition_of(rule) == said
    assert next_condition(rule, Survey(pods_count=1, namespaces_count=1), LATER) is None
    more = next_condition(rule, Survey(pods_count=2, namespaces_count=1), LATER)
    assert more is not None
    assert more.last_transition_time == LATER


def test_another_generation_of_the_rule_is_news() -> None:
    rule = make_rule()
    said = next_condition(rule, Survey(), NOW)
    assert said is not None
    rule = replace(
        rule,
        metadata=replace(rule.metadata, generation=2),
        status=DeviceTaintRuleStatus(conditions=(said,)),
    )
    news = next_condition(rule, Survey(), LATER)
    assert news is not None
    assert news.observed_generation == 2


def test_pods_are_counted_with_their_namespaces() -> None:
    assert Survey.of_pods(["a", "b", "a"], evicted_count=5) == Survey(3, 2, 5)
