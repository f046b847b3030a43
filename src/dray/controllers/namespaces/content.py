"""What is in a namespace, of all kinds, and how it is deleted.

Pods go first: what they use, and what keeps others from reaching them, stays until they are gone.
Upstream counterpart: the namespaced resources deleter of pkg/controller/namespace/deletion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from dray.api import events
from dray.api.apiextensions import CustomResourceDefinition
from dray.api.core import POD_PHASE_FAILED, POD_PHASE_SUCCEEDED, Pod
from dray.api.meta import Object
from dray.api.scheme import kinds
from dray.client import Client
from dray.clock import Clock
from dray.controllers.custom_kinds import defined_kind
from dray.errors import APIError, NotFound, TransportError

__all__ = ["Content", "Remains"]

# Upstream's guess at how long whoever holds a finalizer takes.
FINALIZER_SECONDS: Final = 15

_ENDED: Final = frozenset({POD_PHASE_SUCCEEDED, POD_PHASE_FAILED})


@dataclass(slots=True)
class Remains:
    """What is left of a namespace, and what went wrong."""

    counts: Counter[str] = field(default_factory=Counter)  # by resource, as pods. or leases.group
    finalizers: Counter[str] = field(default_factory=Counter)
    estimate_seconds: int = 0  # until it is worth looking again
    discovery_error: str = ""
    errors: list[APIError | TransportError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Resource:
    group: str
    version: str
    plural: str
    type: type[Object]

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Resource={self.plural}"


# Events are one resource under two names.
_BUILT_IN: Final = tuple(
    _Resource(kind.group, kind.hub.name, kind.plural, kind.hub.type)
    for kind in kinds()
    if kind.namespaced and kind.hub.type is not events.Event
)


class Content:
    """Deletes what is in a namespace, as far as it can be."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def delete(self, namespace: str, deleted_at: datetime) -> Remains:
        """Delete everything, or pods first if there are any; returns what remains."""
        remains = Remains()
        resources = [*_BUILT_IN, *await self._custom(remains)]
        pods = [resource for resource in resources if resource.type is Pod]
        others = [resource for resource in resources if resource.type is not Pod]
        for resource in pods:
            await self._delete(resource, namespace, deleted_at, remains)
        if not remains.counts:
            for resource in others:
                await self._delete(resource, namespace, deleted_at, remains)
        return remains

    async def _custom(self, remains: Remains) -> list[_Resource]:
        """Resources that users define: asked for, as a view could lack the newest."""
        try:
            definitions = (await self._client.list(CustomResourceDefinition)).items
        except (APIError, TransportError) as error:
            remains.discovery_error = str(error)
            remains.errors.append(error)
            return []
        found = (defined_kind(definition) for definition in definitions)
        return [
            _Resource(
                kind.group,
                kind.versions[0],
                kind.resource.removesuffix(f".{kind.group}"),
                kind.type,
            )
            for kind in found
            if kind is not None and kind.namespaced
        ]

    async def _delete(
        self, resource: _Resource, namespace: str, deleted_at: datetime, remains: Remains
    ) -> None:
        try:
            await self._delete_kind(resource, namespace, deleted_at, remains)
        except NotFound:
            pass  # it is not served
        except (APIError, TransportError) as error:
            remains.errors.append(error)

    async def _delete_kind(
        self, resource: _Resource, namespace: str, deleted_at: datetime, remains: Remains
    ) -> None:
        """Delete the objects of one kind. Raises what the server answers."""
        client = self._client
        found = (await client.list(resource.type, namespace=namespace)).items
        if not found:
            return
        waited = (self._clock.now() - deleted_at).total_seconds()
        estimate = _grace_seconds(found)
        if waited >= estimate:
            estimate = 0
        # The garbage collector is not to orphan anything in here: everything goes.
        await client.delete_collection(
            resource.type, namespace=namespace, propagation_policy="Background"
        )
        left = (await client.list(resource.type, namespace=namespace)).items
        if not left:
            return
        held = Counter(name for obj in left for name in obj.metadata.finalizers)
        remains.counts[f"{resource.plural}.{resource.group}"] += len(left)
        remains.finalizers.update(held)
        if not estimate and held:
            estimate = FINALIZER_SECONDS
        remains.estimate_seconds = max(remains.estimate_seconds, estimate)
        if not estimate:
            told = f"unexpected items still remain in namespace: {namespace} for gvr: {resource}"
            remains.errors.append(APIError(told))


def _grace_seconds(objects: Sequence[Object]) -> int:
    """How long the pods among them may take to end."""
    return max(
        (
            pod.spec.termination_grace_period_seconds or 0
            for pod in objects
            if isinstance(pod, Pod) and pod.status.phase not in _ENDED
        ),
        default=0,
    )
