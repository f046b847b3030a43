"""Jobs that are kept for a while only."""

from __future__ import annotations

from dray.api.batch import Job, JobSpec
from dray.api.meta import ObjectMeta
from tests.unit.controllers.stage import Stage
from tests.unit.controllers.workloads import NAMESPACE, finish, make_template, on_stage, pods_of

NAMES = ("job-controller", "ttl-after-finished-controller")


async def add_job(stage: Stage, *, seconds: int | None) -> None:
    template = make_template({}, restart_policy="Never")
    await stage.client.create(
        Job(
            metadata=ObjectMeta(name="work", namespace=NAMESPACE),
            spec=JobSpec(template=template, ttl_seconds_after_finished=seconds),
        )
    )


async def is_kept(stage: Stage) -> bool:
    await stage.settle()
    jobs = (await stage.client.list(Job)).items
    return any(job.metadata.deletion_timestamp is None for job in jobs)


@on_stage(*NAMES)
async def test_a_job_is_deleted_with_its_pods_after_its_time(stage: Stage) -> None:
    await add_job(stage, seconds=60)
    await stage.pass_time(100)
    assert await is_kept(stage)
    await finish(stage, *await pods_of(stage))
    await stage.pass_time(59)
    assert await is_kept(stage)
    await stage.pass_time(1)
    assert not await is_kept(stage)
    (job,) = (await stage.client.list(Job)).items
    assert job.metadata.finalizers == ("foregroundDeletion",)


@on_stage(*NAMES)
async def test_the_time_may_change_meanwhile(stage: Stage) -> None:
    await add_job(stage, seconds=60)
    await finish(stage, *await pods_of(stage))
    patch = {"spec": {"ttlSecondsAfterFinished": 600}}
    await stage.client.patch(Job, "work", patch, namespace=NAMESPACE)
    await stage.pass_time(599)
    assert await is_kept(stage)
    await stage.pass_time(1)
    assert not await is_kept(stage)


@on_stage(*NAMES)
async def test_zero_is_at_once_and_none_is_never(stage: Stage) -> None:
    await add_job(stage, seconds=None)
    await finish(stage, *await pods_of(stage))
    await stage.pass_time(10**6)
    assert await is_kept(stage)
    patch = {"spec": {"ttlSecondsAfterFinished": 0}}
    await stage.client.patch(Job, "work", patch, namespace=NAMESPACE)
    assert not await is_kept(stage)
