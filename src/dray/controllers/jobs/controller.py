"""Runs jobs. What is to be done is decided in the modules beside this one; here it is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from dray.api.batch import (
    COMPLETION_INDEXED,
    COMPLETION_NON_INDEXED,
    JOB_CONDITION_COMPLETE,
    JOB_CONDITION_SUSPENDED,
    Job,
    JobCondition,
    JobStatus,
    UncountedTerminatedPods,
)
from dray.api.core import Pod, PodTemplateSpec
from dray.api.wire import Time, replace
from dray.controllers.expectations import WAITING, Expectations
from dray.controllers.jobs.accounting import Account, count_released, draw_up
from dray.controllers.jobs.backoff import NO_FAILURES, Backoff
from dray.controllers.jobs.conditions import (
    CONDITION_FALSE,
    CONDITION_TRUE,
    final_condition,
    finished_condition,
    make_condition,
    with_condition,
)
from dray.controllers.jobs.ending import completed, find_ending, seconds_to_deadline
from dray.controllers.jobs.look import Look, look_at
from dray.controllers.jobs.metrics import JobMetrics
from dray.controllers.jobs.orphans import OrphanedPods
from dray.controllers.jobs.parallelism import plan_pods
from dray.controllers.jobs.pods import (
    NO_INDEX,
    TRACKING_FINALIZER,
    is_tracked,
    replaces_failed_only,
)
from dray.controllers.jobs.templates import index_prefix, index_template, pod_template
from dray.controllers.owners import Owners, gathering_seconds, is_same_wish
from dray.controllers.pod_control import (
    EVENT_NORMAL,
    EVENT_WARNING,
    PodControl,
    all_at_once,
    slow_start,
)
from dray.controllers.pod_states import is_ready
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import APIError, ParseError, TransportError
from dray.metrics import Family

__all__ = ["JobController"]

# What `managedBy` says of jobs that are this controller's.
MANAGER: Final = "kubernetes.io/job-controller"

_MODES: Final = (None, COMPLETION_INDEXED, COMPLETION_NON_INDEXED)


class JobController(Reconciler):
    """Jobs, and the pods they own."""

    name = "job-controller"
    workers = 5

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._client: Final = context.client
        self._pods = PodControl(context)
        self._jobs = context.informers.of(Job)
        self._written = Expectations(self._jobs, context.clock)
        self._backoffs: dict[Key, Backoff] = {}
        self._metrics = JobMetrics()
        owners = Owners(
            self._jobs,
            self._pods.view,
            self.queue,
            kind="Job",
            selector=lambda job: job.spec.selector,
            count=lambda job: job.spec.parallelism or 0,
        )
        self._orphans = OrphanedPods(context, self._pods, job_of=owners.owner_of, is_ours=_is_ours)
        self._jobs.listen(self._hear)

    async def run(self) -> None:
        await self._orphans.run()

    def families(self) -> Sequence[Family]:
        return self._metrics.families()

    async def reconcile(self, key: Key) -> Result:
        job = self._jobs.get(key.name, key.namespace)
        if job is None or not _is_ours(job) or finished_condition(job) is not None:
            self._forget(key)
            return DONE
        if not self._pods.expectations.met(key) or not self._written.met(key):
            return WAITING
        if job.spec.completion_mode not in _MODES:
            message = "Skipped Job sync because completion mode is unknown"
            self.context.events.record(job, EVENT_WARNING, "UnknownCompletionMode", message)
            return DONE
        try:
            pods = await self._pods.dependents.claim(
                job, job.spec.selector, finalizers=(TRACKING_FINALIZER,)
            )
        except ParseError:
            return DONE  # it selects nothing, and the API should never have taken it
        return await self._advance(key, job, pods)

    # Private -----------------------------------------------------------------------------------

    def _hear(self, old: Job | None, new: Job | None) -> None:
        job = new or old
        assert job is not None
        if new is None or finished_condition(new) is not None:
            self._orphans.add_all(job)
        seconds = 0.0
        if old is not None and new is not None and is_same_wish(old, new):
            seconds = gathering_seconds(new.spec.parallelism or 0)
        self.queue.add_after(Key.of(job), seconds)

    def _forget(self, key: Key) -> None:
        self._backoffs.pop(key, None)
        self._pods.expectations.forget(key)
        self._written.forget(key)

    async def _advance(self, key: Key, stored: Job, pods: Sequence[Pod]) -> Result:
        job = _started(stored, self._now())
        look = look_at(job, pods, self._backoffs.get(key, NO_FAILURES), self._now())
        ending = find_ending(look)
        step = _Step(
            active_count=len(look.active),
            ready_count=look.ready_count,
            terminating_count=len(look.terminating),
        )
        status = job.status
        if ending is not None:
            await self._delete(step, look.active, partial(self._pods.delete, job))
            if step.active_count:
                ending = None  # whatever still runs would not be counted
        else:
            step.wait(seconds_to_deadline(look))
            if job.metadata.deletion_timestamp is None:
                await self._manage(look, step)
            ending = completed(look, step.active_count)
            if ending is None and job.metadata.deletion_timestamp is None:
                status = self._suspended(job)
        status = replace(
            status,
            active=step.active_count,
            ready=step.ready_count,
            terminating=step.terminating_count,
        )
        await self._track(stored, look, status, ending)
        if step.failure is not None:
            raise step.failure
        return Result(step.wait_seconds)

    async def _manage(self, look: Look, step: _Step) -> None:
        """Make the pods that are missing, or delete those that are too many."""
        job, plan = look.job, plan_pods(look)
        if plan.surplus:
            await self._delete(step, plan.surplus, partial(self._drop, job))
            return
        step.wait(plan.wait_seconds)
        if plan.missing:
            template = pod_template(job)
            works = [partial(self._make, look, template, index) for index in plan.missing]
            outcome = await slow_start(works)
            made_count = sum(made is not None for made in outcome.done)
            step.active_count += made_count
            step.failure = outcome.failure
            reason, failed_count = _why_made(look), outcome.failed_count
            self._metrics.created(reason, made=made_count, failed=failed_count)

    async def _make(self, look: Look, template: PodTemplateSpec, index: int) -> Pod | None:
        job = look.job
        if index == NO_INDEX:
            return await self._pods.create(job, template)
        template = index_template(template, job, index, look.kept.get(index))
        return await self._pods.create(job, template, generate_name=index_prefix(job, index))

    async def _drop(self, job: Job, pod: Pod) -> Pod:
        """Delete a pod that nobody needs: it is not counted at all."""
        await self._untrack(job, pod)
        return await self._pods.delete(job, pod)

    async def _delete(
        self, step: _Step, pods: Sequence[Pod], delete: Callable[[Pod], Awaitable[Pod]]
    ) -> None:
        outcome = await all_at_once(delete, pods)
        step.active_count -= len(outcome.done)
        step.terminating_count += len(outcome.done)
        step.ready_count -= sum(map(is_ready, outcome.done))
        step.failure = outcome.failure

    def _suspended(self, job: Job) -> JobStatus:
        """The status with what it says about being suspended. Its clock stands meanwhile.

        So `activeDeadlineSeconds` is about how long it is active without a break.
        """
        status, now = job.status, self._now()
        if job.spec.suspend:
            told = CONDITION_TRUE, "Suspended", "JobSuspended", "Job suspended"
        else:
            told = CONDITION_FALSE, "Resumed", "JobResumed", "Job resumed"
        value, event, reason, message = told
        condition = make_condition(JOB_CONDITION_SUSPENDED, reason, message, now, status=value)
        conditions = with_condition(status.conditions, condition)
        if conditions == status.conditions:
            return status
        self.context.events.record(job, EVENT_NORMAL, event, message)
        start = None if job.spec.suspend else Time(now)
        return replace(status, conditions=conditions, start_time=start)

    async def _track(
        self, stored: Job, look: Look, status: JobStatus, ending: JobCondition | None
    ) -> None:
        """Count pods that ended, let go of them, and end the job once none is left."""
        account = draw_up(look, status, ending)
        status = account.status
        if ending is not None:
            status = replace(status, conditions=with_condition(status.conditions, ending))
        job = await self._write(stored, status)
        self._metrics.judged(account.actions)
        self._backoffs[Key.of(job)] = look.backoff
        outcome = await all_at_once(partial(self._untrack, job), account.released)
        tracked = {pod.metadata.uid for pod in look.pods if is_tracked(pod)}
        tracked -= {pod.metadata.uid for pod in outcome.done}
        status = count_released(job.status, tracked)
        final = None
        if outcome.failure is None:
            final = self._final(status, account, ending)
        if final is not None:
            ended = final.last_transition_time if final.type == JOB_CONDITION_COMPLETE else None
            conditions = with_condition(status.conditions, final)
            status = replace(status, conditions=conditions, completion_time=ended)
        job = await self._write(job, status)
        outcome.check()
        if final is not None:
            self._tell(job, final)

    async def _untrack(self, job: Job, pod: Pod) -> Pod:
        return await self._pods.remove_finalizer(pod, TRACKING_FINALIZER, owner=job)

    def _final(
        self, status: JobStatus, account: Account, ending: JobCondition | None
    ) -> JobCondition | None:
        """The condition that says that it is over, once nothing is left to be counted or to go."""
        uncounted = status.uncounted_terminated_pods or UncountedTerminatedPods()
        if ending is None or not account.is_complete or status.terminating:
            return None
        if uncounted.succeeded or uncounted.failed:
            return None
        return final_condition(ending, self._now())

    async def _write(self, job: Job, status: JobStatus) -> Job:
        if status == job.status:
            return job
        written = await self._client.update_status(replace(job, status=status))
        self._written.changed(Key.of(job), written)
        self._metrics.counted(job, job.status, status)
        return written

    def _tell(self, job: Job, final: JobCondition) -> None:
        events, wanted = self.context.events, job.spec.completions
        self._metrics.finished(job, final)
        if final.type != JOB_CONDITION_COMPLETE:
            events.record(job, EVENT_WARNING, final.reason, final.message)
            return
        if wanted is not None and job.status.succeeded > wanted:
            message = "Too many succeeded pods running after completion count reached"
            events.record(job, EVENT_WARNING, "TooManySucceededPods", message)
        events.record(job, EVENT_NORMAL, "Completed", "Job completed")

    def _now(self) -> datetime:
        return self.context.clock.now()


@dataclass(slots=True)
class _Step:
    """What becomes of the counts while pods are made and deleted."""

    active_count: int
    ready_count: int
    terminating_count: int
    wait_seconds: float | None = None
    failure: APIError | TransportError | None = None

    def wait(self, seconds: float | None) -> None:
        waits = [each for each in (self.wait_seconds, seconds) if each is not None]
        self.wait_seconds = min(waits, default=None)


def _is_ours(job: Job) -> bool:
    return job.spec.managed_by in (None, MANAGER)


def _why_made(look: Look) -> str:
    """Why pods are missing."""
    if replaces_failed_only(look.job) and look.failed_count:
        return "recreate_failed"
    if look.failed_count or look.terminating:
        return "recreate_terminating_or_failed"
    return "new"


def _started(job: Job, now: datetime) -> Job:
    if job.status.start_time is not None or job.spec.suspend:
        return job
    return replace(job, status=replace(job.status, start_time=Time(now)))
