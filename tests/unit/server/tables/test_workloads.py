"""Controllers of pods as rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dray.api import apps, batch, core, policy
from dray.api.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference
from dray.api.wire import Time, replace
from dray.server.tables.workloads import (
    budget_cells,
    daemon_set_cells,
    deployment_cells,
    job_cells,
    replica_set_cells,
    revision_cells,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
META = ObjectMeta(name="web", creation_timestamp=Time.parse("2025-12-31T23:59:00Z"))
DELETED = ObjectMeta(name="web", deletion_timestamp=Time.parse("2025-12-31T23:59:00Z"))
TEMPLATE = core.PodTemplateSpec(
    spec=core.PodSpec(
        containers=(core.Container(name="a", image="a:1"), core.Container(name="b", image="b:2"))
    )
)
SELECTOR = LabelSelector(match_labels={"app": "web", "a": "b"})
INVALID = LabelSelector(match_expressions=(LabelSelectorRequirement(key="x", operator="Bad"),))


def test_a_deployment_counts_what_is_ready() -> None:
    deployment = apps.Deployment(
        metadata=META,
        spec=apps.DeploymentSpec(replicas=3, selector=SELECTOR, template=TEMPLATE),
        status=apps.DeploymentStatus(ready_replicas=2, updated_replicas=3, available_replicas=1),
    )
    assert deployment_cells(deployment, NOW) == [
        "web",
        "2/3",
        3,
        1,
        "60s",
        "a,b",
        "a:1,b:2",
        "a=b,app=web",
    ]


@pytest.mark.parametrize(
    ("selector", "shown"), [(None, ""), (LabelSelector(), ""), (INVALID, "<invalid>")]
)
def test_a_deployment_has_its_own_words_for_odd_selectors(
    selector: LabelSelector | None, shown: str
) -> None:
    deployment = apps.Deployment(spec=apps.DeploymentSpec(selector=selector))
    assert deployment_cells(deployment, NOW)[-1] == shown


@pytest.mark.parametrize(
    ("selector", "shown"), [(None, "<none>"), (LabelSelector(), "<none>"), (INVALID, "<error>")]
)
def test_others_say_none(selector: LabelSelector | None, shown: str) -> None:
    replica_set = apps.ReplicaSet(spec=apps.ReplicaSetSpec(selector=selector))
    assert replica_set_cells(replica_set, NOW)[-1] == shown


def test_a_replica_set_counts_its_pods() -> None:
    replica_set = apps.ReplicaSet(
        metadata=META,
        spec=apps.ReplicaSetSpec(replicas=3),
        status=apps.ReplicaSetStatus(replicas=2, ready_replicas=1),
    )
    assert replica_set_cells(replica_set, NOW)[:5] == ["web", 3, 2, 1, "60s"]


def test_a_daemon_set_counts_its_nodes() -> None:
    template = core.PodTemplateSpec(spec=core.PodSpec(node_selector={"zone": "a", "disk": "ssd"}))
    daemon_set = apps.DaemonSet(
        metadata=META,
        spec=apps.DaemonSetSpec(template=template),
        status=apps.DaemonSetStatus(
            desired_number_scheduled=5,
            current_number_scheduled=4,
            number_ready=3,
            updated_number_scheduled=2,
            number_available=1,
        ),
    )
    shown = daemon_set_cells(daemon_set, NOW)
    assert shown[:8] == ["web", 5, 4, 3, 2, 1, "disk=ssd,zone=a", "60s"]
    assert daemon_set_cells(apps.DaemonSet(), NOW)[6] == "<none>"


def condition(name: str, status: str = "True") -> batch.JobCondition:
    return batch.JobCondition(type=name, status=status)


@pytest.mark.parametrize(
    ("owners", "shown"),
    [
        pytest.param((), "<none>", id="nobody"),
        pytest.param((OwnerReference(kind="Node", name="n1"),), "<none>", id="not-in-control"),
        pytest.param(
            (OwnerReference(api_version="apps/v1", kind="DaemonSet", name="d", controller=True),),
            "daemonset.apps/d",
            id="of-a-group",
        ),
        pytest.param(
            (OwnerReference(api_version="v1", kind="Pod", name="p", controller=True),),
            "pod/p",
            id="of-no-group",
        ),
    ],
)
def test_a_revision_says_whose_it_is(owners: tuple[OwnerReference, ...], shown: str) -> None:
    metadata = replace(META, owner_references=owners)
    revision = apps.ControllerRevision(metadata=metadata, revision=4)
    assert revision_cells(revision, NOW) == ["web", shown, 4, "60s"]


@pytest.mark.parametrize(
    ("metadata", "conditions", "status"),
    [
        pytest.param(META, (), "Running", id="new"),
        pytest.param(META, (condition("Complete"),), "Complete", id="complete"),
        pytest.param(META, (condition("Complete", "False"),), "Running", id="not-so"),
        pytest.param(DELETED, (condition("Failed"),), "Failed", id="failed-before-deleted"),
        pytest.param(DELETED, (condition("Suspended"),), "Terminating", id="deleted"),
        pytest.param(META, (condition("Suspended"),), "Suspended", id="suspended"),
        pytest.param(META, (condition("FailureTarget"),), "FailureTarget", id="failing"),
        pytest.param(META, (condition("SuccessCriteriaMet"),), "SuccessCriteriaMet", id="ending"),
    ],
)
def test_a_job_says_what_it_is_doing(metadata: ObjectMeta, conditions: Any, status: str) -> None:
    job = batch.Job(metadata=metadata, status=batch.JobStatus(conditions=conditions))
    assert job_cells(job, NOW)[1] == status


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        pytest.param(batch.JobSpec(completions=5, parallelism=2), "1/5", id="a-fixed-number"),
        pytest.param(batch.JobSpec(parallelism=4), "1/1 of 4", id="a-queue"),
        pytest.param(batch.JobSpec(parallelism=1), "1/1", id="one-at-a-time"),
        pytest.param(batch.JobSpec(), "1/1", id="nothing-said"),
    ],
)
def test_a_job_counts_what_succeeded(spec: batch.JobSpec, shown: str) -> None:
    job = batch.Job(spec=spec, status=batch.JobStatus(succeeded=1))
    assert job_cells(job, NOW)[2] == shown


def test_a_job_takes_until_it_is_complete() -> None:
    start, end = Time.parse("2025-12-31T23:50:00Z"), Time.parse("2025-12-31T23:51:00Z")
    assert job_cells(batch.Job(), NOW)[3] == ""
    running = batch.Job(status=batch.JobStatus(start_time=start))
    assert job_cells(running, NOW)[3] == "10m"
    done = batch.Job(status=batch.JobStatus(start_time=start, completion_time=end))
    assert job_cells(done, NOW)[3] == "60s"


def test_a_budget_says_its_bounds() -> None:
    budget = policy.PodDisruptionBudget(
        metadata=META,
        spec=policy.PodDisruptionBudgetSpec(min_available="50%"),
        status=policy.PodDisruptionBudgetStatus(disruptions_allowed=1),
    )
    assert budget_cells(budget, NOW) == ["web", "50%", "N/A", 1, "60s"]
    zero = policy.PodDisruptionBudget(spec=policy.PodDisruptionBudgetSpec(max_unavailable=0))
    assert budget_cells(zero, NOW)[1:3] == ["N/A", "0"]
