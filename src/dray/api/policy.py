"""policy/v1: disruption budgets, and the eviction that respects them.

Upstream counterpart: k8s.io/api/policy/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import field

from dray.api.meta import Condition, DeleteOptions, LabelSelector, ListMeta, Object
from dray.api.wire import Int32, Int64, Struct, Time, always

__all__ = [
    "DISRUPTION_ALLOWED_CONDITION",
    "DISRUPTION_BUDGET_CAUSE",
    "DISRUPTION_REASON_INSUFFICIENT_PODS",
    "DISRUPTION_REASON_SUFFICIENT_PODS",
    "DISRUPTION_REASON_SYNC_FAILED",
    "UNHEALTHY_POD_ALWAYS_ALLOW",
    "UNHEALTHY_POD_IF_HEALTHY_BUDGET",
    "Eviction",
    "PodDisruptionBudget",
    "PodDisruptionBudgetList",
    "PodDisruptionBudgetSpec",
    "PodDisruptionBudgetStatus",
]

UNHEALTHY_POD_IF_HEALTHY_BUDGET: Final = "IfHealthyBudget"
UNHEALTHY_POD_ALWAYS_ALLOW: Final = "AlwaysAllow"

DISRUPTION_ALLOWED_CONDITION: Final = "DisruptionAllowed"
DISRUPTION_REASON_SYNC_FAILED: Final = "SyncFailed"
DISRUPTION_REASON_SUFFICIENT_PODS: Final = "SufficientPods"
DISRUPTION_REASON_INSUFFICIENT_PODS: Final = "InsufficientPods"

# The cause in the Status by which an eviction is refused.
DISRUPTION_BUDGET_CAUSE: Final = "DisruptionBudget"


class PodDisruptionBudgetSpec(Struct):
    """Which pods, and how many of them must stay or may go: a count or a percentage."""

    min_available: Int32 | str | None = None
    selector: LabelSelector | None = None
    max_unavailable: Int32 | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct):
    """How many more may go now, and who is already on the way out."""

    observed_generation: Int64 = 0
    disrupted_pods: Mapping[str, Time | None] = field(default_factory=dict)
    disruptions_allowed: Int32 = always(0)
    current_healthy: Int32 = always(0)
    desired_healthy: Int32 = always(0)
    expected_pods: Int32 = always(0)
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(Object):
    """How many of some pods may be taken down on purpose at a time."""

    api_version: str = always("policy/v1")
    kind: str = always("PodDisruptionBudget")
    spec: PodDisruptionBudgetSpec = always(PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus = always(PodDisruptionBudgetStatus)


class PodDisruptionBudgetList(Struct):
    """Several budgets."""

    api_version: str = always("policy/v1")
    kind: str = always("PodDisruptionBudgetList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[PodDisruptionBudget, ...] | None = always(None)


class Eviction(Object):
    """Asks for a pod's deletion if its budgets allow it. It is posted, never stored."""

    api_version: str = always("policy/v1")
    kind: str = always("Eviction")
    delete_options: DeleteOptions | None = None
