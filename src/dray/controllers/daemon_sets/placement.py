"""On which nodes pods of a daemon set belong, and which node a pod is for.

Pods are bound by the scheduler like any other; each asks for one node by name, which is also how
this controller knows it before it is bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from dray.api.apps import LABEL_CONTROLLER_REVISION_HASH, DaemonSet
from dray.api.core import (
    NODE_SELECTOR_OPERATOR_IN,
    TAINT_EFFECT_NO_EXECUTE,
    TAINT_EFFECT_NO_SCHEDULE,
    TOLERATION_OPERATOR_EXISTS,
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Taint,
    Toleration,
)
from dray.api.node_matching import node_matches
from dray.api.node_taints import (
    TAINT_DISK_PRESSURE,
    TAINT_MEMORY_PRESSURE,
    TAINT_NETWORK_UNAVAILABLE,
    TAINT_NOT_READY,
    TAINT_PID_PRESSURE,
    TAINT_UNREACHABLE,
    TAINT_UNSCHEDULABLE,
    tolerates,
)
from dray.api.wire import replace
from dray.errors import AllocationError

__all__ = ["LABEL_TEMPLATE_GENERATION", "NOWHERE", "Fit", "Placement", "target_node"]

# Of old clients, which count templates instead of comparing them.
LABEL_TEMPLATE_GENERATION: Final = "pod-template-generation"
_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"

_NAME_FIELD: Final = "metadata.name"

_DEFAULT_TOLERATIONS: Final = (
    (TAINT_NOT_READY, TAINT_EFFECT_NO_EXECUTE),
    (TAINT_UNREACHABLE, TAINT_EFFECT_NO_EXECUTE),
    (TAINT_DISK_PRESSURE, TAINT_EFFECT_NO_SCHEDULE),
    (TAINT_MEMORY_PRESSURE, TAINT_EFFECT_NO_SCHEDULE),
    (TAINT_PID_PRESSURE, TAINT_EFFECT_NO_SCHEDULE),
    (TAINT_UNSCHEDULABLE, TAINT_EFFECT_NO_SCHEDULE),
)


class Fit(NamedTuple):
    """Whether a pod belongs on a node, and whether one that is there may stay."""

    wanted: bool
    tolerated: bool


NOWHERE: Final = Fit(wanted=False, tolerated=False)
"""Of nodes that are not there, or where nothing of a daemon set belongs."""


class Placement:
    """Where pods of one daemon set belong, and what they are made of."""

    def __init__(self, daemon_set: DaemonSet) -> None:
        template = daemon_set.spec.template
        self._template = template
        self._node_selector = template.spec.node_selector.items()
        self._required = _required(template.spec)
        self._tolerations = _tolerations(template.spec)
        self._generation = daemon_set.metadata.annotations.get(_TEMPLATE_GENERATION, "")

    def fit(self, node: Node) -> Fit:
        """Whether a pod belongs on the node."""
        if self._template.spec.node_name not in ("", node.metadata.name):
            return NOWHERE
        if not self._matches(node):
            return NOWHERE
        wanted = tolerated = True
        for taint in node.spec.taints:
            if taint.effect == TAINT_EFFECT_NO_SCHEDULE:
                wanted = wanted and self._withstands(taint)
            elif taint.effect == TAINT_EFFECT_NO_EXECUTE and not self._withstands(taint):
                wanted = tolerated = False
        return Fit(wanted, tolerated)

    def is_current(self, pod: Pod, mark: str) -> bool:
        """Whether a pod is of the template of now, whose revision has this hash."""
        labels = pod.metadata.labels
        if labels.get(LABEL_CONTROLLER_REVISION_HASH) == mark:
            return True
        generation = labels.get(LABEL_TEMPLATE_GENERATION)
        return bool(self._generation) and generation == self._generation

    def template_for(self, node_name: str, mark: str) -> PodTemplateSpec:
        """What the pod for a node is made of, marked with the hash of its revision."""
        metadata, spec = self._template.metadata, self._template.spec
        labels = {**metadata.labels, LABEL_CONTROLLER_REVISION_HASH: mark}
        if self._generation:
            labels[LABEL_TEMPLATE_GENERATION] = self._generation
        return replace(
            self._template,
            metadata=replace(metadata, labels=labels),
            spec=replace(
                spec, tolerations=self._tolerations, affinity=_pinned(spec.affinity, node_name)
            ),
        )

    # Private -----------------------------------------------------------------------------------

    def _matches(self, node: Node) -> bool:
        if not self._node_selector <= node.metadata.labels.items():
            return False
        if self._required is None:
            return True
        try:
            return node_matches(node, None, None, self._required)
        except AllocationError:
            return False

    def _withstands(self, taint: Taint) -> bool:
        return any(tolerates(each, taint) for each in self._tolerations)


def target_node(pod: Pod) -> str:
    """The node that a pod is on, or is for; empty if it does not say."""
    if pod.spec.node_name:
        return pod.spec.node_name
    required = _required(pod.spec)
    for term in (required.node_selector_terms if required else None) or ():
        for field in term.match_fields:
            if (field.key, field.operator) == (_NAME_FIELD, NODE_SELECTOR_OPERATOR_IN):
                return field.values[0] if len(field.values) == 1 else ""
    return ""


def _required(spec: PodSpec) -> NodeSelector | None:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is None:
        return None
    return affinity.required_during_scheduling_ignored_during_execution


def _tolerations(spec: PodSpec) -> tuple[Toleration, ...]:
    """The template's, and those of troubles that a node's daemons are there to sit out."""
    defaults = list(_DEFAULT_TOLERATIONS)
    if spec.host_network:
        defaults.append((TAINT_NETWORK_UNAVAILABLE, TAINT_EFFECT_NO_SCHEDULE))
    wanted = [
        Toleration(key=key, operator=TOLERATION_OPERATOR_EXISTS, effect=effect)
        for key, effect in defaults
    ]
    return _with_tolerations(spec.tolerations, wanted)


def _with_tolerations(
    known: Sequence[Toleration], wanted: Sequence[Toleration]
) -> tuple[Toleration, ...]:
    """With each that is wanted, in the place of one that is about the same taint."""
    found = list(known)
    for each in wanted:
        identity = (each.key, each.effect, each.operator, each.value)
        for index, other in enumerate(found):
            if (other.key, other.effect, other.operator, other.value) == identity:
                found[index] = each
                break
        else:
            found.append(each)
    return tuple(found)


def _pinned(affinity: Affinity | None, node_name: str) -> Affinity:
    """The affinity to one node, in the place of what the node has been found to meet."""
    field = NodeSelectorRequirement(
        key=_NAME_FIELD, operator=NODE_SELECTOR_OPERATOR_IN, values=(node_name,)
    )
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(field,)),))
    affinity = affinity or Affinity()
    node_affinity = replace(
        affinity.node_affinity or NodeAffinity(),
        required_during_scheduling_ignored_during_execution=selector,
    )
    return replace(affinity, node_affinity=node_affinity)
