"""The controller: hears of slices, rules, claims and pods, has pods judged anew, and acts on it.

What is heard is judged at once, in the view: a taint costs a look at the claims that have the
device, and at the pods that use them. Nothing is judged before everything that was there is known.
Names in the queue that have a namespace are pods', those without are rules'.

Departures from upstream, each off unless asked for: evictions may be limited to so many in a
second, and may ask pods' disruption budgets. Where budgets are asked it is the server that says in
a pod's status why it ends, and what a budget refuses is tried again later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from dray.api.core import Pod
from dray.api.meta import DeleteOptions, ObjectMeta, Preconditions, Status
from dray.api.policy import Eviction as EvictionRequest
from dray.api.resource import (
    TAINT_EFFECT_NO_EXECUTE,
    TAINT_EFFECT_NONE,
    DeviceID,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from dray.api.wire import Time
from dray.client import Informer, PatchType
from dray.controllers.claim_users import ClaimUsers, has_claims
from dray.controllers.device_taint_eviction.judgement import Eviction, devices_of, judge_pod
from dray.controllers.device_taint_eviction.marks import Marks, RuleID, selects
from dray.controllers.device_taint_eviction.pace import Pace
from dray.controllers.device_taint_eviction.rule_status import (
    Survey,
    condition_of,
    next_condition,
)
from dray.controllers.device_taint_eviction.simulation import survey_without_effect
from dray.controllers.disruption_target import announce_disruption
from dray.controllers.pod_states import is_active
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.errors import NotFound, TooManyRequests
from dray.metrics import Family, Histogram

__all__ = ["DeviceTaintEvictionController"]

# Upstream's: how often the status of a rule is written while it changes.
RULE_STATUS_SECONDS: Final = 10.0

# A budget that says no is asked again when it says so, or after this.
BUDGET_SECONDS: Final = 10.0

# Upstream's: 5 ms to 4 minutes.
LATENCY_BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240)

_EVENT: Final = "DeviceTaintManagerEviction"
_BY_DEVICE: Final = "device-taint-eviction/device"


@dataclass(slots=True)
class _Pending:
    """A pod that has to leave."""

    uid: str
    eviction: Eviction
    turn: float | None = None  # when its turn is, by the monotonic clock, once it has one


class DeviceTaintEvictionController(Reconciler):
    """Keys are names of pods, and of rules whose status is to be written."""

    name = "device-taint-eviction-controller"
    workers = 8  # upstream's

    def __init__(
        self,
        context: Context,
        *,
        evictions_per_second: float | None = None,
        respect_disruption_budgets: bool = False,
    ) -> None:
        super().__init__(context)
        self._pace = Pace(evictions_per_second) if evictions_per_second else None
        self._respects_budgets = respect_disruption_budgets
        self._marks = Marks()
        self._pending: dict[Key, _Pending] = {}
        self._leaving: set[str] = set()  # UIDs of pods that were ended, until they are gone
        self._evicted: Counter[str] = Counter()  # pods, by UID of the rule
        self._is_ready = False
        self._deletions = Family(
            "device_taint_eviction_controller_pod_deletions_total",
            "Pods that were deleted because of a device taint.",
            kind="counter",
        )
        self._latency = Histogram(
            "device_taint_eviction_controller_pod_deletion_duration_seconds",
            "Seconds from when a device taint took effect on a pod to the pod's deletion.",
            buckets=LATENCY_BUCKETS,
        )
        self._rules: Informer[DeviceTaintRule] | None = None
        if "DRADeviceTaints" not in context.gates:
            return
        informers = context.informers
        self._pods = informers.of(Pod)
        self._claims = informers.of(ResourceClaim)
        self._slices = informers.of(ResourceSlice)
        self._users = ClaimUsers(informers)
        self._claims.add_index(_BY_DEVICE, _devices_and_drivers)
        self._slices.listen(self._hear_slice)
        if "DRADeviceTaintRules" in context.gates:
            self._rules = informers.of(DeviceTaintRule)
            self._rules.listen(self._hear_rule)
        self._claims.listen(self._hear_claim)
        self._pods.listen(self._hear_pod)

    async def run(self) -> None:
        if "DRADeviceTaints" not in self.context.gates:
            return
        self._is_ready = True
        for rule in self._rules.values() if self._rules is not None else ():
            self.queue.add(Key.of(rule))
        if self._marks:
            for pod in self._pods.values():
                if has_claims(pod):
                    self._judge(pod)

    async def reconcile(self, key: Key) -> Result:
        return await (self._evict(key) if key.namespace else self._report(key))

    def families(self) -> Sequence[Family | Histogram]:
        return self._deletions, self._latency

    # What is heard -----------------------------------------------------------------------------

    def _hear_slice(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        changed = self._marks.put_slice(old, new)
        if self._is_ready and changed:
            self._judge_users(
                claim for device in changed for claim in self._claims.by_index(_BY_DEVICE, device)
            )

    def _hear_rule(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> None:
        if old is not None and new is not None and old.spec == new.spec:
            return
        self._marks.put_rule(old, new)
        if old is not None and new is None:
            self._evicted.pop(old.metadata.uid, None)
        if not self._is_ready:
            return
        if new is not None:
            self.queue.add(Key.of(new))
        rules = [
            rule
            for rule in (old, new)
            if rule is not None and rule.spec.taint.effect == TAINT_EFFECT_NO_EXECUTE
        ]
        self._judge_users(claim for rule in rules for claim in self._claims_of(rule))

    def _hear_claim(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        claim = new or old
        if self._is_ready and self._marks and claim is not None:
            self._judge_users((claim,))

    def _hear_pod(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            assert old is not None
            self._leaving.discard(old.metadata.uid)
            self._forget(Key.of(old))
            return
        if self._is_ready and self._marks and has_claims(new) and not _is_alike(old, new):
            self._judge(new)

    # What follows from it ----------------------------------------------------------------------

    def _judge_users(self, claims: Iterable[ResourceClaim]) -> None:
        pods = {Key.of(pod): pod for claim in claims for pod in self._users.of(claim)}
        for pod in pods.values():
            self._judge(pod)

    def _judge(self, pod: Pod) -> None:
        key, uid = Key.of(pod), pod.metadata.uid
        if uid in self._leaving:
            return
        claim_of = partial(self._claims.get, namespace=key.namespace)
        eviction = judge_pod(pod, claim_of, self._marks.on)
        pending = self._pending.get(key)
        if eviction is None:
            if self._forget(key) and is_active(pod):
                self._tell(pod, "Cancelling deletion")
            return
        if pending is not None and (pending.uid, pending.eviction) == (uid, eviction):
            return
        self._pending[key] = _Pending(uid, eviction)
        self._remind(eviction)
        left = eviction.at - self.context.clock.now()
        self.queue.add_after(key, left.total_seconds())

    def _forget(self, key: Key) -> bool:
        """A pod need not leave any more; whether it had to."""
        pending = self._pending.pop(key, None)
        if pending is not None:
            self._remind(pending.eviction)
        return pending is not None

    def _remind(self, eviction: Eviction) -> None:
        """Have the status of rules written in a while: more is likely to happen until then."""
        for rule in eviction.rules:
            self.queue.add_after(Key("", rule.name), RULE_STATUS_SECONDS)

    def _claims_of(self, rule: DeviceTaintRule) -> Iterator[ResourceClaim]:
        """The claims with a device that a rule selects."""
        selector = rule.spec.device_selector
        if selector is None:
            return
        claims: Iterable[ResourceClaim]
        if selector.driver is None:
            claims = self._claims.values()
        elif selector.pool is None or selector.device is None:
            claims = self._claims.by_index(_BY_DEVICE, selector.driver)
        else:
            device = DeviceID(selector.driver, selector.pool, selector.device)
            claims = self._claims.by_index(_BY_DEVICE, device)
        for claim in claims:
            if any(selects(rule, device) for device, _tolerations in devices_of(claim)):
                yield claim

    # What is done about pods -------------------------------------------------------------------

    async def _evict(self, key: Key) -> Result:
        pending = self._pending.get(key)
        pod = self._pods.get(key.name, key.namespace)
        if pending is None or pod is None or pod.metadata.uid != pending.uid:
            return DONE  # it has left, or need not
        seconds = self._seconds_to_wait(pending)
        if seconds > 0:
            return Result(requeue_after_seconds=seconds)
        try:
            await self._end(key, pod)
        except NotFound:
            self._done(key, pod)
        except TooManyRequests as error:
            pending.turn = None
            seconds = error.details.retry_after_seconds or BUDGET_SECONDS
            return Result(requeue_after_seconds=seconds)
        else:
            self._done(key, pod)
            self._deletions.add()
            late = self.context.clock.now() - pending.eviction.at
            self._latency.observe(late.total_seconds())
            for rule in pending.eviction.rules:
                self._evicted[rule.uid] += 1
            self._remind(pending.eviction)
        return DONE

    def _seconds_to_wait(self, pending: _Pending) -> float:
        left = (pending.eviction.at - self.context.clock.now()).total_seconds()
        if left > 0 or self._pace is None:
            return left
        now = self.context.clock.monotonic()
        if pending.turn is None:
            pending.turn = self._pace.turn(now)
        return pending.turn - now

    async def _end(self, key: Key, pod: Pod) -> None:
        client, uid = self.context.client, pod.metadata.uid
        if self._respects_budgets:
            options = DeleteOptions(preconditions=Preconditions(uid=uid))
            metadata = ObjectMeta(name=key.name, namespace=key.namespace)
            request = EvictionRequest(metadata=metadata, delete_options=options)
            await client.create_subresource(
                Pod, key.name, "eviction", request, Status, namespace=key.namespace
            )
            self._tell(pod, "Marking for deletion")
            return
        if not self.queue.failures_count(key):
            self._tell(pod, "Marking for deletion")
        await announce_disruption(
            client,
            pod,
            reason="DeletionByDeviceTaintManager",
            message="Device Taint manager: deleting due to NoExecute taint",
            now=Time(self.context.clock.now()),
        )
        await client.delete(Pod, key.name, namespace=key.namespace, uid=uid)

    def _done(self, key: Key, pod: Pod) -> None:
        """A pod was ended: the view may not show it yet."""
        self._pending.pop(key, None)
        shown = self._pods.get(key.name, key.namespace)
        if shown is not None and shown.metadata.uid == pod.metadata.uid:
            self._leaving.add(pod.metadata.uid)

    def _tell(self, pod: Pod, message: str) -> None:
        self.context.events.record(pod, "Normal", _EVENT, message)

    # What is said about rules ------------------------------------------------------------------

    async def _report(self, key: Key) -> Result:
        rule = self._rules.get(key.name) if self._rules is not None else None
        if rule is None:
            return DONE
        now = Time(self.context.clock.now())
        known = condition_of(rule)
        if (
            known is not None
            and known.observed_generation == rule.metadata.generation
            and known.last_transition_time is not None
        ):
            passed = (now.instant - known.last_transition_time.instant).total_seconds()
            if passed < RULE_STATUS_SECONDS:
                return Result(requeue_after_seconds=RULE_STATUS_SECONDS - passed)
        condition = next_condition(rule, self._survey(rule), now)
        if condition is not None:
            metadata = {"name": key.name, "uid": rule.metadata.uid}
            await self.context.client.patch(
                DeviceTaintRule,
                key.name,
                {
                    "apiVersion": rule.api_version,
                    "kind": rule.kind,
                    "metadata": metadata,
                    "status": {"conditions": [condition]},
                },
                type=PatchType.APPLY,
                subresource="status",
                field_manager=self.name,
                force=True,
            )
        return DONE

    def _survey(self, rule: DeviceTaintRule) -> Survey:
        evicted_count = self._evicted[rule.metadata.uid]
        effect = rule.spec.taint.effect
        if effect == TAINT_EFFECT_NO_EXECUTE:
            identity = RuleID.of(rule)
            namespaces = (
                key.namespace
                for key, pending in self._pending.items()
                if identity in pending.eviction.rules
            )
            return Survey.of_pods(namespaces, evicted_count=evicted_count)
        if effect == TAINT_EFFECT_NONE:
            claims = list(self._claims_of(rule))
            return survey_without_effect(
                rule,
                self._slices.values(),
                claims,
                {Key.of(pod): pod for claim in claims for pod in self._users.of(claim)}.values(),
                evicted_count=evicted_count,
            )
        return Survey(evicted_count=evicted_count)


def _devices_and_drivers(claim: ResourceClaim) -> Iterator[Hashable]:
    if claim.status.allocation is not None:
        for device, _tolerations in devices_of(claim):
            yield device
            yield device.driver


def _is_alike(old: Pod | None, new: Pod) -> bool:
    """Whether nothing has changed that a judgement depends on."""
    return (
        old is not None
        and old.spec.node_name == new.spec.node_name
        and old.status.resource_claim_statuses == new.status.resource_claim_statuses
        and old.status.extended_resource_claim_status == new.status.extended_resource_claim_status
        and is_active(old) == is_active(new)
    )
