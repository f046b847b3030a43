"""What would let a pod go to a node that is ruled out for other reasons than its devices.

Each change is made on copies of pod and node, and the scheduler's filters are asked again until
nothing is left that speaks against the node. What cannot be changed that way, such as a claim that
is allocated elsewhere, has no answer here.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dray.api.codec import to_builtins
from dray.api.core import (
    TOLERATION_OPERATOR_EQUAL,
    TOLERATION_OPERATOR_EXISTS,
    Node,
    Pod,
    Taint,
    Toleration,
)
from dray.api.node_taints import TAINT_UNSCHEDULABLE
from dray.api.wire import replace
from dray.cli.explain_answer import NodeChange, NodeChangeKind, Step
from dray.cli.snapshot import Against, ExtendedResources, PodPlacement, Snapshot, Subject
from dray.errors import shorten

__all__ = ["CHANGEABLE", "Opening", "opening"]

CHANGEABLE: Final = frozenset(
    {Against.UNSCHEDULABLE, Against.TAINT, Against.NODE_SELECTOR, Against.NODE_AFFINITY}
)
"""What speaks against a node and can be changed without regard to devices."""

_OF_CONDITIONS: Final = "node.kubernetes.io/"
_REQUIRED: Final = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"


class Opening(NamedTuple):
    """Changes that let a pod go to a node, and how to make them."""

    changes: tuple[NodeChange, ...]
    steps: tuple[Step, ...]


class _State(NamedTuple):
    pod: Pod
    node: Node
    title: str  # of the pod: `Pod ml/train`

    @property
    def placement(self) -> PodPlacement:
        return PodPlacement(self.pod)


class _Change(NamedTuple):
    after: _State
    change: NodeChange
    steps: tuple[Step, ...]


def opening(snapshot: Snapshot, subject: Subject, name: str) -> Opening | None:
    """What would have to change so that the node may run the pod; None if that is not to be had."""
    if subject.pod is None or snapshot.nodes_made_up:
        return None
    state = _State(subject.pod, snapshot.nodes[name], f"Pod {subject.name}")
    made: list[_Change] = []
    # Each filter is passed for good once it has been dealt with.
    for _ in range(len(CHANGEABLE) + 1):
        against = state.placement.place(state.node).against
        if against is None:
            break
        if against not in CHANGEABLE:
            return None
        change = _CHANGES[against](state)
        made.append(change)
        state = change.after
    else:
        return None
    if any(name not in one.nodes for one in subject.allocated):
        return None
    if ExtendedResources.of(state.pod, snapshot.classes.values()).lacking(state.node):
        return None
    steps = tuple(step for one in made for step in one.steps)
    return Opening(tuple(one.change for one in made), steps)


def _uncordon(state: _State) -> _Change:
    name = state.node.metadata.name
    # The taint that goes with it is taken away along with it.
    taints = tuple(taint for taint in state.node.spec.taints if taint.key != TAINT_UNSCHEDULABLE)
    spec = replace(state.node.spec, unschedulable=False, taints=taints)
    return _Change(
        state._replace(node=replace(state.node, spec=spec)),
        NodeChange(NodeChangeKind.UNCORDON, "uncordon the node"),
        (Step(f"Node {name}", command=f"kubectl uncordon {name}"),),
    )


def _tolerate(state: _State) -> _Change:
    taints = state.placement.untolerated(state.node)
    tolerations = tuple(map(_toleration, taints))
    spec = replace(state.pod.spec, tolerations=(*state.pod.spec.tolerations, *tolerations))
    word = "taint" if len(taints) == 1 else "taints"
    named = ", ".join(shorten(str(taint)) for taint in taints)
    steps = [
        Step(
            state.title,
            "spec.tolerations[]",
            to_builtins(toleration),
            note="set by Kubernetes: look at the node's conditions first"
            if taint.key.startswith(_OF_CONDITIONS)
            else "",
        )
        for taint, toleration in zip(taints, tolerations, strict=True)
    ]
    return _Change(
        state._replace(pod=replace(state.pod, spec=spec)),
        NodeChange(
            NodeChangeKind.TOLERATE_NODE, f"tolerate {word} {named} of the node", tolerations
        ),
        tuple(steps),
    )


def _toleration(taint: Taint) -> Toleration:
    if not taint.value:
        return Toleration(key=taint.key, operator=TOLERATION_OPERATOR_EXISTS, effect=taint.effect)
    return Toleration(
        key=taint.key,
        operator=TOLERATION_OPERATOR_EQUAL,
        value=taint.value,
        effect=taint.effect,
    )


def _select(state: _State) -> _Change:
    selector = state.pod.spec.node_selector
    unmatched = state.placement.unmatched(state.node)
    kept = {key: value for key, value in selector.items() if key not in unmatched}
    named = ", ".join(shorten(f"{key}={selector[key]}") for key in unmatched)
    labels = state.node.metadata.labels
    steps = [
        Step(
            state.title,
            f"spec.nodeSelector[{key}]",
            note=f"the node has {shorten(labels[key])}" if key in labels else "",
        )
        for key in unmatched
    ]
    return _Change(
        state._replace(
            pod=replace(state.pod, spec=replace(state.pod.spec, node_selector=kept)),
        ),
        NodeChange(NodeChangeKind.NODE_SELECTOR, f"drop nodeSelector {named}"),
        tuple(steps),
    )


def _attract(state: _State) -> _Change:
    affinity = state.pod.spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    node_affinity = replace(
        affinity.node_affinity, required_during_scheduling_ignored_during_execution=None
    )
    spec = replace(state.pod.spec, affinity=replace(affinity, node_affinity=node_affinity))
    return _Change(
        state._replace(pod=replace(state.pod, spec=spec)),
        NodeChange(NodeChangeKind.NODE_AFFINITY, "drop the required node affinity"),
        (Step(state.title, _REQUIRED),),
    )


_CHANGES: Final = {
    Against.UNSCHEDULABLE: _uncordon,
    Against.TAINT: _tolerate,
    Against.NODE_SELECTOR: _select,
    Against.NODE_AFFINITY: _attract,
}
