"""Keeps the history of daemon sets: makes revisions, adopts, renumbers and deletes them.

Everything done is expected to be seen before the daemon set is looked at again. Upstream
counterparts: snapshot, dedupCurHistories and cleanupHistory in update.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api.apps import LABEL_CONTROLLER_REVISION_HASH, ControllerRevision, DaemonSet
from dray.api.core import Pod
from dray.api.wire import replace
from dray.client import PatchType
from dray.controllers.daemon_sets.history import (
    History,
    hash_of,
    history_of,
    holds,
    is_going,
    make_revision,
    patch_of,
    surplus,
)
from dray.controllers.expectations import Expectations
from dray.controllers.ownership import Dependents, controller_of, is_controlled_by, selector_of
from dray.controllers.pod_control import EVENT_WARNING, PodControl, is_namespace_going
from dray.controllers.reconciler import Context, Key
from dray.errors import AlreadyExists, APIError, NotFound

__all__ = ["RevisionControl"]


class RevisionControl:
    """The revisions of daemon sets."""

    def __init__(
        self, context: Context, pods: PodControl, daemon_sets: Expectations[DaemonSet]
    ) -> None:
        self._client = context.client
        self._events = context.events
        self._pods = pods.expectations
        self._daemon_sets = daemon_sets
        self.view: Final = context.informers.of(ControllerRevision)
        self.expectations: Final = Expectations(self.view, context.clock)
        self._owned = Dependents(context.client, ControllerRevision, self.view, self.expectations)

    async def keep(self, daemon_set: DaemonSet, pods: Sequence[Pod]) -> History | None:
        """The history, with one revision that is current.

        None if something had to be put right: it is to be looked at again when that is seen.
        """
        claimed = await self._owned.claim(daemon_set, daemon_set.spec.selector)
        history = history_of(daemon_set, [await self._marked(daemon_set, one) for one in claimed])
        if not history.current:
            made = await self._make(daemon_set, history.number)
            return None if made is None else History([made], history.old)
        current, *others = history.current
        if await self._merge(daemon_set, current, others, pods):
            return None
        if current.revision < history.number:
            current = await self._update(daemon_set, replace(current, revision=history.number))
        return History([current], history.old)

    async def forget_old(
        self, daemon_set: DaemonSet, history: History, pods: Sequence[Pod]
    ) -> None:
        """Delete what is beyond the limit and of no pod."""
        for each in surplus(history, daemon_set.spec.revision_history_limit, pods):
            await self._delete(daemon_set, each)

    # Private -----------------------------------------------------------------------------------

    async def _marked(
        self, daemon_set: DaemonSet, revision: ControllerRevision
    ) -> ControllerRevision:
        """The revision with a hash; somebody else's that has none is known by its name."""
        if hash_of(revision):
            return revision
        metadata = revision.metadata
        labels = {**metadata.labels, LABEL_CONTROLLER_REVISION_HASH: metadata.name}
        marked = replace(revision, metadata=replace(metadata, labels=labels))
        return await self._update(daemon_set, marked)

    async def _make(self, daemon_set: DaemonSet, number: int) -> ControllerRevision | None:
        wanted = make_revision(daemon_set, number)
        made: ControllerRevision | None
        try:
            made = await self._client.create(wanted)
        except AlreadyExists:
            made = await self._existing(daemon_set, wanted)
        except APIError as error:
            if not is_namespace_going(error):
                # Upstream tells nobody, and the rollout does not begin: a quota may be used up.
                message = f'Error creating revision "{wanted.metadata.name}": {error}'
                self._events.record(daemon_set, EVENT_WARNING, "FailedCreate", message)
            raise
        if made is not None:
            self.expectations.created(Key.of(daemon_set), made)
        return made

    async def _existing(
        self, daemon_set: DaemonSet, wanted: ControllerRevision
    ) -> ControllerRevision | None:
        """The revision of the wanted name, if it is the wanted one; else another name is chosen."""
        name, namespace = wanted.metadata.name, wanted.metadata.namespace
        found = await self._client.get(ControllerRevision, name, namespace=namespace)
        if holds(found, patch_of(daemon_set)):
            if is_controlled_by(found, daemon_set):
                return found
            selector = selector_of(daemon_set.spec.selector)
            orphaned = controller_of(found) is None and not is_going(found)
            if orphaned and selector.matches(found.metadata.labels):
                return None  # it is adopted as soon as it is seen
        count = (daemon_set.status.collision_count or 0) + 1
        status = replace(daemon_set.status, collision_count=count)
        written = await self._client.update_status(replace(daemon_set, status=status))
        self._daemon_sets.changed(Key.of(daemon_set), written)
        return None

    async def _merge(
        self,
        daemon_set: DaemonSet,
        current: ControllerRevision,
        others: Sequence[ControllerRevision],
        pods: Sequence[Pod],
    ) -> bool:
        """Have one revision in the place of several that are equal; whether there was any need.

        Upstream gives its hash to all pods. Those of former templates would count as new then, and
        stay; test_of_equal_revisions_one_stays_and_takes_over_the_pods_of_the_others says they do
        not.
        """
        mark = hash_of(current)
        given_up = {hash_of(each) for each in others} - {mark}
        relabelled = [
            pod
            for pod in pods
            if pod.metadata.labels.get(LABEL_CONTROLLER_REVISION_HASH) in given_up
        ]
        patch = {"metadata": {"labels": {LABEL_CONTROLLER_REVISION_HASH: mark}}}
        for pod in relabelled:
            metadata = pod.metadata
            try:
                changed = await self._client.patch(
                    Pod,
                    metadata.name,
                    patch,
                    namespace=metadata.namespace,
                    type=PatchType.STRATEGIC,
                )
            except NotFound:
                continue
            self._pods.changed(Key.of(daemon_set), changed)
        deleted = [each for each in others if not is_going(each)]
        for each in deleted:
            await self._delete(daemon_set, each)
        return bool(relabelled or deleted)

    async def _update(
        self, daemon_set: DaemonSet, revision: ControllerRevision
    ) -> ControllerRevision:
        written = await self._client.update(revision)
        self.expectations.changed(Key.of(daemon_set), written)
        return written

    async def _delete(self, daemon_set: DaemonSet, revision: ControllerRevision) -> None:
        metadata = revision.metadata
        try:
            await self._client.delete(
                ControllerRevision, metadata.name, namespace=metadata.namespace, uid=metadata.uid
            )
        except NotFound:
            return
        self.expectations.deleted(Key.of(daemon_set), revision)
