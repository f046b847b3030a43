"""Jobs from beginning to end, on a real server."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.batch import (
    Job,
    JobSpec,
    JobStatus,
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
    SuccessPolicy,
    SuccessPolicyRule,
)
from dray.api.core import Pod
from dray.api.meta import ObjectMeta
from dray.api.wire import Time, replace
from dray.client import Call, Reply
from dray.controllers.jobs.pods import (
    COMPLETION_INDEX,
    INDEX_FAILURE_COUNT,
    TRACKING_FINALIZER,
)
from dray.entropy import SeededEntropy
from dray.errors import TransportError
from tests.unit.controllers.stage import Stage
from tests.unit.controllers.workloads import (
    NAMESPACE,
    LateStage,
    events_of,
    finish,
    make_ready,
    make_template,
    on_stage,
    pods_of,
    select,
    set_status,
)

NAME = "job-controller"


def make_job(name: str = "work", **spec: Any) -> Job:
    template = make_template({}, restart_policy="Never")
    return Job(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE),
        spec=JobSpec(**{"template": template, **spec}),
    )


async def status_of(stage: Stage, name: str = "work") -> JobStatus:
    await stage.settle()
    return (await stage.client.get(Job, name, namespace=NAMESPACE)).status


async def change(stage: Stage, **spec: Any) -> None:
    await stage.client.patch(Job, "work", {"spec": spec}, namespace=NAMESPACE)
    await stage.settle()


async def active_pods(stage: Stage) -> list[Pod]:
    return [
        pod
        for pod in await pods_of(stage)
        if pod.status.phase in ("Pending", "Running") and not pod.metadata.deletion_timestamp
    ]


async def by_index(stage: Stage) -> dict[int, Pod]:
    return {
        int(pod.metadata.annotations[COMPLETION_INDEX]): pod for pod in await active_pods(stage)
    }


def conditions_of(status: JobStatus) -> list[tuple[str, str, str]]:
    return [(each.type, each.status, each.reason) for each in status.conditions]


# Success ---------------------------------------------------------------------------------------


@on_stage(NAME)
async def test_a_job_runs_a_pod_and_is_complete_once_that_succeeded(stage: Stage) -> None:
    await stage.client.create(make_job())
    (pod,) = await pods_of(stage)
    assert pod.metadata.finalizers == (TRACKING_FINALIZER,)
    assert pod.metadata.owner_references[0].kind == "Job"
    status = await status_of(stage)
    assert (status.active, status.ready) == (1, 0)
    assert status.start_time == Time(stage.clock.now())

    await make_ready(stage, pod)
    assert (await status_of(stage)).ready == 1
    await stage.pass_time(30)
    await finish(stage, pod)
    status = await status_of(stage)
    assert (status.active, status.ready, status.succeeded, status.terminating) == (0, 0, 1, 0)
    assert conditions_of(status) == [
        ("SuccessCriteriaMet", "True", "CompletionsReached"),
        ("Complete", "True", "CompletionsReached"),
    ]
    assert status.conditions[1].message == "Reached expected number of succeeded pods"
    assert status.completion_time == Time(stage.clock.now())
    assert (await pods_of(stage))[0].metadata.finalizers == ()
    assert await events_of(stage, "work") == [
        ("SuccessfulCreate", f"Created pod: {pod.metadata.name}"),
        ("Completed", "Job completed"),
    ]


@on_stage(NAME)
async def test_no_more_run_than_are_allowed_or_still_needed(stage: Stage) -> None:
    await stage.client.create(make_job(parallelism=2, completions=3))
    first, second = await active_pods(stage)
    await finish(stage, first, second)
    (third,) = await active_pods(stage)
    assert (await status_of(stage)).succeeded == 2
    await finish(stage, third)
    assert conditions_of(await status_of(stage))[-1][0] == "Complete"
    assert len(await pods_of(stage)) == 3


@on_stage(NAME)
async def test_without_completions_one_success_is_enough_and_others_finish(stage: Stage) -> None:
    await stage.client.create(make_job(parallelism=3))
    first, second, third = await active_pods(stage)
    await finish(stage, first)
    assert len(await active_pods(stage)) == 2
    assert conditions_of(await status_of(stage)) == []
    await finish(stage, second, third)
    status = await status_of(stage)
    assert conditions_of(status)[-1][0] == "Complete"
    assert status.succeeded == 3


@on_stage(NAME)
async def test_less_parallelism_deletes_pods_without_counting_them(stage: Stage) -> None:
    await stage.client.create(make_job(parallelism=3, completions=3))
    pods = await active_pods(stage)
    await make_ready(stage, pods[1])
    await change(stage, parallelism=1)
    assert [pod.metadata.name for pod in await pods_of(stage)] == [pods[1].metadata.name]
    status = await status_of(stage)
    assert (status.active, status.failed) == (1, 0)


# Indexes ---------------------------------------------------------------------------------------


@on_stage(NAME)
async def test_an_indexed_job_gives_each_pod_its_index(stage: Stage) -> None:
    await stage.client.create(make_job(completions=3, parallelism=2, completion_mode="Indexed"))
    pods = await by_index(stage)
    assert set(pods) == {0, 1}
    pod = pods[1]
    assert pod.metadata.labels[COMPLETION_INDEX] == "1"
    assert pod.metadata.name.startswith("work-1-")
    assert pod.spec.hostname == "work-1"
    (variable,) = (pod.spec.containers or ())[0].env
    assert variable.name == "JOB_COMPLETION_INDEX"
    assert variable.value_from is not None
    assert variable.value_from.field_ref is not None
    path = variable.value_from.field_ref.field_path
    assert path == "metadata.labels['batch.kubernetes.io/job-completion-index']"

    await finish(stage, pod)
    assert set(await by_index(stage)) == {0, 2}
    assert (await status_of(stage)).completed_indexes == "1"
    await finish(stage, *(await by_index(stage)).values())
    status = await status_of(stage)
    assert (status.completed_indexes, status.succeeded) == ("0-2", 3)
    assert conditions_of(status)[-1][0] == "Complete"


@on_stage(NAME)
async def test_an_index_fails_by_itself_after_its_own_failures(stage: Stage) -> None:
    job = make_job(
        completions=2, parallelism=2, completion_mode="Indexed", backoff_limit_per_index=1
    )
    await stage.client.create(job)
    pods = await by_index(stage)
    assert pods[0].metadata.annotations[INDEX_FAILURE_COUNT] == "0"
    await finish(stage, pods[0], exit_code=1)
    assert set(await by_index(stage)) == {1}
    kept = await stage.client.get(Pod, pods[0].metadata.name, namespace=NAMESPACE)
    assert kept.metadata.finalizers == (TRACKING_FINALIZER,)  # until its count is passed on
    await stage.pass_time(10)
    again = (await by_index(stage))[0]
    assert again.metadata.annotations[INDEX_FAILURE_COUNT] == "1"
    kept = await stage.client.get(Pod, pods[0].metadata.name, namespace=NAMESPACE)
    assert kept.metadata.finalizers == ()

    await finish(stage, again, exit_code=1)
    assert (await status_of(stage)).failed_indexes == "0"
    await stage.pass_time(60)
    assert set(await by_index(stage)) == {1}
    await finish(stage, pods[1])
    status = await status_of(stage)
    assert conditions_of(status) == [
        ("FailureTarget", "True", "FailedIndexes"),
        ("Failed", "True", "FailedIndexes"),
    ]
    assert (status.completed_indexes, status.failed_indexes, status.failed) == ("1", "0", 2)


@on_stage(NAME)
async def test_too_many_failed_indexes_fail_the_job(stage: Stage) -> None:
    job = make_job(
        completions=5,
        parallelism=5,
        completion_mode="Indexed",
        backoff_limit_per_index=0,
        max_failed_indexes=1,
    )
    await stage.client.create(job)
    pods = await by_index(stage)
    await finish(stage, pods[0], exit_code=1)
    assert conditions_of(await status_of(stage)) == []
    await finish(stage, pods[1], exit_code=1)
    status = await status_of(stage)
    assert conditions_of(status)[-1] == ("Failed", "True", "MaxFailedIndexesExceeded")
    assert status.failed_indexes == "0,1"
    assert await active_pods(stage) == []


@on_stage(NAME)
async def test_a_success_policy_ends_the_job_early(stage: Stage) -> None:
    rules = (SuccessPolicyRule(succeeded_indexes="0", succeeded_count=1),)
    job = make_job(
        completions=3,
        parallelism=3,
        completion_mode="Indexed",
        success_policy=SuccessPolicy(rules=rules),
    )
    await stage.client.create(job)
    pods = await by_index(stage)
    await finish(stage, pods[1])
    assert conditions_of(await status_of(stage)) == []
    await finish(stage, pods[0])
    status = await status_of(stage)
    assert conditions_of(status) == [
        ("SuccessCriteriaMet", "True", "SuccessPolicy"),
        ("Complete", "True", "SuccessPolicy"),
    ]
    assert status.conditions[0].message == "Matched rules at index 0"
    assert (status.succeeded, status.failed, status.completed_indexes) == (2, 0, "0,1")
    assert await active_pods(stage) == []


# Failure ---------------------------------------------------------------------------------------


@on_stage(NAME)
async def test_failed_pods_are_replaced_after_longer_and_longer_until_the_limit(
    stage: Stage,
) -> None:
    await stage.client.create(make_job(backoff_limit=2))
    for seconds in (10, 20):
        (pod,) = await active_pods(stage)
        await finish(stage, pod, exit_code=1)
        await stage.pass_time(seconds - 1)
        assert await active_pods(stage) == []
        await stage.pass_time(1)
    (pod,) = await active_pods(stage)
    await finish(stage, pod, exit_code=1)
    status = await status_of(stage)
    assert conditions_of(status) == [
        ("FailureTarget", "True", "BackoffLimitExceeded"),
        ("Failed", "True", "BackoffLimitExceeded"),
    ]
    message = "Job has reached the specified backoff limit"
    assert status.conditions[1].message == message
    assert (status.failed, status.completion_time) == (3, None)
    assert (await events_of(stage, "work"))[-1] == ("BackoffLimitExceeded", message)
    await stage.pass_time(700)
    assert len(await pods_of(stage)) == 3


@on_stage(NAME)
async def test_a_job_that_fails_stops_its_other_pods_and_then_says_so(stage: Stage) -> None:
    await stage.cluster.add_node("n1")
    template = make_template({}, restart_policy="Never", node_name="n1")
    await stage.client.create(
        make_job(parallelism=2, completions=2, backoff_limit=0, template=template)
    )
    first, second = await active_pods(stage)
    await make_ready(stage, second)
    await finish(stage, first, exit_code=1)
    status = await status_of(stage)
    assert conditions_of(status) == [("FailureTarget", "True", "BackoffLimitExceeded")]
    assert (status.active, status.terminating, status.failed) == (0, 1, 2)
    stopping = await stage.client.get(Pod, second.metadata.name, namespace=NAMESPACE)
    assert stopping.metadata.deletion_timestamp is not None
    await stage.client.delete(
        Pod, second.metadata.name, namespace=NAMESPACE, grace_period_seconds=0
    )
    status = await status_of(stage)
    assert conditions_of(status)[-1] == ("Failed", "True", "BackoffLimitExceeded")
    assert (status.terminating, status.failed) == (0, 2)


@on_stage(NAME)
async def test_a_job_may_take_only_so_long(stage: Stage) -> None:
    await stage.client.create(make_job(active_deadline_seconds=60))
    assert len(await active_pods(stage)) == 1
    await stage.pass_time(59)
    assert len(await active_pods(stage)) == 1
    await stage.pass_time(1)
    status = await status_of(stage)
    assert conditions_of(status)[-1] == ("Failed", "True", "DeadlineExceeded")
    assert status.conditions[-1].message == "Job was active longer than specified deadline"
    assert await active_pods(stage) == []


@on_stage(NAME)
async def test_restarts_within_a_pod_count_towards_the_limit(stage: Stage) -> None:
    template = make_template({}, restart_policy="OnFailure")
    await stage.client.create(make_job(template=template, backoff_limit=3))
    (pod,) = await active_pods(stage)
    container = {
        "name": "main",
        "image": "i",
        "imageID": "",
        "ready": False,
        "restartCount": 2,
        "state": {},
    }
    await set_status(stage, pod, phase="Running", containerStatuses=[container])
    assert conditions_of(await status_of(stage)) == []
    container["restartCount"] = 3
    await set_status(stage, pod, phase="Running", containerStatuses=[container])
    assert conditions_of(await status_of(stage))[-1][2] == "BackoffLimitExceeded"


def rule(action: str, *, codes: tuple[int, ...] = (), condition: str = "") -> PodFailurePolicyRule:
    if condition:
        pattern = PodFailurePolicyOnPodConditionsPattern(type=condition, status="True")
        return PodFailurePolicyRule(action=action, on_pod_conditions=(pattern,))
    wanted = PodFailurePolicyOnExitCodesRequirement(operator="In", values=codes)
    return PodFailurePolicyRule(action=action, on_exit_codes=wanted)


@on_stage(NAME)
async def test_an_exit_code_can_fail_the_job_at_once(stage: Stage) -> None:
    policy = PodFailurePolicy(rules=(rule("FailJob", codes=(42,)),))
    await stage.client.create(make_job(pod_failure_policy=policy, parallelism=2, completions=2))
    first, _second = await active_pods(stage)
    await finish(stage, first, exit_code=42)
    status = await status_of(stage)
    assert conditions_of(status)[-1] == ("Failed", "True", "PodFailurePolicy")
    name = f"{NAMESPACE}/{first.metadata.name}"
    assert status.conditions[-1].message == (
        f"Container main for pod {name} failed with exit code 42 matching FailJob rule at index 0"
    )


@on_stage(NAME)
async def test_a_disruption_can_be_ignored(stage: Stage) -> None:
    """A pod that device taints evict has the condition; it is replaced, and not counted."""
    policy = PodFailurePolicy(rules=(rule("Ignore", condition="DisruptionTarget"),))
    await stage.client.create(make_job(pod_failure_policy=policy, backoff_limit=0))
    (pod,) = await active_pods(stage)
    disrupted = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByDeviceTaintManager",
    }
    await finish(stage, pod, exit_code=137, conditions=[disrupted], reason="DeviceFailed")
    await stage.pass_time(10)
    assert len(await active_pods(stage)) == 1
    status = await status_of(stage)
    assert (status.failed, conditions_of(status)) == (0, [])


@on_stage(NAME)
async def test_a_rule_can_fail_the_index_alone(stage: Stage) -> None:
    policy = PodFailurePolicy(rules=(rule("FailIndex", codes=(42,)),))
    job = make_job(
        completions=2,
        parallelism=2,
        completion_mode="Indexed",
        backoff_limit_per_index=5,
        pod_failure_policy=policy,
    )
    await stage.client.create(job)
    pods = await by_index(stage)
    await finish(stage, pods[1], exit_code=42)
    await stage.pass_time(600)
    status = await status_of(stage)
    assert (status.failed_indexes, conditions_of(status)) == ("1", [])
    assert set(await by_index(stage)) == {0}


# Suspension, replacement, managers, selectors --------------------------------------------------


@on_stage(NAME)
async def test_a_suspended_job_has_no_pods_and_its_clock_stands(stage: Stage) -> None:
    await stage.client.create(make_job(suspend=True, active_deadline_seconds=60))
    status = await status_of(stage)
    assert (await pods_of(stage), status.start_time) == ([], None)
    assert conditions_of(status) == [("Suspended", "True", "JobSuspended")]
    await stage.pass_time(100)
    await change(stage, suspend=False)
    status = await status_of(stage)
    assert conditions_of(status) == [("Suspended", "False", "JobResumed")]
    assert status.start_time == Time(stage.clock.now())
    assert len(await active_pods(stage)) == 1
    await stage.pass_time(30)
    await change(stage, suspend=True)
    status = await status_of(stage)
    assert (await pods_of(stage), status.active, status.failed) == ([], 0, 0)
    assert status.start_time is None
    assert [reason for reason, _ in await events_of(stage, "work")] == [
        "Suspended",
        "SuccessfulCreate",
        "Resumed",
        "SuccessfulDelete",
    ]  # that it was suspended again is counted in the first


@pytest.mark.parametrize("policy", ["Failed", "TerminatingOrFailed"])
def test_a_pod_that_is_stopping_is_replaced_as_the_job_says(policy: str) -> None:
    @on_stage(NAME)
    async def act(stage: Stage) -> None:
        await stage.cluster.add_node("n1")
        template = make_template({}, restart_policy="Never", node_name="n1")
        await stage.client.create(make_job(template=template, pod_replacement_policy=policy))
        (pod,) = await active_pods(stage)
        await make_ready(stage, pod)
        await stage.client.delete(Pod, pod.metadata.name, namespace=NAMESPACE)
        await stage.pass_time(10)
        status = await status_of(stage)
        assert status.terminating == 1
        expected = 0 if policy == "Failed" else 1
        assert len(await active_pods(stage)) == expected
        assert status.failed == expected
        await finish(stage, pod, exit_code=143)
        await stage.pass_time(10)
        assert len(await active_pods(stage)) == 1
        assert (await status_of(stage)).failed == 1

    act()


@on_stage(NAME)
async def test_a_job_that_somebody_else_runs_is_left_alone(stage: Stage) -> None:
    await stage.client.create(make_job(managed_by="example.com/other"))
    assert await pods_of(stage) == []
    assert await status_of(stage) == JobStatus()
    await stage.client.create(make_job("mine", managed_by="kubernetes.io/job-controller"))
    assert len(await pods_of(stage)) == 1


@on_stage(NAME)
async def test_a_job_adopts_what_its_own_selector_finds(stage: Stage) -> None:
    labels = {"app": "work"}
    template = make_template(labels, restart_policy="Never")
    orphan = Pod(
        metadata=ObjectMeta(name="orphan", namespace=NAMESPACE, labels=labels), spec=template.spec
    )
    await stage.client.create(orphan)
    await stage.client.create(
        make_job(manual_selector=True, selector=select(labels), template=template)
    )
    (pod,) = await pods_of(stage)
    assert pod.metadata.name == "orphan"
    assert pod.metadata.finalizers == (TRACKING_FINALIZER,)
    await finish(stage, pod)
    assert conditions_of(await status_of(stage))[-1][0] == "Complete"


@on_stage(NAME)
async def test_pods_of_a_job_that_is_gone_lose_their_finalizer(stage: Stage) -> None:
    await stage.client.create(make_job())
    (pod,) = await pods_of(stage)
    await stage.client.delete(Job, "work", namespace=NAMESPACE, propagation_policy="Orphan")
    await stage.settle()
    patch = {"metadata": {"finalizers": None}}
    job = next(iter((await stage.client.list(Job)).items), None)
    if job is not None:  # nobody collects here: what a collector would take off
        await stage.client.patch(Job, "work", patch, namespace=NAMESPACE)
    await stage.settle()
    left = await stage.client.get(Pod, pod.metadata.name, namespace=NAMESPACE)
    assert left.metadata.finalizers == ()


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
@pytest.mark.parametrize("ended", [False, True], ids=["running", "ended"])
def test_a_job_that_is_deleted_goes_with_its_pods(propagation: str, ended: bool) -> None:
    @on_stage(NAME, "garbage-collector-controller")
    async def act(stage: Stage) -> None:
        await stage.client.create(make_job(parallelism=2, completions=2))
        pods = await active_pods(stage)
        await finish(stage, *(pods if ended else pods[:1]))
        await stage.client.delete(Job, "work", namespace=NAMESPACE, propagation_policy=propagation)
        await stage.pass_time(5, steps=5)
        assert await pods_of(stage) == []
        assert (await stage.client.list(Job)).items == ()

    act()


@on_stage(NAME)
async def test_what_cannot_be_made_is_told_and_tried_again(stage: Stage) -> None:
    template = make_template({}, restart_policy="Never", priority_class_name="none")
    await stage.client.create(make_job(template=template, parallelism=9, completions=9))
    assert (await status_of(stage)).active == 0
    reason, message = (await events_of(stage, "work"))[0]
    assert reason == "FailedCreate"
    assert "no PriorityClass with name none was found" in message
    assert stage.traffic.calls["POST pods"] < 9


# Counting --------------------------------------------------------------------------------------


class Crash:
    """A transport in front of another that fails at some write, before or after it happened."""

    def __init__(self, stage: Stage, at: int, *, after: bool) -> None:
        self._request = stage.traffic.request
        self._left = at
        self._after = after
        self.happened = False
        stage.traffic.request = self.request  # type: ignore[method-assign]

    async def request(self, call: Call) -> Reply:
        wanted = call.method in ("PATCH", "PUT") and "/events" not in call.path
        if not wanted or self.happened:
            return await self._request(call)
        self._left -= 1
        if self._left >= 0:
            return await self._request(call)
        self.happened = True
        if self._after:
            await self._request(call)
        return Reply(500, {}, b'{"kind":"Status","message":"gone","code":500}')


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("mode", ["NonIndexed", "Indexed"])
def test_each_pod_is_counted_exactly_once_whichever_write_is_lost(
    at: int, after: bool, mode: str
) -> None:
    @on_stage(NAME)
    async def act(stage: Stage) -> None:
        await stage.client.create(make_job(parallelism=3, completions=3, completion_mode=mode))
        first, second, third = await active_pods(stage)
        crash = Crash(stage, at, after=after)
        await finish(stage, first, exit_code=1)
        await finish(stage, second)
        await stage.pass_time(30, steps=3)
        await finish(stage, third, *await active_pods(stage))
        await stage.pass_time(30, steps=3)
        assert crash.happened
        status = await status_of(stage)
        assert (status.succeeded, status.failed) == (3, 1)
        assert conditions_of(status)[-1][0] == "Complete"
        assert all(pod.metadata.finalizers == () for pod in await pods_of(stage))

    act()


class Storm:
    """Loses requests and answers by chance, until it is over."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._request = stage.traffic.request
        self.chance = SeededEntropy(seed)
        self.is_over = False
        stage.traffic.request = self.request  # type: ignore[method-assign]

    async def request(self, call: Call) -> Reply:
        luck = self.chance.uniform(0, 1)
        if self.is_over or call.method == "GET" or luck > 0.3:
            return await self._request(call)
        if luck > 0.15:
            await self._request(call)
        raise TransportError(f"{call}: lost")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_in_any_storm_each_pod_is_counted_exactly_once(seed: int) -> None:
    @on_stage(NAME)
    async def act(stage: Stage) -> None:
        storm = Storm(stage, seed)
        mode = "Indexed" if seed % 2 else "NonIndexed"
        await stage.client.create(
            make_job(parallelism=3, completions=6, completion_mode=mode, backoff_limit=99)
        )
        failed: set[str] = set()
        succeeded: set[str] = set()
        for _ in range(25):
            await stage.pass_time(storm.chance.uniform(0, 60))
            pods = await active_pods(stage)
            if not pods or await finished(stage):
                continue
            pod = pods[int(storm.chance.uniform(0, len(pods)))]
            if storm.chance.uniform(0, 1) < 0.4:
                failed.add(pod.metadata.uid)
                await finish(stage, pod, exit_code=1)
            else:
                succeeded.add(pod.metadata.uid)
                await finish(stage, pod)
        storm.is_over = True
        while not await finished(stage):
            await stage.pass_time(700, steps=7)
            pods = await active_pods(stage)
            succeeded |= {pod.metadata.uid for pod in pods}
            await finish(stage, *pods)
        status = await status_of(stage)
        assert (status.succeeded, status.failed) == (len(succeeded), len(failed))
        assert len(succeeded) == 6
        assert all(pod.metadata.finalizers == () for pod in await pods_of(stage))

    act()


async def finished(stage: Stage) -> bool:
    return any(
        type_ in ("Complete", "Failed") for type_, *_ in conditions_of(await status_of(stage))
    )


@pytest.mark.parametrize("mode", ["NonIndexed", "Indexed"])
def test_what_is_heard_of_late_is_not_done_nor_counted_twice(mode: str) -> None:
    @on_stage(NAME, kind=LateStage)
    async def act(stage: Stage) -> None:
        await stage.client.create(
            make_job(parallelism=4, completions=8, completion_mode=mode, backoff_limit=9)
        )
        for _ in range(6):
            await stage.pass_time(20, steps=40)
            for number, pod in enumerate(await active_pods(stage)):
                await finish(stage, pod, exit_code=int(number == 2))
                await stage.pass_time(0.5)
        await stage.pass_time(700, steps=200)
        status = await status_of(stage)
        failed = [pod for pod in await pods_of(stage) if pod.status.phase == "Failed"]
        assert (status.succeeded, status.failed) == (8, len(failed))
        assert len(failed) > 1
        assert stage.traffic.calls["POST pods"] == 8 + len(failed)
        assert conditions_of(status)[-1][0] == "Complete"

    act()


@on_stage(NAME)
async def test_a_pod_listed_as_uncounted_that_is_gone_is_counted_by_whoever_comes_next(
    stage: Stage,
) -> None:
    job = await stage.client.create(make_job(managed_by="example.com/other", completions=2))
    status = {"uncountedTerminatedPods": {"failed": ["one"], "succeeded": ["two"]}}
    job = await stage.client.patch(
        Job, "work", {"status": status}, namespace=NAMESPACE, subresource="status"
    )
    # As if this controller had written it and died: the same object, now its own.
    mine = replace(job, spec=replace(job.spec, managed_by=None))
    stage.informers.of(Job)._put((NAMESPACE, "work"), mine)
    found = await status_of(stage)
    assert (found.succeeded, found.failed) == (1, 1)
    assert found.uncounted_terminated_pods is not None
    assert found.uncounted_terminated_pods.failed == ()


@on_stage(NAME)
async def test_nothing_is_written_when_nothing_changed(stage: Stage) -> None:
    await stage.client.create(make_job(parallelism=2, completions=2))
    await make_ready(stage, *await pods_of(stage))
    stage.traffic.writes()
    patch = {"metadata": {"annotations": {"note": "1"}}}
    await stage.client.patch(Job, "work", patch, namespace=NAMESPACE)
    await stage.settle()
    assert stage.traffic.writes() == {}
