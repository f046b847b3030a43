"""What the status of a DeviceTaintRule says: how far it has taken effect, or would. Pure.

Upstream counterpart: maybeUpdateRuleStatus, whose words these are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dray.api.meta import Condition
from dray.api.resource import TAINT_EFFECT_NO_EXECUTE, TAINT_EFFECT_NONE, DeviceTaintRule
from dray.api.wire import Time, replace

__all__ = ["EVICTION_IN_PROGRESS", "Survey", "condition_of", "next_condition"]

EVICTION_IN_PROGRESS: Final = "EvictionInProgress"


@dataclass(frozen=True, slots=True)
class Survey:
    """What was counted for one rule."""

    pods_count: int = 0  # that have to leave or, for a rule without effect, would have to
    namespaces_count: int = 0  # that these are in
    evicted_count: int = 0  # since the controller began
    published_count: int = 0  # devices that a rule without effect selects
    allocated_count: int = 0

    @classmethod
    def of_pods(cls, namespaces: Iterable[str], *, evicted_count: int) -> Survey:
        """Of pods of which only the namespaces matter, one for each pod."""
        every = list(namespaces)
        return cls(len(every), len(set(every)), evicted_count)


def condition_of(rule: DeviceTaintRule) -> Condition | None:
    """What the status says so far."""
    return next(
        (each for each in rule.status.conditions if each.type == EVICTION_IN_PROGRESS), None
    )


def next_condition(rule: DeviceTaintRule, survey: Survey, now: Time) -> Condition | None:
    """What the status is to say; None if it says so already.

    Its time is that of any change, also of the message alone.
    """
    status, reason, message = _words(rule.spec.taint.effect, survey)
    if survey.evicted_count:
        pods = "1 pod" if survey.evicted_count == 1 else f"{survey.evicted_count} pods"
        message = f"{message} {pods} evicted since starting the controller.".lstrip()
    known = condition_of(rule)
    condition = Condition(
        type=EVICTION_IN_PROGRESS,
        status=status,
        observed_generation=rule.metadata.generation,
        last_transition_time=known.last_transition_time if known is not None else None,
        reason=reason,
        message=message,
    )
    return None if condition == known else replace(condition, last_transition_time=now)


def _words(effect: str, survey: Survey) -> tuple[str, str, str]:
    """Status, reason and message."""
    if effect == TAINT_EFFECT_NO_EXECUTE:
        if survey.pods_count:
            pods = _count(survey.pods_count, "1 pod needs", "{} pods need")
            namespaces = _count(survey.namespaces_count, "1 namespace", "{} different namespaces")
            return "True", "PodsPendingEviction", f"{pods} to be evicted in {namespaces}."
        return "False", "Completed" if survey.evicted_count else "NotStarted", ""
    if effect == TAINT_EFFECT_NONE:
        return "False", "NoEffect", _dry_run(survey)
    return "False", "OtherEffect", "Eviction only happens for the NoExecute effect."


def _dry_run(survey: Survey) -> str:
    published = _count(survey.published_count, "1 published device", "{} published devices")
    allocated = _count(survey.allocated_count, "1 allocated device", "{} allocated devices")
    pods = _count(survey.pods_count, "1 pod", "{} pods")
    namespaces = _count(survey.namespaces_count, "1 namespace", "{} different namespaces")
    return (
        f"{published} selected. {allocated} selected. {pods} would be evicted in {namespaces} if"
        " the effect was NoExecute. This information will not be updated again. Recreate the"
        " DeviceTaintRule to trigger an update."
    )


def _count(number: int, one: str, many: str) -> str:
    return one if number == 1 else many.format(number)
