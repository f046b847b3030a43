"""Keeps the status of budgets: how many pods should be there, are well, and may go.

A pod that the server has let go counts as gone until it is, or for two minutes: then nobody seems
to delete it. What cannot be counted is not to be disrupted. Pods that were announced to be
disrupted, and were not, are told so after two minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from dray.api.core import (
    CONDITION_FALSE,
    CONDITION_TRUE,
    POD_CONDITION_DISRUPTION_TARGET,
    Pod,
    PodCondition,
)
from dray.api.meta import Condition, LabelSelector
from dray.api.policy import (
    DISRUPTION_ALLOWED_CONDITION,
    DISRUPTION_REASON_INSUFFICIENT_PODS,
    DISRUPTION_REASON_SUFFICIENT_PODS,
    DISRUPTION_REASON_SYNC_FAILED,
    PodDisruptionBudget,
    PodDisruptionBudgetStatus,
)
from dray.api.wire import Time, replace
from dray.controllers.by_namespace import in_namespace, index_by_namespace
from dray.controllers.disruption.scales import Expected, Scales
from dray.controllers.owners import gathering_seconds
from dray.controllers.ownership import selector_of
from dray.controllers.pod_states import is_ready, is_terminal, pod_condition
from dray.controllers.proportions import share_of
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import NotFound

__all__ = ["DisruptionController"]

# Upstream's: how long a pod may take to be deleted that was allowed to be, or announced to be.
DELETION_SECONDS: Final = 120.0
STALE_SECONDS: Final = 120.0

_BY_KUBELET: Final = "TerminationByKubelet"
_PODS: Final = "pods/"

_Selects = tuple[LabelSelector | None, Callable[[Mapping[str, str]], bool]]


class DisruptionController(Reconciler):
    """Keys are names of budgets, and of pods after `pods/`."""

    name = "disruption-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._scales = Scales(context)
        self._budgets = context.informers.of(PodDisruptionBudget)
        self._pods = context.informers.of(Pod)
        self._pods_count: dict[Key, int] = {}  # that had to be looked at for a budget
        self._selectors: dict[Key, _Selects] = {}
        index_by_namespace(self._budgets)
        index_by_namespace(self._pods)
        self._budgets.listen(self._budget_changed)
        self._pods.listen(self._pod_changed)

    async def reconcile(self, key: Key) -> Result:
        if key.name.startswith(_PODS):
            return await self._look_at_pod(key)
        budget = self._budgets.get(key.name, key.namespace)
        if budget is None:
            self._pods_count.pop(key, None)
            self._selectors.pop(key, None)
            return DONE
        everyone = in_namespace(self._pods, key.namespace)
        self._pods_count[key] = len(everyone)
        selects = self._selects(budget)
        pods = [pod for pod in everyone if selects(pod.metadata.labels)]
        if not pods:
            self._tell(budget, "Normal", "NoPods", "No matching pods found")
        expected = await self._expected(budget, pods)
        if expected.problem:
            told = f"Failed to calculate the number of expected pods: {expected.problem}"
            self._tell(budget, "Warning", "CalculateExpectedPodCountFailed", told)
            await self._write(budget, self._unsafe(budget, expected.problem))
            return DONE
        if expected.unmanaged:
            self._tell(budget, "Warning", "UnmanagedPods", _unmanaged(budget.spec.selector))
        now = self.context.clock.now()
        status = self._status(budget, pods, expected, now)
        await self._write(budget, status)
        return _recheck(status, now)

    # What is heard -----------------------------------------------------------------------------

    def _budget_changed(
        self, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None
    ) -> None:
        budget = new or old
        assert budget is not None
        self.queue.add(Key.of(budget))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        if new is not None and (seconds := self._stale_seconds(new)) is not None:
            key = Key(new.metadata.namespace, f"{_PODS}{new.metadata.name}")
            self.queue.add_after(key, seconds)
        budgets = in_namespace(self._budgets, pod.metadata.namespace)
        if not budgets or (old is not None and new is not None and _counts_alike(old, new)):
            return
        states = [each.metadata.labels for each in (old, new) if each is not None]
        matching = [budget for budget in budgets if any(map(self._selects(budget), states))]
        for budget in matching:
            key = Key.of(budget)
            self.queue.add_after(key, gathering_seconds(self._pods_count.get(key, 0)))
        if len(matching) > 1 and old is None:
            name = pod.metadata
            told = f'Pod "{name.namespace}"/"{name.name}" matches multiple PodDisruptionBudgets.  '
            told += f'Chose "{matching[0].metadata.name}" arbitrarily.'
            self.context.events.record(pod, "Warning", "MultiplePodDisruptionBudgets", told)

    def _selects(self, budget: PodDisruptionBudget) -> Callable[[Mapping[str, str]], bool]:
        """Whether labels are those of the budget's pods; read once for each state of the budget."""
        key, selector = Key.of(budget), budget.spec.selector
        known = self._selectors.get(key)
        if known is None or known[0] is not selector:
            known = self._selectors[key] = (selector, selector_of(selector).matcher())
        return known[1]

    # Budgets -----------------------------------------------------------------------------------

    async def _expected(self, budget: PodDisruptionBudget, pods: Sequence[Pod]) -> Expected:
        spec = budget.spec
        if spec.max_unavailable is None and not isinstance(spec.min_available, str):
            return Expected(len(pods) if spec.min_available is not None else 0)
        return await self._scales.expected(pods)

    def _status(
        self, budget: PodDisruptionBudget, pods: Sequence[Pod], expected: Expected, now: datetime
    ) -> PodDisruptionBudgetStatus:
        disrupted = self._disrupted(budget, pods, now)
        healthy = sum(
            pod.metadata.deletion_timestamp is None
            and pod.metadata.name not in disrupted
            and is_ready(pod)
            for pod in pods
        )
        desired = _desired(budget, expected.count)
        # A budget that expects no pods is to be safe for the first that come, before they count.
        allowed = max(healthy - desired, 0) if expected.count > 0 else 0
        generation = budget.metadata.generation
        reason = (
            DISRUPTION_REASON_SUFFICIENT_PODS if allowed else DISRUPTION_REASON_INSUFFICIENT_PODS
        )
        status = replace(
            budget.status,
            current_healthy=healthy,
            desired_healthy=desired,
            expected_pods=expected.count,
            disruptions_allowed=allowed,
            disrupted_pods=disrupted,
            observed_generation=generation,
        )
        known = _allowed(budget)
        if (
            known is not None
            and known.observed_generation == generation
            and (known.status == CONDITION_TRUE) == bool(allowed)
            and known.reason != DISRUPTION_REASON_SYNC_FAILED
        ):
            return status
        return _with_condition(status, bool(allowed), reason, "", Time(now))

    def _disrupted(
        self, budget: PodDisruptionBudget, pods: Sequence[Pod], now: datetime
    ) -> dict[str, Time | None]:
        """The pods that were allowed to go, and are still expected to."""
        known = budget.status.disrupted_pods
        found: dict[str, Time | None] = {}
        for pod in pods if known else ():
            name = pod.metadata.name
            since = known.get(name)
            if pod.metadata.deletion_timestamp is not None or since is None:
                continue
            if since.instant + timedelta(seconds=DELETION_SECONDS) >= now:
                found[name] = since
                continue
            told = f"Pod was expected by PDB {Key.of(budget)} to be deleted but it wasn't"
            self.context.events.record(pod, "Warning", "NotDeleted", told)
        return found

    def _unsafe(self, budget: PodDisruptionBudget, problem: str) -> PodDisruptionBudgetStatus:
        """Nothing may go while it is not known how many there should be."""
        status = replace(budget.status, disruptions_allowed=0)
        now = Time(self.context.clock.now())
        return _with_condition(status, False, DISRUPTION_REASON_SYNC_FAILED, problem, now)

    async def _write(self, budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus) -> None:
        if status == budget.status:
            return
        try:
            await self.context.client.update_status(replace(budget, status=status))
        except NotFound:
            return

    def _tell(self, budget: PodDisruptionBudget, kind: str, reason: str, message: str) -> None:
        self.context.events.record(budget, kind, reason, message)

    # Pods --------------------------------------------------------------------------------------

    def _stale_seconds(self, pod: Pod) -> float | None:
        """How long a pod may still say that it is about to be disrupted; None if for ever."""
        if not pod.status.conditions or pod.metadata.deletion_timestamp is not None:
            return None
        condition = pod_condition(pod, POD_CONDITION_DISRUPTION_TARGET)
        if condition is None or condition.status != CONDITION_TRUE or is_terminal(pod):
            return None
        # A kubelet takes its time.
        if condition.reason == _BY_KUBELET or condition.last_transition_time is None:
            return None
        since = self.context.clock.now() - condition.last_transition_time.instant
        return max(STALE_SECONDS - since.total_seconds(), 0.0)

    async def _look_at_pod(self, key: Key) -> Result:
        pod = self._pods.get(key.name.removeprefix(_PODS), key.namespace)
        seconds = self._stale_seconds(pod) if pod is not None else None
        if pod is None or seconds is None:
            return DONE
        if seconds > 0:
            return Result(seconds)
        stale = PodCondition(
            type=POD_CONDITION_DISRUPTION_TARGET,
            observed_generation=pod.metadata.generation,
            status=CONDITION_FALSE,
            last_transition_time=Time(self.context.clock.now()),
        )
        conditions = tuple(
            stale if each.type == stale.type else each for each in pod.status.conditions
        )
        status = replace(pod.status, conditions=conditions)
        try:
            await self.context.client.update_status(replace(pod, status=status))
        except NotFound:
            return DONE
        return DONE


def _counts_alike(old: Pod, new: Pod) -> bool:
    """Whether no budget could tell two states of a pod apart."""
    before, after = old.metadata, new.metadata
    return (
        (before.deletion_timestamp is None) == (after.deletion_timestamp is None)
        and before.labels == after.labels
        and before.owner_references == after.owner_references
        and is_ready(old) == is_ready(new)
    )


def _desired(budget: PodDisruptionBudget, expected: int) -> int:
    spec = budget.spec
    if spec.max_unavailable is not None:
        return max(expected - share_of(spec.max_unavailable, expected, up=True), 0)
    return share_of(spec.min_available, expected, up=True)


def _recheck(status: PodDisruptionBudgetStatus, now: datetime) -> Result:
    """When to look again whether the pods that may go have gone."""
    times = [time.instant for time in status.disrupted_pods.values() if time is not None]
    if not times:
        return DONE
    waited = (now - min(times)).total_seconds()
    # Then it is over, not about to be.
    return Result(max(DELETION_SECONDS - waited, 0.0) + 1.0)


def _allowed(budget: PodDisruptionBudget) -> Condition | None:
    conditions = budget.status.conditions
    return next((each for each in conditions if each.type == DISRUPTION_ALLOWED_CONDITION), None)


def _with_condition(
    status: PodDisruptionBudgetStatus, allowed: bool, reason: str, message: str, now: Time
) -> PodDisruptionBudgetStatus:
    value = CONDITION_TRUE if allowed else CONDITION_FALSE
    known = next(
        (each for each in status.conditions if each.type == DISRUPTION_ALLOWED_CONDITION), None
    )
    condition = Condition(
        type=DISRUPTION_ALLOWED_CONDITION,
        status=value,
        observed_generation=status.observed_generation,
        last_transition_time=known.last_transition_time if known and known.status == value else now,
        reason=reason,
        message=message,
    )
    others = (each for each in status.conditions if each.type != DISRUPTION_ALLOWED_CONDITION)
    return replace(status, conditions=(*others, condition))


def _unmanaged(selector: LabelSelector | None) -> str:
    return (
        f"Pods selected by this PodDisruptionBudget (selector: {_shown(selector)}) were found to "
        "be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which "
        "may result in undefined behavior. To account for these pods please set "
        '".spec.minAvailable" field of the PDB to an integer value.'
    )


def _shown(selector: LabelSelector | None) -> str:
    """A selector as upstream writes it."""
    if selector is None:
        return "nil"
    labels = "".join(
        f"{key}: {selector.match_labels[key]}," for key in sorted(selector.match_labels)
    )
    clauses = "".join(
        f"LabelSelectorRequirement{{Key:{each.key},Operator:{each.operator},"
        f"Values:[{' '.join(each.values)}],}},"
        for each in selector.match_expressions
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{clauses}}},}}"
    )
