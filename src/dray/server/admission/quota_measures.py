"""How objects of one resource are held against quotas: what counts, for which names, and when.

Pods and claims are measured, everything else is counted. Services and volume claims would be
measured upstream, too, but are not served. Upstream counterpart: the evaluators of pkg/quota/v1 and
apiserver's pkg/quota/v1/generic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final, Protocol

from dray.api.core import RESOURCE_CPU, RESOURCE_MEMORY, Pod, PodSpec, ResourceQuota
from dray.api.pod_resources import is_pod_level_resource
from dray.api.quantity import Quantity
from dray.api.quota_rules import (
    COUNT_ALIASES,
    ClassNames,
    claim_payer,
    extended_resource_pod,
    pod_bounds,
)
from dray.api.quota_scopes import has_scopes, in_scope, is_terminating
from dray.api.quota_usage import (
    LIMITS_PREFIX,
    REQUESTS_PREFIX,
    Amounts,
    claim_usage,
    container_usage,
    count_name,
    pod_usage,
)
from dray.api.resource import DeviceClass, ResourceClaim
from dray.clock import Clock
from dray.server.admission.request import AdmissionRequest, Operation
from dray.server.state import State

__all__ = ["ClaimMeasure", "CountMeasure", "Measure", "PodMeasure"]

_ONE: Final = Quantity.from_int(1)


class Measure(Protocol):
    """What quotas need to know about one resource."""

    def handles(self, request: AdmissionRequest) -> bool:
        """Whether a request can change what is used."""
        ...

    def names(self, hard: Iterable[str]) -> list[str]:
        """Those bounds of a quota that this resource falls under."""
        ...

    def covers(self, quota: ResourceQuota, obj: Any) -> bool:
        """Whether the quota's scopes include the object."""
        ...

    def unspecified(self, names: Collection[str], obj: Any) -> str:
        """What an object fails to say although a quota bounds it; empty if nothing."""
        ...

    def usage(self, obj: Any, namespace: str) -> dict[str, Quantity]:
        """What an object uses."""
        ...


class CountMeasure:
    """Objects that count as one each."""

    def __init__(self, group: str, plural: str) -> None:
        name = count_name(group, plural)
        self._names = (name, plural) if not group and plural in COUNT_ALIASES else (name,)
        self._usage = dict.fromkeys(self._names, _ONE)

    def handles(self, request: AdmissionRequest) -> bool:
        return request.operation is Operation.CREATE and not request.subresource

    def names(self, hard: Iterable[str]) -> list[str]:
        return [name for name in hard if name in self._names]

    def covers(self, quota: ResourceQuota, obj: Any) -> bool:
        del obj
        return not has_scopes(quota)

    def unspecified(self, names: Collection[str], obj: Any) -> str:
        del names, obj
        return ""

    def usage(self, obj: Any, namespace: str) -> dict[str, Quantity]:
        del obj, namespace
        return self._usage


# Pods ------------------------------------------------------------------------------------------

# Where a quota bounds these, every container has to ask for them. Upstream calls that a mistake
# and keeps it to these.
_REQUIRED: Final = frozenset(
    f"{prefix}{name}"
    for prefix in ("", REQUESTS_PREFIX, LIMITS_PREFIX)
    for name in (RESOURCE_CPU, RESOURCE_MEMORY)
)


class PodMeasure:
    """Pods: what their containers ask for, as long as they run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def handles(self, request: AdmissionRequest) -> bool:
        if request.subresource:
            return request.subresource == "resize" and request.operation is Operation.UPDATE
        if request.operation is Operation.UPDATE:
            return is_terminating(request.old) != is_terminating(request.object)
        return request.operation is Operation.CREATE

    def names(self, hard: Iterable[str]) -> list[str]:
        return pod_bounds(hard)

    def covers(self, quota: ResourceQuota, obj: Pod) -> bool:
        return in_scope(quota, obj)

    def unspecified(self, names: Collection[str], obj: Pod) -> str:
        required = _REQUIRED.intersection(names)
        if not required or _asks_as_a_whole(obj.spec):
            return ""
        missing: dict[str, set[str]] = {}
        for container in (*(obj.spec.containers or ()), *obj.spec.init_containers):
            said = container_usage(container.resources.requests, container.resources.limits)
            for name in required - said.keys():
                missing.setdefault(name, set()).add(container.name)
        if not missing:
            return ""
        parts = (f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
        return f"must specify {'; '.join(parts)}"

    def usage(self, obj: Pod, namespace: str) -> dict[str, Quantity]:
        del namespace
        return pod_usage(obj, self._clock.now())


def _asks_as_a_whole(spec: PodSpec) -> bool:
    resources = spec.resources
    return resources is not None and any(
        is_pod_level_resource(name) for name in (*resources.requests, *resources.limits)
    )


# Claims ----------------------------------------------------------------------------------------


class ClaimMeasure:
    """Resource claims: the devices they could get at worst."""

    def __init__(self, state: State, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._revision = -1
        self._classes = ClassNames.of(())

    def handles(self, request: AdmissionRequest) -> bool:
        writes = (Operation.CREATE, Operation.UPDATE)
        return not request.subresource and request.operation in writes

    def names(self, hard: Iterable[str]) -> list[str]:
        self._refresh()
        return self._classes.claim_bounds(hard)

    def covers(self, quota: ResourceQuota, obj: Any) -> bool:
        del obj
        return not has_scopes(quota)

    def unspecified(self, names: Collection[str], obj: Any) -> str:
        del names, obj
        return ""

    def usage(self, obj: ResourceClaim, namespace: str) -> dict[str, Quantity]:
        self._refresh()
        return claim_usage(obj, self._classes.extended_resources, self._paid(obj, namespace))

    def _refresh(self) -> None:
        revision = self._state.revision(DeviceClass)
        if revision != self._revision:
            self._classes = ClassNames.of(self._state.list(DeviceClass))
            self._revision = revision

    def _paid(self, claim: ResourceClaim, namespace: str) -> Amounts:
        """What the pod uses whose extended resources the claim stands for, if that is sure."""
        owner = extended_resource_pod(claim)
        if owner is None:
            return {}
        pod = self._state.get(Pod, owner[0], namespace)
        payer = claim_payer(claim, pod, lambda: self._state.list(ResourceClaim, namespace))
        return pod_usage(payer, self._clock.now()) if payer is not None else {}
