"""ResourceQuota: what a namespace may use altogether.

A quota keeps in its status what is used. A write that would use more is charged before it is
stored: `charge` says what each quota's status has to become, the server writes those statuses, each
only if nobody was faster, and then the object. If the object is not stored after all, `refund`
takes the charge back; if that is lost, too, the quota controller counts again and finds the truth.
So what is used may be overstated for a while, never understated.

Deleting is not charged: the quota controller keeps the statuses in order, here as upstream.
Upstream counterparts: apiserver pkg/admission/plugin/resourcequota (CheckRequest), pkg/quota/v1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dray.api.core import ResourceQuota
from dray.api.quantity import Quantity
from dray.api.quota_usage import Amounts
from dray.api.wire import replace
from dray.clock import Clock
from dray.server.admission.listing import Listing
from dray.server.admission.quota_measures import (
    ClaimMeasure,
    CountMeasure,
    Measure,
    PodMeasure,
)
from dray.server.admission.refusals import forbidden
from dray.server.admission.request import AdmissionRequest, Operation
from dray.server.resources import Resource
from dray.server.state import State

__all__ = ["QuotaCharge", "ResourceQuotas", "refund"]

# Never stored, or never counted.
_IGNORED: Final = frozenset(
    {
        ("", "bindings"),
        ("", "componentstatuses"),
        ("", "events"),
        ("events.k8s.io", "events"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
    }
)

_PODS: Final = ("", "pods")
_CLAIMS: Final = ("resource.k8s.io", "resourceclaims")

_ZERO: Final = Quantity.from_int(0)


@dataclass(frozen=True, slots=True)
class QuotaCharge:
    """What a write costs one quota."""

    quota: ResourceQuota  # as it was read: write `charged` only if it is still that
    used: Mapping[str, Quantity]  # what its status has to say from now on
    added: Mapping[str, Quantity]  # the write's own part in it

    @property
    def charged(self) -> ResourceQuota:
        return replace(self.quota, status=replace(self.quota.status, used=self.used))


def refund(quota: ResourceQuota, added: Amounts) -> ResourceQuota:
    """A quota without what a charge had added to it: for a write that did not happen."""
    used = dict(quota.status.used)
    for name, amount in added.items():
        if name in used:
            used[name] = max(used[name] - amount, _ZERO)
    return replace(quota, status=replace(quota.status, used=used))


class ResourceQuotas:
    """Charges writes to quotas."""

    def __init__(self, state: State, clock: Clock) -> None:
        self._state = state
        self._quotas = Listing(state, ResourceQuota)
        self._pods = PodMeasure(clock)
        self._claims = ClaimMeasure(state, clock)
        # By group and plural; bounded by what the server serves.
        self._measures: dict[tuple[str, str], Measure] = {
            _PODS: self._pods,
            _CLAIMS: self._claims,
        }

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Whether requests of this sort can cost anything."""
        sort = (resource.group, resource.plural)
        if not resource.namespaced or sort in _IGNORED:
            return False
        if operation is Operation.UPDATE:
            return (sort == _PODS and subresource in ("", "resize")) or (
                sort == _CLAIMS and not subresource
            )
        return operation is Operation.CREATE and not subresource

    def usage_of(self, obj: Any, resource: Resource) -> Mapping[str, Quantity]:
        """What an object uses, of any quota that would ask."""
        return self._measure(resource).usage(obj, obj.metadata.namespace)

    def charge(self, request: AdmissionRequest) -> tuple[QuotaCharge, ...]:
        """What a write costs; Forbidden if a quota cannot afford it.

        Ask after everything else has agreed. Nothing is charged to a dry run, but it is refused
        for the same reasons.
        """
        quotas = self._quotas.of(request.namespace)
        if not quotas:
            return ()
        measure = self._measure(request.resource)
        if not measure.handles(request):
            return ()
        concerned = _concerned(request, measure, quotas)
        if not concerned:
            return ()
        charges = tuple(
            charge
            for quota, cost in _costs(request, measure, concerned)
            if (charge := _charge(request, quota, cost)) is not None
        )
        return () if request.dry_run else charges

    def _measure(self, resource: Resource) -> Measure:
        sort = (resource.group, resource.plural)
        measure = self._measures.get(sort)
        if measure is None:
            measure = self._measures[sort] = CountMeasure(*sort)
        return measure


def _concerned(
    request: AdmissionRequest, measure: Measure, quotas: Collection[ResourceQuota]
) -> list[ResourceQuota]:
    """The quotas a write falls under; Forbidden if one of them cannot judge it."""
    found = []
    for quota in quotas:
        names = measure.names(quota.status.hard)
        if not names or not measure.covers(quota, request.object):
            continue
        title = quota.metadata.name
        if unspecified := measure.unspecified(names, request.object):
            raise forbidden(request, f"failed quota: {title}: {unspecified}")
        if any(name not in quota.status.used for name in names):
            listed = ",".join(sorted(names))
            raise forbidden(request, f"status unknown for quota: {title}, resources: {listed}")
        found.append(quota)
    return found


def _costs(
    request: AdmissionRequest, measure: Measure, quotas: list[ResourceQuota]
) -> list[tuple[ResourceQuota, Amounts]]:
    """What a write adds to each quota: all of the new object, less what the old one had paid."""
    new = measure.usage(request.object, request.namespace)
    negative = sorted(name for name, amount in new.items() if amount.sign < 0)
    if negative:
        listed = ",".join(negative)
        raise forbidden(request, f"quota usage is negative for resource(s): {listed}")
    old = request.old
    if request.operation is not Operation.UPDATE or not old.metadata.resource_version:
        return [(quota, new) for quota in quotas]
    before = measure.usage(old, request.namespace)
    more = {
        name: amount - before[name] if name in before else amount for name, amount in new.items()
    }
    # A quota that the old object was out of scope of has not been paid anything.
    return [(quota, more if measure.covers(quota, old) else new) for quota in quotas]


def _charge(request: AdmissionRequest, quota: ResourceQuota, cost: Amounts) -> QuotaCharge | None:
    hard, used = quota.status.hard, quota.status.used
    added = {name: amount for name, amount in cost.items() if amount.sign > 0 and name in hard}
    if not added:
        return None
    total = {
        name: used[name] + amount if name in used else amount for name, amount in added.items()
    }
    exceeded = sorted(name for name in total if total[name] > hard[name])
    if exceeded:
        raise forbidden(
            request,
            f"exceeded quota: {quota.metadata.name}, requested: {_show(added, exceeded)}, "
            f"used: {_show(used, exceeded)}, limited: {_show(hard, exceeded)}",
        )
    return QuotaCharge(quota=quota, used={**used, **total}, added=added)


def _show(amounts: Amounts, names: list[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names if name in amounts)
