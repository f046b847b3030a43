"""Empties a namespace that is being deleted, then lets go of it.

What takes time is looked at again after about half of it, and once the last pod is gone at once.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from dray.api.core import NAMESPACE_PHASE_TERMINATING, Namespace, Pod
from dray.api.wire import Time, replace
from dray.controllers.namespaces.conditions import deletion_conditions
from dray.controllers.namespaces.content import Content, Remains
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import NotFound

__all__ = ["NamespaceController"]

FINALIZER: Final = "kubernetes"


class NamespaceController(Reconciler):
    """Keys are names of namespaces."""

    name = "namespace-controller"
    workers = 10

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._content = Content(context.client, context.clock)
        self._pods_count: Counter[str] = Counter()
        self._namespaces = context.informers.of(Namespace)
        self._namespaces.listen(self._namespace_changed)
        context.informers.of(Pod).listen(self._pod_changed)

    async def reconcile(self, key: Key) -> Result:
        try:
            namespace = await self.context.client.get(Namespace, key.name)
        except NotFound:
            return DONE
        deleted_at = namespace.metadata.deletion_timestamp
        if deleted_at is None or FINALIZER not in namespace.spec.finalizers:
            return DONE
        remains = await self._content.delete(key.name, deleted_at.instant)
        current = await self._report(namespace, remains)
        if current is None:
            return DONE
        if remains.errors:
            raise remains.errors[0]
        if remains.estimate_seconds:
            return Result(remains.estimate_seconds // 2 + 1)
        await self._let_go(current)
        return DONE

    # Private -----------------------------------------------------------------------------------

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        del old
        if new is not None and new.metadata.deletion_timestamp is not None:
            self.queue.add(Key.of(new))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if (old is None) == (new is None):
            return
        if new is not None:
            self._pods_count[new.metadata.namespace] += 1
            return
        assert old is not None
        name = old.metadata.namespace
        self._pods_count[name] -= 1
        if self._pods_count[name] <= 0:
            del self._pods_count[name]
            namespace = self._namespaces.get(name)
            if namespace is not None and namespace.metadata.deletion_timestamp is not None:
                self.queue.add(Key.of(namespace))

    async def _report(self, namespace: Namespace, remains: Remains) -> Namespace | None:
        """The namespace, saying what remains of it; None if it is gone."""
        now = Time(self.context.clock.now())
        status = replace(
            namespace.status,
            phase=NAMESPACE_PHASE_TERMINATING,
            conditions=deletion_conditions(namespace.status.conditions, remains, now),
        )
        if status == namespace.status:
            return namespace
        try:
            return await self.context.client.update_status(replace(namespace, status=status))
        except NotFound:
            return None

    async def _let_go(self, namespace: Namespace) -> None:
        kept = tuple(name for name in namespace.spec.finalizers if name != FINALIZER)
        free = replace(namespace, spec=replace(namespace.spec, finalizers=kept))
        try:
            await self.context.client.update(free, subresource="finalize")
        except NotFound:
            return
