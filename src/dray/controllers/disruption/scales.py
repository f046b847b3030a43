"""How many pods there should be, by what those want who control them.

Deployments and replica sets are in views; kinds that users define say it where their definition
says that they do. Whatever cannot be scaled cannot be counted. Upstream counterpart: the finders of
the disruption controller.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from dray.api.apiextensions import CustomResourceDefinition
from dray.api.apps import Deployment, ReplicaSet
from dray.api.codec import encode
from dray.api.core import Pod
from dray.api.meta import OwnerReference
from dray.api.scheme import KINDS
from dray.controllers.custom_kinds import CustomKind, defined_kind
from dray.controllers.ownership import controller_of
from dray.controllers.reconciler import Context
from dray.errors import NotFound, quote

__all__ = ["Expected", "Scales"]


@dataclass(frozen=True, slots=True)
class Expected:
    """How many pods there should be, and why that cannot be said, if so."""

    count: int = 0
    unmanaged: tuple[str, ...] = ()  # names of pods that nobody controls
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Scale:
    uid: str = ""
    count: int = 0
    problem: str = ""


class Scales:
    """Asks controllers of pods how many pods they want."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._replica_sets = context.informers.of(ReplicaSet)
        self._deployments = context.informers.of(Deployment)
        self._definitions = context.informers.of(CustomResourceDefinition)

    async def expected(self, pods: Iterable[Pod]) -> Expected:
        """How many pods all controllers of these want, each counted once."""
        scales: dict[str, int] = {}  # by the UID of who wants so many
        seen: set[str] = set()
        unmanaged: list[str] = []
        for pod in pods:
            reference = controller_of(pod)
            if reference is None:
                unmanaged.append(pod.metadata.name)
                continue
            if reference.uid in seen:
                continue
            seen.add(reference.uid)
            scale = await self._scale(reference, pod.metadata.namespace)
            if scale.problem:
                return Expected(problem=scale.problem)
            if not scale.uid:
                told = f"found no controllers for pod {quote(pod.metadata.name)}"
                return Expected(problem=told)
            scales[scale.uid] = scale.count
        return Expected(sum(scales.values()), tuple(unmanaged))

    async def _scale(self, reference: OwnerReference, namespace: str) -> _Scale:
        group = reference.api_version.rpartition("/")[0]
        if (group, reference.kind) == ("apps", "ReplicaSet"):
            return self._replica_set(reference, namespace)
        kind = KINDS.get((group, reference.kind))
        if kind is not None:
            name = f"{kind.plural}.{group}" if group else kind.plural
            return _Scale(problem=f"{name} does not implement the scale subresource")
        for definition in self._definitions.values():
            custom = defined_kind(definition)
            if custom is not None and (custom.group, custom.name) == (group, reference.kind):
                return await self._custom(definition, custom, reference, namespace)
        told = f"no matches for kind {quote(reference.kind)} in version "
        return _Scale(problem=f"{told}{quote(reference.api_version)}")

    def _replica_set(self, reference: OwnerReference, namespace: str) -> _Scale:
        """What the replica set wants, or the deployment behind it."""
        found = self._replica_sets.get(reference.name, namespace)
        if found is None or found.metadata.uid != reference.uid:
            return _Scale()
        owner = controller_of(found)
        if owner is None or owner.kind != "Deployment":
            return _Scale(found.metadata.uid, _replicas(found.spec.replicas))
        deployment = self._deployments.get(owner.name, namespace)
        if deployment is None or deployment.metadata.uid != owner.uid:
            return _Scale()
        return _Scale(deployment.metadata.uid, _replicas(deployment.spec.replicas))

    async def _custom(
        self,
        definition: CustomResourceDefinition,
        kind: CustomKind,
        reference: OwnerReference,
        namespace: str,
    ) -> _Scale:
        versions = definition.spec.versions or ()
        subresources = next(each for each in versions if each.name == kind.versions[0]).subresources
        if subresources is None or subresources.scale is None:
            problem = f"{kind.resource} does not implement the scale subresource"
            return _Scale(problem=problem)
        try:
            found = await self._client.get(kind.type, reference.name, namespace=namespace)
        except NotFound:
            return _Scale()
        if found.metadata.uid != reference.uid:
            return _Scale()
        value: Any = msgspec.json.decode(encode(found))
        for part in subresources.scale.spec_replicas_path.removeprefix(".").split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return _Scale(found.metadata.uid, value if isinstance(value, int) else 0)


def _replicas(count: int | None) -> int:
    return 1 if count is None else count
