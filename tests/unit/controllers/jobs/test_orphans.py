"""Pods that no job will count."""

from __future__ import annotations

from dray.api.batch import Job
from dray.api.core import Pod
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.wire import replace
from dray.controllers.jobs.pods import TRACKING_FINALIZER
from tests.unit.controllers.jobs.job_parts import make_job
from tests.unit.controllers.stage import Stage
from tests.unit.controllers.workloads import NAMESPACE, finish, make_template, on_stage, pods_of

NAME = "job-controller"


async def add_tracked(stage: Stage, *references: OwnerReference) -> Pod:
    metadata = ObjectMeta(
        name="left",
        namespace=NAMESPACE,
        finalizers=(TRACKING_FINALIZER,),
        owner_references=references,
    )
    return await stage.client.create(Pod(metadata=metadata, spec=make_template({}).spec))


async def is_tracked(stage: Stage, name: str = "left") -> bool:
    await stage.settle()
    pod = await stage.client.get(Pod, name, namespace=NAMESPACE)
    return TRACKING_FINALIZER in pod.metadata.finalizers


def reference(kind: str, api_version: str) -> OwnerReference:
    return OwnerReference(
        api_version=api_version, kind=kind, name="gone", uid="gone", controller=True
    )


@on_stage(NAME)
async def test_a_pod_that_nobody_controls_is_let_go(stage: Stage) -> None:
    await add_tracked(stage)
    assert not await is_tracked(stage)


@on_stage(NAME)
async def test_a_pod_of_a_job_that_is_not_known_is_let_go_when_it_is_deleted(stage: Stage) -> None:
    """Before, the job may just not have been seen yet."""
    await add_tracked(stage, reference("Job", "batch/v1"))
    assert await is_tracked(stage)
    await stage.client.delete(Pod, "left", namespace=NAMESPACE)
    assert await pods_of(stage) == []


@on_stage(NAME)
async def test_a_pod_of_another_kind_of_owner_is_not_touched(stage: Stage) -> None:
    await add_tracked(stage, reference("Job", "batch.example.com/v1"))
    await stage.client.delete(Pod, "left", namespace=NAMESPACE)
    assert await is_tracked(stage)


@on_stage(NAME)
async def test_a_finalizer_that_comes_back_after_the_end_is_taken_off(stage: Stage) -> None:
    job = make_job()
    metadata = ObjectMeta(name="work", namespace=NAMESPACE)
    template = make_template({}, restart_policy="Never")
    spec = replace(job.spec, template=template)
    await stage.client.create(replace(job, metadata=metadata, spec=spec))
    (pod,) = await pods_of(stage)
    await finish(stage, pod)
    again = {"metadata": {"finalizers": [TRACKING_FINALIZER]}}
    await stage.client.patch(Pod, pod.metadata.name, again, namespace=NAMESPACE)
    await stage.settle()
    note = {"metadata": {"annotations": {"note": "1"}}}
    await stage.client.patch(Job, "work", note, namespace=NAMESPACE)
    assert not await is_tracked(stage, pod.metadata.name)
