from __future__ import annotations

import pytest

from dray.api.core import (
    Affinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodStatus,
    ScopedResourceSelectorRequirement,
    ScopeSelector,
)
from dray.api.quota_scopes import has_scopes, in_scope, is_terminating
from dray.api.wire import replace
from tests.unit.server.admission.builders import container, pod, quota

PLAIN = pod()
BURSTABLE = pod("p", container("c", {"cpu": "1"}))
ENDING = pod(active_deadline_seconds=0)
HIGH = pod(priority_class_name="high")
REACHING = pod(
    affinity=Affinity(
        pod_affinity=PodAffinity(
            required_during_scheduling_ignored_during_execution=(
                PodAffinityTerm(namespaces=("other",)),
            )
        )
    )
)


@pytest.mark.parametrize(
    ("scope", "made", "expected"),
    [
        ("BestEffort", PLAIN, True),
        ("BestEffort", BURSTABLE, False),
        ("NotBestEffort", BURSTABLE, True),
        ("Terminating", ENDING, True),
        ("Terminating", PLAIN, False),
        ("NotTerminating", PLAIN, True),
        ("PriorityClass", HIGH, True),
        ("PriorityClass", PLAIN, False),
        ("CrossNamespacePodAffinity", REACHING, True),
        ("CrossNamespacePodAffinity", PLAIN, False),
        ("Unheard", PLAIN, False),
    ],
)
def test_a_scope_takes_in_some_pods(scope: str, made: Pod, expected: bool) -> None:
    assert in_scope(quota("q", {"pods": "1"}, scopes=(scope,)), made) is expected


@pytest.mark.parametrize(
    ("operator", "values", "of_high", "of_none"),
    [
        ("In", ("high", "higher"), True, False),
        ("In", ("low",), False, False),
        ("NotIn", ("high",), False, True),
        ("Exists", (), True, False),
        ("DoesNotExist", (), False, True),
        ("Near", (), False, False),
    ],
)
def test_a_selector_asks_for_the_priority_class(
    operator: str, values: tuple[str, ...], of_high: bool, of_none: bool
) -> None:
    clause = ScopedResourceSelectorRequirement(
        scope_name="PriorityClass", operator=operator, values=values
    )
    selecting = quota("q", {"pods": "1"}, scope_selector=ScopeSelector(match_expressions=(clause,)))
    assert in_scope(selecting, HIGH) is of_high
    assert in_scope(selecting, PLAIN) is of_none
    assert has_scopes(selecting)


def test_all_clauses_must_hold() -> None:
    both = quota("q", {"pods": "1"}, scopes=("BestEffort", "Terminating"))
    assert not in_scope(both, PLAIN)
    assert in_scope(both, ENDING)


def test_a_stored_class_of_service_is_believed() -> None:
    stored = replace(PLAIN, status=PodStatus(qos_class="Guaranteed"))
    assert not in_scope(quota("q", {}, scopes=("BestEffort",)), stored)


def test_a_quota_without_scopes_is_about_everything() -> None:
    assert not has_scopes(quota("q", {}))
    assert in_scope(quota("q", {}), PLAIN)


def test_a_deadline_makes_a_pod_end_by_itself() -> None:
    assert is_terminating(ENDING)
    assert not is_terminating(pod(active_deadline_seconds=-1))
