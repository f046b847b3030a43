"""Every kind prepared for a write: the one place that knows who does it.

Between decoding and validating, a server takes from a body only what the client may decide and the
rest from the stored object. How is a matter of the kind: `strategy` for resource.k8s.io,
`pod_strategy`, `workload_strategy`, and `plain_strategy` for all others. Objects are at their hub
version; the time is an argument. Upstream counterpart: rest.RESTCreateStrategy and its siblings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from dray.api.apps import DaemonSet, Deployment, ReplicaSet
from dray.api.batch import Job
from dray.api.core import Pod
from dray.api.features import FeatureGates
from dray.api.meta import Object
from dray.api.plain_strategy import (
    prepare_plain_for_create,
    prepare_plain_for_status_update,
    prepare_plain_for_update,
)
from dray.api.pod_strategy import (
    prepare_pod_for_create,
    prepare_pod_for_status_update,
    prepare_pod_for_update,
)
from dray.api.resource import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
    ResourceSlice,
)
from dray.api.strategy import prepare_for_create, prepare_for_status_update, prepare_for_update
from dray.api.wire import Time
from dray.api.workload_strategy import (
    prepare_workload_for_create,
    prepare_workload_for_status_update,
    prepare_workload_for_update,
)

__all__ = ["prepare_create", "prepare_status_update", "prepare_update"]

O = TypeVar("O", bound=Object)  # noqa: E741


@dataclass(frozen=True, slots=True)
class _Family:
    """Three steps that all kinds of a family share; each takes more than some of them need."""

    create: Callable[[Any, FeatureGates, Time], Any]
    update: Callable[[Any, Any, FeatureGates, Time], Any]
    status_update: Callable[[Any, Any, FeatureGates], Any]


_DEVICES: Final = _Family(
    lambda new, gates, _now: prepare_for_create(new, gates=gates),
    lambda new, old, gates, now: prepare_for_update(new, old, gates=gates, now=now),
    lambda new, old, gates: prepare_for_status_update(new, old, gates=gates),
)
_PODS: Final = _Family(
    lambda new, gates, now: prepare_pod_for_create(new, gates=gates, now=now),
    lambda new, old, gates, _now: prepare_pod_for_update(new, old, gates=gates),
    lambda new, old, gates: prepare_pod_for_status_update(new, old, gates=gates),
)
_WORKLOADS: Final = _Family(
    lambda new, gates, _now: prepare_workload_for_create(new, gates=gates),
    lambda new, old, gates, _now: prepare_workload_for_update(new, old, gates=gates),
    lambda new, old, _gates: prepare_workload_for_status_update(new, old),
)
_PLAIN: Final = _Family(
    lambda new, _gates, _now: prepare_plain_for_create(new),
    lambda new, old, _gates, _now: prepare_plain_for_update(new, old),
    lambda new, old, _gates: prepare_plain_for_status_update(new, old),
)
_FAMILIES: Final[Mapping[type[Object], _Family]] = {
    DeviceClass: _DEVICES,
    DeviceTaintRule: _DEVICES,
    ResourceClaim: _DEVICES,
    ResourceClaimTemplate: _DEVICES,
    ResourcePoolStatusRequest: _DEVICES,
    ResourceSlice: _DEVICES,
    Pod: _PODS,
    Deployment: _WORKLOADS,
    ReplicaSet: _WORKLOADS,
    DaemonSet: _WORKLOADS,
    Job: _WORKLOADS,
}


def _family(obj: Object) -> _Family:
    return _FAMILIES.get(type(obj), _PLAIN)


def prepare_create(new: O, *, gates: FeatureGates, now: Time) -> O:
    """The object as it is to be created."""
    prepared: O = _family(new).create(new, gates, now)
    return prepared


def prepare_update(new: O, old: O, *, gates: FeatureGates, now: Time) -> O:
    """The object as it is to replace the stored one, whose status it keeps."""
    prepared: O = _family(new).update(new, old, gates, now)
    return prepared


def prepare_status_update(new: O, old: O, *, gates: FeatureGates) -> O:
    """The stored object with the new one's status."""
    prepared: O = _family(new).status_update(new, old, gates)
    return prepared
