"""Whether a change is worth another try for a pod that its neighbours kept away.

These are the hints of the two plugins that look at other pods: required affinity and anti-affinity
between pods, and spread over the values of a node label. What labels a namespace has is unknown
here, so a term that selects namespaces is taken to mean each. Upstream counterparts: the hints of
InterPodAffinity and PodTopologySpread.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from dray.api.core import DO_NOT_SCHEDULE, NODE_INCLUSION_POLICY_HONOR, Node, Pod
from dray.api.labels import Operator, Requirement, Selector
from dray.errors import ParseError
from dray.scheduler.cluster_events import ClusterEvent
from dray.scheduler.pod_info import AffinityTerm, PodInfo, read_selector

__all__ = [
    "affinity_by_node",
    "affinity_by_pod",
    "affinity_shape",
    "spread_by_node",
    "spread_by_pod",
    "spread_by_self",
    "spread_shape",
]


# Affinity --------------------------------------------------------------------------------------


def affinity_shape(pod: Pod) -> Hashable:
    # The labels count because other pods may want to be far from this one.
    labels = tuple(sorted(pod.metadata.labels.items()))
    return pod.metadata.namespace, labels, _near(pod), _far(pod)


def affinity_by_pod(pod: Pod, event: ClusterEvent) -> bool:
    """Whether a pod that is wanted near came, or one that is wanted far went."""
    old, new = _pods(event)
    near, far = _near(pod), _far(pod)
    if old is not None and new is not None:
        return (_means_all(near, new) and not _means_all(near, old)) or (
            _means_any(far, old) and not _means_any(far, new)
        )
    if new is not None:
        return _means_all(near, new)
    return old is None or _means_any(far, old) or _means_any(_far(old), pod)


def affinity_by_node(pod: Pod, event: ClusterEvent) -> bool:
    """Whether the node came, or is in another place than before, as a term counts places."""
    old, new = _nodes(event)
    if new is None:
        return True
    labels = new.metadata.labels
    near, far = _near(pod), _far(pod)
    if old is None:
        return bool(far) or any(term.topology_key in labels for term in near)
    before = old.metadata.labels

    def moved(term: AffinityTerm) -> bool:
        return before.get(term.topology_key) != labels.get(term.topology_key)

    return any(moved(term) and term.topology_key in labels for term in near) or any(
        # A node without the label has room for whoever wants to be far from others.
        moved(term) and term.topology_key in before
        for term in far
    )


def _near(pod: Pod) -> tuple[AffinityTerm, ...]:
    return PodInfo.of(pod).affinity_terms if pod.spec.affinity is not None else ()


def _far(pod: Pod) -> tuple[AffinityTerm, ...]:
    return PodInfo.of(pod).anti_affinity_terms if pod.spec.affinity is not None else ()


def _means(term: AffinityTerm, pod: Pod) -> bool:
    there = pod.metadata.namespace in term.namespaces or term.namespace_selector.selectable
    return there and term.selector.matches(pod.metadata.labels)


def _means_all(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    """One pod must be meant by all terms, as the filter looks for one that is."""
    return bool(terms) and all(_means(term, pod) for term in terms)


def _means_any(terms: Iterable[AffinityTerm], pod: Pod) -> bool:
    return any(_means(term, pod) for term in terms)


# Spread ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Constraint:
    topology_key: str
    selector: Selector
    honors_taints: bool


def spread_shape(pod: Pod) -> Hashable:
    return pod.metadata.namespace, _constraints(pod)


def spread_by_pod(pod: Pod, event: ClusterEvent) -> bool:
    """Whether a pod came, went or changed that a constraint counts."""
    old, new = _pods(event)
    either = new if new is not None else old
    if either is None:
        return True
    if either.metadata.namespace != pod.metadata.namespace:
        return False
    return _counts_differently(_constraints(pod), old, new)


def spread_by_self(pod: Pod, event: ClusterEvent) -> bool:
    """Whether the pod itself is counted differently, or may be on more nodes."""
    old, new = _pods(event)
    if old is None or new is None:
        return True
    constraints = _constraints(pod)
    if old.spec.tolerations != new.spec.tolerations and any(
        each.honors_taints for each in constraints
    ):
        return True
    # Of constraints that select by the pod's own labels, the selectors change with them.
    return constraints != _constraints(old) or _counts_differently(constraints, old, new)


def spread_by_node(pod: Pod, event: ClusterEvent) -> bool:
    """Whether a node that counts came, went, or now counts elsewhere or for others."""
    old, new = _nodes(event)
    constraints = _constraints(pod)
    keys = [each.topology_key for each in constraints]
    before = old is not None and all(key in old.metadata.labels for key in keys)
    after = new is not None and all(key in new.metadata.labels for key in keys)
    if old is None or new is None:
        return before or after or (old is None and new is None)
    if before != after:
        return True
    return after and (
        old.spec.taints != new.spec.taints
        or any(old.metadata.labels.get(key) != new.metadata.labels.get(key) for key in keys)
    )


def _counts_differently(
    constraints: Iterable[_Constraint], old: Pod | None, new: Pod | None
) -> bool:
    return any(
        (old is not None and each.selector.matches(old.metadata.labels))
        != (new is not None and each.selector.matches(new.metadata.labels))
        for each in constraints
    )


def _constraints(pod: Pod) -> tuple[_Constraint, ...]:
    """Those that keep a pod away; what it merely prefers rejects nobody."""
    labels = pod.metadata.labels
    found = []
    for each in pod.spec.topology_spread_constraints:
        if each.when_unsatisfiable != DO_NOT_SCHEDULE:
            continue
        try:
            selector = read_selector(each.label_selector)
        except ParseError:
            selector = Selector.everything()  # the filter will tell
        own = tuple(
            Requirement(key, Operator.EQUALS, (labels[key],))
            for key in each.match_label_keys
            if key in labels
        )
        if own and selector.selectable:
            selector = Selector((*selector.requirements, *own))
        honors_taints = each.node_taints_policy == NODE_INCLUSION_POLICY_HONOR
        found.append(_Constraint(each.topology_key, selector, honors_taints))
    return tuple(found)


# Events ----------------------------------------------------------------------------------------


def _pods(event: ClusterEvent) -> tuple[Pod | None, Pod | None]:
    old, new = event.old, event.new
    return old if isinstance(old, Pod) else None, new if isinstance(new, Pod) else None


def _nodes(event: ClusterEvent) -> tuple[Node | None, Node | None]:
    old, new = event.old, event.new
    return old if isinstance(old, Node) else None, new if isinstance(new, Node) else None
