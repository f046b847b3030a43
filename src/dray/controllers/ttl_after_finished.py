"""Deletes jobs a while after they have ended. Upstream's: pkg/controller/ttlafterfinished."""

from __future__ import annotations

from datetime import timedelta

from dray.api.batch import Job
from dray.controllers.jobs.conditions import finished_condition
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import NotFound

__all__ = ["TTLAfterFinishedController"]


class TTLAfterFinishedController(Reconciler):
    """Jobs that say how long they are to be kept."""

    name = "ttl-after-finished-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._jobs = context.informers.of(Job)
        self._jobs.listen(self._hear)

    async def reconcile(self, key: Key) -> Result:
        job = self._jobs.get(key.name, key.namespace)
        if job is None:
            return DONE
        left = self._seconds_left(job)
        if left is None or left > 0:
            return Result(left)
        # It may be kept longer since; what is deleted is gone for good.
        try:
            job = await self.context.client.get(Job, key.name, namespace=key.namespace)
        except NotFound:
            return DONE
        left = self._seconds_left(job)
        if left is None or left > 0:
            return Result(left)
        await self.context.client.delete(
            Job,
            key.name,
            namespace=key.namespace,
            uid=job.metadata.uid,
            resource_version=job.metadata.resource_version,
            propagation_policy="Foreground",
        )
        return DONE

    # Private -----------------------------------------------------------------------------------

    def _hear(self, _old: Job | None, new: Job | None) -> None:
        if new is not None and new.spec.ttl_seconds_after_finished is not None:
            self.queue.add(Key.of(new))

    def _seconds_left(self, job: Job) -> float | None:
        """Until it is to be deleted; None if it is not to be, or is being."""
        finished, ttl = finished_condition(job), job.spec.ttl_seconds_after_finished
        if finished is None or ttl is None or job.metadata.deletion_timestamp is not None:
            return None
        if finished.last_transition_time is None:
            return None
        expires = finished.last_transition_time.instant + timedelta(seconds=ttl)
        return max(0.0, (expires - self.context.clock.now()).total_seconds())
