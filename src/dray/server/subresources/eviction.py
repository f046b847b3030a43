"""Eviction: a deletion that asks the pod's disruption budget first.

The budget pays before the pod is deleted, so that two evictions at once cannot spend the same
allowance; upstream does the same, and like there a deletion that fails afterwards stays paid until
the controller counts again. Upstream counterpart: EvictionREST in pkg/registry/core/pod/storage.
"""

from __future__ import annotations

from typing import Final

from dray.api.core import CONDITION_FALSE, CONDITION_TRUE, Pod, PodCondition
from dray.api.labels import Selector
from dray.api.meta import Condition, DeleteOptions
from dray.api.policy import (
    DISRUPTION_ALLOWED_CONDITION,
    DISRUPTION_BUDGET_CAUSE,
    DISRUPTION_REASON_INSUFFICIENT_PODS,
    UNHEALTHY_POD_ALWAYS_ALLOW,
    Eviction,
    PodDisruptionBudget,
)
from dray.api.scheme import KINDS
from dray.api.wire import Time, replace
from dray.errors import (
    APIError,
    BadRequest,
    Cause,
    RevisionConflict,
    StatusDetails,
    StoreUnavailable,
    Timeout,
    TooManyRequests,
    Unavailable,
    quote,
)
from dray.http.messages import Answer
from dray.server.answers import status_answer
from dray.server.call import Call
from dray.server.deletion import check_preconditions, delete_object
from dray.server.models.typed import TypedModel
from dray.server.options import write_options
from dray.server.refusals import not_found, success
from dray.server.registry import key_of, prefix_of
from dray.server.subresources.body import admit_action, read_action

__all__ = ["evict"]

CONDITION_DISRUPTION_TARGET: Final = "DisruptionTarget"
REASON_EVICTION: Final = "EvictionByEvictionAPI"
_EVICTED: Final = "Eviction API: evicting"

# As many pods as may be on their way out under one budget before it must be counted again.
DISRUPTED_PODS_MAX: Final = 2000

_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_TRIES_MAX: Final = 20

_BUDGETS: Final = TypedModel(KINDS["policy", "PodDisruptionBudget"])
_BUDGETS_PREFIX: Final = prefix_of("policy", "poddisruptionbudgets")

# When a budget that was not counted yet will be.
_RETRY_SECONDS: Final = 10


async def evict(call: Call) -> Answer:
    """Delete the pod if its budget allows it."""
    write_options(call.request.query, "CreateOptions", user_agent=call.user_agent)
    eviction = read_action(call, Eviction)
    name = call.route.name
    if eviction.metadata.name and eviction.metadata.name != name:
        raise BadRequest("name in URL does not match name in Eviction object")
    options = eviction.delete_options or DeleteOptions()
    dry_run = bool(options.dry_run) or bool(call.request.query.get("dryRun"))
    if dry_run:
        options = replace(options, dry_run=("All",))
    admit_action(call, eviction, name, subresource="eviction", dry_run=dry_run)
    pod = _pod(call, name)
    if not _may_skip_budgets(pod):
        await _pay(call, pod, dry_run=dry_run)
    await _delete(call, name, options)
    return status_answer(call, 201, success(code=201))


def _pod(call: Call, name: str) -> Pod:
    record = call.services.store.head(call.key(name))
    if record is None:
        raise not_found(call.resource, name)
    pod: Pod = call.model.load(record.value, record.revision)
    return pod


def _may_skip_budgets(pod: Pod) -> bool:
    """Whether the pod's end disrupts nothing: it is over, has not begun, or ends already."""
    over = pod.status.phase in _FINISHED
    return over or pod.status.phase == "Pending" or pod.metadata.deletion_timestamp is not None


async def _pay(call: Call, pod: Pod, *, dry_run: bool) -> None:
    budgets = [
        budget
        for budget in call.services.state.list(PodDisruptionBudget, call.namespace)
        if _covers(budget, pod)
    ]
    if not budgets:
        return
    if len(budgets) > 1:
        error = APIError(
            "This pod has more than one PodDisruptionBudget, which the eviction "
            "subresource does not support."
        )
        error.reason = ""  # clients know this one by its code alone
        raise error
    store = call.services.store
    key = key_of(_BUDGETS_PREFIX, call.namespace, budgets[0].metadata.name)
    for _try in range(_TRIES_MAX):
        record = store.head(key)
        if record is None:
            return
        budget = _BUDGETS.load(record.value, record.revision)
        if _is_unhealthy_and_free(pod, budget):
            return
        paid = _charged(budget, pod, call.now())
        if dry_run:
            return
        try:
            await store.put(key, _BUDGETS.store(paid), expected=record.revision)
        except RevisionConflict:
            continue
        except StoreUnavailable as error:
            raise Unavailable(f"the budget could not be charged: {error}") from error
        return
    raise Timeout(
        f"couldn't update PodDisruptionBudget {quote(budgets[0].metadata.name)} due to conflicts",
        StatusDetails(retry_after_seconds=_RETRY_SECONDS),
    )


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    selector = budget.spec.selector
    if selector is None:
        return False
    expressions = [
        (clause.key, clause.operator, clause.values) for clause in selector.match_expressions
    ]
    return Selector.from_label_selector(selector.match_labels, expressions).matches(
        pod.metadata.labels
    )


def _is_unhealthy_and_free(pod: Pod, budget: PodDisruptionBudget) -> bool:
    """Whether the pod counts for nothing in its budget, as it serves nobody."""
    ready = any(
        condition.type == "Ready" and condition.status == CONDITION_TRUE
        for condition in pod.status.conditions
    )
    if ready:
        return False
    if budget.spec.unhealthy_pod_eviction_policy == UNHEALTHY_POD_ALWAYS_ALLOW:
        return True
    status = budget.status
    return status.current_healthy >= status.desired_healthy and status.desired_healthy > 0


def _charged(budget: PodDisruptionBudget, pod: Pod, now: Time) -> PodDisruptionBudget:
    """The budget with one disruption fewer to give. Raises TooManyRequests."""
    status, metadata = budget.status, budget.metadata
    if status.observed_generation < metadata.generation:
        told = f"The disruption budget {metadata.name} is still being processed by the server."
        raise _refusal(told, retry_after_seconds=_RETRY_SECONDS)
    if status.disruptions_allowed < 0:
        raise _refusal("pdb disruptions allowed is negative")
    if len(status.disrupted_pods) > DISRUPTED_PODS_MAX:
        raise _refusal(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        )
    if status.disruptions_allowed == 0:
        told = f"The disruption budget {metadata.name} does not allow evicting pods currently"
        if status.current_healthy <= status.desired_healthy:
            told = (
                f"The disruption budget {metadata.name} needs {status.desired_healthy} healthy "
                f"pods and has {status.current_healthy} currently"
            )
        raise _refusal(told)
    disrupted = {**status.disrupted_pods, pod.metadata.name: now}
    allowed = status.disruptions_allowed - 1
    status = replace(status, disruptions_allowed=allowed, disrupted_pods=disrupted)
    if not allowed:
        status = replace(status, conditions=_spent(budget, now))
    return replace(budget, status=status)


def _spent(budget: PodDisruptionBudget, now: Time) -> tuple[Condition, ...]:
    """The budget's conditions once it allows no more."""
    spent = Condition(
        type=DISRUPTION_ALLOWED_CONDITION,
        status=CONDITION_FALSE,
        observed_generation=budget.status.observed_generation,
        last_transition_time=now,
        reason=DISRUPTION_REASON_INSUFFICIENT_PODS,
    )
    known = budget.status.conditions
    if any(each.type == spent.type and each.status == spent.status for each in known):
        return known
    return (*(each for each in known if each.type != spent.type), spent)


def _refusal(told: str, *, retry_after_seconds: int = 0) -> TooManyRequests:
    return TooManyRequests(
        "Cannot evict pod as it would violate the pod's disruption budget.",
        StatusDetails(
            causes=(Cause(reason=DISRUPTION_BUDGET_CAUSE, message=told),),
            retry_after_seconds=retry_after_seconds,
        ),
    )


async def _delete(call: Call, name: str, options: DeleteOptions) -> None:
    """Say in the pod's status why it goes, then delete it."""
    store = call.services.store
    record = store.head(call.key(name))
    if record is None:
        raise not_found(call.resource, name)
    now = call.now()
    pod: Pod = call.model.load(record.value, record.revision)
    check_preconditions(call, pod, options)
    if pod.metadata.deletion_timestamp is None and not options.dry_run:
        condition = PodCondition(
            type=CONDITION_DISRUPTION_TARGET,
            status=CONDITION_TRUE,
            last_transition_time=now,
            reason=REASON_EVICTION,
            message=_EVICTED,
        )
        others = [each for each in pod.status.conditions if each.type != condition.type]
        status = replace(pod.status, conditions=(*others, condition))
        try:
            written = await store.put(
                record.key,
                call.model.store(replace(pod, status=status)),
                expected=record.revision,
            )
        except (RevisionConflict, StoreUnavailable) as error:
            raise Unavailable(f"the eviction was not stored: {error}") from error
        options = _of_our_own_write(options, written.revision)
        record = store.head(record.key)  # others may have written since
        if record is None:
            return
    await delete_object(call, record, options, now, admitted=True)


def _of_our_own_write(options: DeleteOptions, revision: int) -> DeleteOptions:
    """The options for the pod as we just wrote it, if they were about what it was before."""
    wanted = options.preconditions
    if wanted is None or wanted.resource_version is None:
        return options
    return replace(options, preconditions=replace(wanted, resource_version=str(revision)))
