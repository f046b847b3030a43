"""Where a pod wants to be, or must be: by nodes, by other pods, and spread over domains.

Upstream counterpart: Affinity and TopologySpreadConstraint in k8s.io/api/core/v1.
"""

from __future__ import annotations

from typing import Final

from dray.api.core._node_selector import NodeSelector, NodeSelectorTerm
from dray.api.meta import LabelSelector
from dray.api.wire import Int32, Struct, always

__all__ = [
    "DO_NOT_SCHEDULE",
    "NODE_INCLUSION_POLICY_HONOR",
    "NODE_INCLUSION_POLICY_IGNORE",
    "SCHEDULE_ANYWAY",
    "Affinity",
    "NodeAffinity",
    "PodAffinity",
    "PodAffinityTerm",
    "PodAntiAffinity",
    "PreferredSchedulingTerm",
    "TopologySpreadConstraint",
    "WeightedPodAffinityTerm",
]

DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"

NODE_INCLUSION_POLICY_HONOR: Final = "Honor"
NODE_INCLUSION_POLICY_IGNORE: Final = "Ignore"


class PreferredSchedulingTerm(Struct):
    """Nodes to prefer, and how much."""

    weight: Int32 = always(0)
    preference: NodeSelectorTerm = always(NodeSelectorTerm)


class NodeAffinity(Struct):
    """Which nodes a pod must be on, and which it would rather be on."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(Struct):
    """Pods, and the node label whose value tells what counts as being in one place with them."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = always("")
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Struct):
    """Pods to be near to, or far from, and how much that matters."""

    weight: Int32 = always(0)
    pod_affinity_term: PodAffinityTerm = always(PodAffinityTerm)


class PodAffinity(Struct):
    """Pods to be near to."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class PodAntiAffinity(Struct):
    """Pods to be far from."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Struct):
    """All that draws a pod to a place or keeps it from one."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class TopologySpreadConstraint(Struct):
    """How unevenly the selected pods may lie over the values of a node label."""

    max_skew: Int32 = always(0)
    topology_key: str = always("")
    when_unsatisfiable: str = always("")
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()
