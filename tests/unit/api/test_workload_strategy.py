"""What a server does to workloads before it validates them."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.apps import (
    DaemonSet,
    DaemonSetStatus,
    Deployment,
    DeploymentSpec,
    DeploymentStatus,
    ReplicaSet,
    ReplicaSetStatus,
)
from dray.api.batch import Job, JobSchedulingConfiguration, JobSpec, JobStatus
from dray.api.core import PodSchedulingGroup, PodSpec, PodTemplateSpec
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.meta import LabelSelector, ObjectMeta
from dray.api.wire import replace
from dray.api.workload_defaults import default_job
from dray.api.workload_strategy import (
    prepare_workload_for_create,
    prepare_workload_for_status_update,
    prepare_workload_for_update,
)

STORED = ObjectMeta(name="work", uid="u", generation=3, labels={"a": "1"})


def created(job: Job) -> Job:
    return prepare_workload_for_create(job, gates=DEFAULT_GATES)


@pytest.mark.parametrize(
    "old",
    [
        Deployment(metadata=STORED, status=DeploymentStatus(replicas=1)),
        ReplicaSet(metadata=STORED, status=ReplicaSetStatus(replicas=1)),
        DaemonSet(metadata=STORED, status=DaemonSetStatus(number_ready=1)),
        Job(metadata=STORED, status=JobStatus(active=1)),
    ],
    ids=lambda old: old.kind,
)
def test_nothing_is_born_with_a_history(old: Any) -> None:
    new = prepare_workload_for_create(old, gates=DEFAULT_GATES)
    assert new.metadata.generation == 1
    assert new.status == type(old)().status


def test_a_new_job_gets_a_selector_and_the_labels_it_finds() -> None:
    spec = created(Job(metadata=ObjectMeta(name="work", uid="u"))).spec
    assert spec.selector == LabelSelector(match_labels={"batch.kubernetes.io/controller-uid": "u"})
    assert spec.template.metadata.labels == {
        "job-name": "work",
        "batch.kubernetes.io/job-name": "work",
        "controller-uid": "u",
        "batch.kubernetes.io/controller-uid": "u",
    }


def labelled(job: dict[str, str], template: dict[str, str], **spec: Any) -> Job:
    pods = PodTemplateSpec(metadata=ObjectMeta(labels=template))
    metadata = ObjectMeta(name="work", uid="u", labels=job)
    return Job(metadata=metadata, spec=JobSpec(template=pods, **spec))


MADE = {
    "job-name": "work",
    "batch.kubernetes.io/job-name": "work",
    "controller-uid": "u",
    "batch.kubernetes.io/controller-uid": "u",
}


@pytest.mark.parametrize(
    ("job", "labels"),
    [
        pytest.param(labelled({}, {"a": "1"}), {"a": "1", **MADE}, id="from-its-template"),
        pytest.param(
            labelled({}, {"job-name": "mine"}), {**MADE, "job-name": "mine"}, id="not-overwritten"
        ),
        pytest.param(labelled({"a": "1"}, {"a": "1"}), {"a": "1"}, id="its-own"),
        pytest.param(labelled({}, {}), {}, id="none"),
        pytest.param(labelled({}, {"a": "1"}, manual_selector=True), {"a": "1"}, id="none-made"),
    ],
)
def test_a_job_without_labels_shares_those_of_its_template(
    job: Job, labels: dict[str, str]
) -> None:
    assert created(default_job(job)).metadata.labels == labels


def test_what_the_author_wrote_is_left_for_validation() -> None:
    template = PodTemplateSpec(metadata=ObjectMeta(labels={"job-name": "mine"}))
    job = Job(metadata=ObjectMeta(name="work", uid="u"), spec=JobSpec(template=template))
    assert created(job).spec.template.metadata.labels["job-name"] == "mine"


def test_an_author_who_wants_to_choose_may() -> None:
    job = Job(metadata=STORED, spec=JobSpec(manual_selector=True))
    assert created(job).spec.selector is None


def test_fields_of_features_that_are_off_are_removed() -> None:
    pods = PodSpec(scheduling_group=PodSchedulingGroup(pod_group_name="g"))
    spec = JobSpec(
        manual_selector=True,
        template=PodTemplateSpec(spec=pods),
        scheduling=JobSchedulingConfiguration(),
    )
    off = created(Job(spec=spec)).spec
    assert off.template.spec.scheduling_group is None
    assert off.scheduling is None
    on = prepare_workload_for_create(
        Job(spec=spec), gates=FeatureGates({"GenericWorkload": True})
    ).spec
    assert on.template.spec.scheduling_group == pods.scheduling_group


def test_what_is_stored_already_may_stay() -> None:
    old = Job(metadata=STORED, spec=JobSpec(scheduling=JobSchedulingConfiguration()))
    new = prepare_workload_for_update(old, old, gates=DEFAULT_GATES)
    assert new.spec.scheduling == JobSchedulingConfiguration()


def test_an_update_keeps_the_status_and_counts_changes() -> None:
    old = Deployment(metadata=STORED, status=DeploymentStatus(replicas=2))
    same = prepare_workload_for_update(
        replace(old, status=DeploymentStatus()), old, gates=DEFAULT_GATES
    )
    assert (same.status, same.metadata.generation) == (old.status, 3)
    scaled = replace(old, spec=DeploymentSpec(replicas=5))
    assert prepare_workload_for_update(scaled, old, gates=DEFAULT_GATES).metadata.generation == 4


def test_annotations_count_where_they_are_copied() -> None:
    annotated = replace(STORED, annotations={"a": "b"})
    deployment, replica_set = Deployment(metadata=STORED), ReplicaSet(metadata=STORED)
    copied = prepare_workload_for_update(
        replace(deployment, metadata=annotated), deployment, gates=DEFAULT_GATES
    )
    kept = prepare_workload_for_update(
        replace(replica_set, metadata=annotated), replica_set, gates=DEFAULT_GATES
    )
    assert (copied.metadata.generation, kept.metadata.generation) == (4, 3)


def test_a_status_update_keeps_the_rest() -> None:
    old = Deployment(metadata=STORED, spec=DeploymentSpec(replicas=1))
    new = Deployment(
        metadata=replace(STORED, labels={}, generation=9),
        spec=DeploymentSpec(replicas=2),
        status=DeploymentStatus(replicas=1),
    )
    prepared = prepare_workload_for_status_update(new, old)
    assert (prepared.spec, prepared.metadata) == (old.spec, STORED)
    assert prepared.status == new.status
