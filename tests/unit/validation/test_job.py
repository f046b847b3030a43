"""Which rules meet in which write of a job."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.batch import JobCondition
from dray.api.core import (
    Affinity,
    NodeAffinity,
    PodAffinity,
    PodResourceClaim,
    PodSchedulingGate,
    Toleration,
)
from dray.api.meta import LabelSelector, ObjectMeta
from dray.api.wire import Time, replace
from dray.api.workload_strategy import LABEL_CONTROLLER_UID
from tests.unit.validation.pod_builders import container, paths, resources
from tests.unit.validation.workload_builders import (
    created,
    job,
    status_updated,
    template,
    updated,
    with_status,
)

INDEXED: dict[str, Any] = {"completion_mode": "Indexed", "completions": 5, "parallelism": 5}
START = Time.parse("2024-01-01T00:00:00Z")


def pods(**spec: Any) -> Any:
    return template(restart_policy="Never", **spec)


def test_a_plain_job_may_be_created_and_written_back() -> None:
    plain = job()
    assert created(plain) == []
    assert updated(plain, plain) == []
    assert status_updated(plain, plain) == []


# The selector ----------------------------------------------------------------------------------


def test_a_job_is_found_by_its_uid() -> None:
    assert created(job(uid="")) == ["metadata.uid: Required value"]


def test_nobodys_own_labels_stand_in_the_way() -> None:
    made = job(template=pods(labels={"job-name": "other"}))
    (error,) = created(made)
    assert error.startswith("spec.template.metadata.labels[job-name]: Invalid value: {")
    assert error.endswith(": must be 'work'")


def test_labels_that_are_missing_are_asked_for() -> None:
    made = job()
    bare = replace(made.spec.template, metadata=ObjectMeta(labels={LABEL_CONTROLLER_UID: "u"}))
    made = replace(made, spec=replace(made.spec, template=bare))
    assert paths(created(made)) == [
        "spec.template.metadata.labels[controller-uid]",
        "spec.template.metadata.labels[job-name]",
        "spec.template.metadata.labels[batch.kubernetes.io/job-name]",
    ]


def test_a_selector_of_ones_own_must_be_asked_for() -> None:
    own = LabelSelector(match_labels={"app": "web"})
    assert created(job(manual_selector=True, selector=own)) == []
    (error,) = created(job(selector=own))
    assert error.startswith("spec.selector: Invalid value: ")
    assert error.endswith(": `selector` not auto-generated")


def test_the_selector_is_for_life() -> None:
    other = LabelSelector(match_labels={"app": "web"})
    new = job()
    new = replace(new, spec=replace(new.spec, selector=other))
    assert paths(updated(new, job())) == ["spec.selector"]


# Updates ---------------------------------------------------------------------------------------


def test_the_pod_of_every_index_has_a_name() -> None:
    assert created(job(name="w" * 62, **INDEXED)) == [
        (
            f'metadata.name: Invalid value: "{"w" * 62}": '
            f"will not able to create pod with invalid DNS label: {'w' * 62}-4"
        )
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param({}, {"completions": 2}, id="completions"),
        pytest.param({}, {"managed_by": "a.io/b"}, id="managed_by"),
        pytest.param(INDEXED, {**INDEXED, "backoff_limit_per_index": 1}, id="per-index"),
    ],
)
def test_what_a_job_keeps_for_life(old: dict[str, Any], new: dict[str, Any]) -> None:
    (error,) = updated(job(**new), job(**old))
    assert error.endswith("field is immutable")


def test_indexes_are_added_together_with_pods() -> None:
    old = job(**INDEXED)
    assert updated(job(**{**INDEXED, "completions": 7, "parallelism": 7}), old) == []
    assert updated(job(**{**INDEXED, "completions": 7}), old) == [
        "spec.completions: Invalid value: 7: can only be modified in tandem with spec.parallelism"
    ]


CLAIM = (PodResourceClaim(name="gpu", resource_claim_name="mine"),)
DIRECTIVES: dict[str, Any] = {
    "node_selector": {"disk": "fast"},
    "tolerations": (Toleration(operator="Exists"),),
    "scheduling_gates": (PodSchedulingGate(name="a/wait"),),
    "affinity": Affinity(node_affinity=NodeAffinity()),
    "containers": (container(resources=resources({"cpu": "1"})),),
}


@pytest.mark.parametrize("change", [{name: value} for name, value in DIRECTIVES.items()], ids=str)
def test_a_suspended_job_may_change_its_mind_about_nodes(change: dict[str, Any]) -> None:
    new = job(suspend=True, template=pods(**change))
    assert updated(new, job(suspend=True, template=pods())) == []
    assert updated(job(suspend=True, template=pods()), new) == []
    assert paths(updated(job(template=pods(**change)), job())) == ["spec.template"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"resource_claims": CLAIM}, id="claims"),
        pytest.param({"containers": (container("other"),)}, id="another-container"),
        pytest.param({"containers": (container(), container("b"))}, id="one-more-container"),
        pytest.param({"affinity": Affinity(pod_affinity=PodAffinity())}, id="affinity-to-pods"),
    ],
)
def test_even_a_suspended_job_keeps_its_pods(change: dict[str, Any]) -> None:
    new = job(suspend=True, template=pods(**change))
    assert paths(updated(new, job(suspend=True))) == ["spec.template.spec"]


@pytest.mark.parametrize(
    ("status", "where"),
    [
        pytest.param({"start_time": START}, ["spec.template"], id="started"),
        pytest.param({"active": 1}, ["spec.template"], id="pods-still-there"),
        pytest.param(
            {
                "start_time": START,
                "conditions": (JobCondition(type="Suspended", status="True"),),
            },
            [],
            id="suspended-again",
        ),
    ],
)
def test_only_an_idle_job_changes_its_template(status: dict[str, Any], where: list[str]) -> None:
    old = with_status(job(suspend=True), **status)
    new = with_status(job(suspend=True, template=pods(node_selector={"disk": "fast"})), **status)
    assert paths(updated(new, old)) == where
