"""Priority: a pod's rank is that of its priority class, and there is one default class at most.

The number and the preemption policy in a pod are copies: a client may repeat them, not choose
them. Whether a class itself is well-formed is for dray.validation. Upstream counterpart:
plugin/pkg/admission/priority; its pod groups are not served here.
"""

from __future__ import annotations

from typing import Any, Final

from dray.api.core import PREEMPT_LOWER_PRIORITY, Pod, PodSpec
from dray.api.meta import ObjectMeta
from dray.api.scheduling import SYSTEM_CLUSTER_CRITICAL, SYSTEM_NODE_CRITICAL, PriorityClass
from dray.api.shared import deriving
from dray.api.wire import replace
from dray.server.admission.refusals import forbidden
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.resources import Resource
from dray.server.state import State

__all__ = ["SYSTEM_CRITICAL_PRIORITY", "Priority", "default_objects"]

# Twice what users may define at most.
SYSTEM_CRITICAL_PRIORITY: Final = 2_000_000_000

_SCHEDULING: Final = "scheduling.k8s.io"

# What a pod gets while there is no class at all.
_NO_CLASS: Final = PriorityClass(preemption_policy=PREEMPT_LOWER_PRIORITY)


def default_objects() -> tuple[PriorityClass, ...]:
    """The classes every cluster has; the server creates them when it starts."""
    return (
        PriorityClass(
            metadata=ObjectMeta(name=SYSTEM_NODE_CRITICAL),
            value=SYSTEM_CRITICAL_PRIORITY + 1000,
            description=(
                "Used for system critical pods that must not be moved from their current node."
            ),
            preemption_policy=PREEMPT_LOWER_PRIORITY,
        ),
        PriorityClass(
            metadata=ObjectMeta(name=SYSTEM_CLUSTER_CRITICAL),
            value=SYSTEM_CRITICAL_PRIORITY,
            description=(
                "Used for system critical pods that must run in the cluster, but can be moved to "
                "another node if necessary."
            ),
            preemption_policy=PREEMPT_LOWER_PRIORITY,
        ),
    )


class Priority(Plugin):
    """Fills in the rank of pods and watches over the default class."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._revision = -1
        self._default: PriorityClass | None = None

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        return (
            not subresource
            and operation in (Operation.CREATE, Operation.UPDATE)
            and (resource.group, resource.plural)
            in (("", "pods"), (_SCHEDULING, "priorityclasses"))
        )

    def admit(self, request: AdmissionRequest) -> Any:
        if request.resource.group:
            return request.object
        if request.operation is Operation.UPDATE:
            return _keep(request.object, request.old)
        return self._fill_in(request)

    def validate(self, request: AdmissionRequest) -> None:
        if not request.resource.group:
            return
        priority_class: PriorityClass = request.object
        if not priority_class.global_default:
            return
        default = self._default_class()
        if default is None:
            return
        name = default.metadata.name
        if request.operation is Operation.CREATE or name != priority_class.metadata.name:
            raise forbidden(
                request,
                f"PriorityClass {name} is already marked as default. Only one default can exist",
            )

    def _fill_in(self, request: AdmissionRequest) -> Pod:
        pod: Pod = request.object
        spec = pod.spec
        name = spec.priority_class_name
        if name:
            found = self._state.get(PriorityClass, name)
            if found is None:
                raise forbidden(request, f"no PriorityClass with name {name} was found")
        else:
            found = self._default_class() or _NO_CLASS
        if spec.priority is not None and spec.priority != found.value:
            raise forbidden(
                request,
                f"the integer value of priority ({spec.priority}) must not be provided in pod "
                f"spec; priority admission controller computed {found.value} from the given "
                "PriorityClass name",
            )
        policy = found.preemption_policy
        if policy is None:
            policy = spec.preemption_policy
        elif spec.preemption_policy not in (None, policy):
            raise forbidden(
                request,
                f"the string value of PreemptionPolicy ({spec.preemption_policy}) must not be "
                f"provided in pod spec; priority admission controller computed {policy} from the "
                "given PriorityClass name",
            )
        return replace(pod, spec=_ranked(spec, found.metadata.name, found.value, policy))

    def _default_class(self) -> PriorityClass | None:
        revision = self._state.revision(PriorityClass)
        if revision != self._revision:
            defaults = (found for found in self._state.list(PriorityClass) if found.global_default)
            # Two may have been made at the same moment: the lower one then counts.
            self._default = min(defaults, key=lambda found: found.value, default=None)
            self._revision = revision
        return self._default


@deriving
def _ranked(spec: PodSpec, name: str, value: int, policy: str | None) -> PodSpec:
    return replace(spec, priority_class_name=name, priority=value, preemption_policy=policy)


def _keep(pod: Pod, old: Pod) -> Pod:
    """A client that does not know the fields admission filled in does not remove them."""
    spec, kept = pod.spec, old.spec
    changes: dict[str, Any] = {}
    if spec.priority is None and kept.priority is not None:
        changes["priority"] = kept.priority
    if spec.preemption_policy is None and kept.preemption_policy is not None:
        changes["preemption_policy"] = kept.preemption_policy
    return replace(pod, spec=replace(spec, **changes)) if changes else pod
