"""Takes the tracking finalizer off pods that no job will count: theirs is over, or gone.

Without, such pods could never be deleted. Upstream's: the orphan queue of the job controller.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from dray.api.batch import Job
from dray.api.core import Pod
from dray.client import WorkQueue
from dray.controllers.jobs.conditions import finished_condition
from dray.controllers.jobs.pods import TRACKING_FINALIZER, is_tracked
from dray.controllers.ownership import controller_of
from dray.controllers.pod_control import PodControl
from dray.controllers.reconciler import Context, Key
from dray.errors import APIError, TransportError

__all__ = ["OrphanedPods"]

_log = logging.getLogger(__name__)

_JOBS: Final = ("batch/v1", "Job")


class OrphanedPods:
    """Pods that may have been left behind, each looked at once more before anything is done."""

    def __init__(
        self,
        context: Context,
        pods: PodControl,
        *,
        job_of: Callable[[Pod], Job | None],
        is_ours: Callable[[Job], bool],
    ) -> None:
        """`job_of` is the job that controls a pod and still exists; `is_ours` if we run it."""
        self._pods = pods
        self._job_of = job_of
        self._is_ours = is_ours
        self._queue: WorkQueue[Key] = WorkQueue(context.clock)
        pods.view.listen(self._hear)

    def add_all(self, job: Job) -> None:
        """A job is over, or gone: so its pods may be orphaned."""
        for pod in self._pods.dependents.of(job):
            if is_tracked(pod):
                self._queue.add(Key.of(pod))

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            key = await self._queue.get()
            try:
                await self._release(key)
            except (APIError, TransportError) as error:
                _log.info("pod %s is tried again: %s", key, error)
                self._queue.retry(key)
            else:
                self._queue.forget(key)
            finally:
                self._queue.done(key)

    # Private -----------------------------------------------------------------------------------

    def _hear(self, _old: Pod | None, new: Pod | None) -> None:
        if new is None or not is_tracked(new):
            return
        # What a job owns that is not known yet may just be ahead of it, and is left alone until
        # somebody wants it gone.
        unwanted = controller_of(new) is None or new.metadata.deletion_timestamp is not None
        if unwanted and self._is_orphaned(new):
            self._queue.add(Key.of(new))

    def _is_orphaned(self, pod: Pod) -> bool:
        reference = controller_of(pod)
        if reference is None:
            return True
        if (reference.api_version, reference.kind) != _JOBS:
            return False
        job = self._job_of(pod)
        return job is None or (self._is_ours(job) and finished_condition(job) is not None)

    async def _release(self, key: Key) -> None:
        pod = self._pods.view.get(key.name, key.namespace)
        if pod is not None and is_tracked(pod) and self._is_orphaned(pod):
            await self._pods.remove_finalizer(pod, TRACKING_FINALIZER)
