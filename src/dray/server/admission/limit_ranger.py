"""LimitRanger: what pods and containers of a namespace ask for by default, at least and at most.

Defaults go into containers before anything else looks at the pod, and an annotation says which;
bounds are checked on what came of it. All limit ranges of a namespace apply, in the order of their
names. Bounds on persistent volume claims are not checked: the kind is not served. Upstream
counterpart: plugin/pkg/admission/limitranger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dray.api.core import (
    LIMIT_TYPE_CONTAINER,
    LIMIT_TYPE_POD,
    Container,
    LimitRange,
    LimitRangeItem,
    Pod,
)
from dray.api.pod_resources import POD_LEVEL_RESOURCES, sum_limits, sum_requests
from dray.api.quantity import Quantity
from dray.api.wire import replace
from dray.server.admission.listing import Listing
from dray.server.admission.refusals import aggregate, forbidden
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.resources import Resource
from dray.server.state import State

__all__ = ["LIMIT_RANGER_ANNOTATION", "LimitRanger"]

LIMIT_RANGER_ANNOTATION: Final = "kubernetes.io/limit-ranger"

# Up to here thousandths of a unit fit an int64, and upstream compares by them.
_MILLI_MAX: Final = (2**63 - 1) // 1000

_ZERO: Final = Quantity.from_int(0)

Amounts = Mapping[str, Quantity]


class LimitRanger(Plugin):
    """Applies the limit ranges of a namespace to its new and resized pods."""

    def __init__(self, state: State) -> None:
        self._limit_ranges = Listing(state, LimitRange)

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        # Other updates cannot change what containers ask for.
        return (resource.group, resource.plural) == ("", "pods") and (subresource, operation) in (
            ("", Operation.CREATE),
            ("resize", Operation.UPDATE),
        )

    def admit(self, request: AdmissionRequest) -> Any:
        pod: Pod = request.object
        if _is_going(request.old):
            return pod
        for limit_range in self._limit_ranges.of(request.namespace):
            pod = _fill_in(pod, limit_range)
        return pod

    def validate(self, request: AdmissionRequest) -> None:
        limit_ranges = self._limit_ranges.of(request.namespace)
        if not limit_ranges or _is_going(request.old):
            return
        for limit_range in limit_ranges:
            broken = [
                rule
                for item in limit_range.spec.limits or ()
                for rule in _broken_rules(request.object, item)
            ]
            if broken:
                raise forbidden(request, aggregate(broken))


def _is_going(old: Pod | None) -> bool:
    return old is not None and old.metadata.deletion_timestamp is not None


# Defaults --------------------------------------------------------------------------------------


def _fill_in(pod: Pod, limit_range: LimitRange) -> Pod:
    limits: dict[str, Quantity] = {}
    requests: dict[str, Quantity] = {}
    for item in limit_range.spec.limits or ():
        if item.type == LIMIT_TYPE_CONTAINER:
            limits.update(item.default)
            requests.update(item.default_request)
    if not limits and not requests:
        return pod
    told: list[str] = []
    containers = tuple(
        _fill_in_container(container, limits, requests, "container", told)
        for container in pod.spec.containers or ()
    )
    init_containers = tuple(
        _fill_in_container(container, limits, requests, "init container", told)
        for container in pod.spec.init_containers
    )
    if not told:
        return pod
    annotation = f"LimitRanger plugin set: {'; '.join(told)}"
    metadata = replace(
        pod.metadata,
        annotations={**pod.metadata.annotations, LIMIT_RANGER_ANNOTATION: annotation},
    )
    spec = replace(pod.spec, containers=containers, init_containers=init_containers)
    return replace(pod, metadata=metadata, spec=spec)


def _fill_in_container(
    container: Container, limits: Amounts, requests: Amounts, noun: str, told: list[str]
) -> Container:
    resources = container.resources
    changes: dict[str, Amounts] = {}
    for what, given, defaults in (
        ("request", resources.requests, requests),
        ("limit", resources.limits, limits),
    ):
        missing = sorted(defaults.keys() - given.keys())
        if missing:
            changes[f"{what}s"] = {**given, **{name: defaults[name] for name in missing}}
            told.append(f"{', '.join(missing)} {what} for {noun} {container.name}")
    return replace(container, resources=replace(resources, **changes)) if changes else container


# Bounds ----------------------------------------------------------------------------------------


def _broken_rules(pod: Pod, item: LimitRangeItem) -> Iterator[str]:
    if item.type == LIMIT_TYPE_CONTAINER:
        for container in (*(pod.spec.containers or ()), *pod.spec.init_containers):
            resources = container.resources
            yield from _broken_bounds(item, resources.requests, resources.limits)
    elif item.type == LIMIT_TYPE_POD:
        requests, limits = sum_requests(pod.spec), sum_limits(pod.spec)
        if pod.spec.resources is not None:
            requests |= _pod_level(pod.spec.resources.requests)
            limits |= _pod_level(pod.spec.resources.limits)
        yield from _broken_bounds(item, requests, limits)


def _pod_level(amounts: Amounts) -> dict[str, Quantity]:
    """What a pod sets for itself, of the resources for which that counts here: no huge pages."""
    return {name: amounts[name] for name in POD_LEVEL_RESOURCES if name in amounts}


def _broken_bounds(item: LimitRangeItem, requests: Amounts, limits: Amounts) -> Iterator[str]:
    # Upstream reports the bounds of one sort in random order.
    for name in sorted(item.min):
        yield from _below_minimum(name, item, requests.get(name), limits.get(name))
    for name in sorted(item.max):
        yield from _above_maximum(name, item, requests.get(name), limits.get(name))
    for name in sorted(item.max_limit_request_ratio):
        yield from _above_ratio(name, item, requests.get(name), limits.get(name))


def _below_minimum(
    name: str, item: LimitRangeItem, request: Quantity | None, limit: Quantity | None
) -> Iterator[str]:
    enforced = item.min[name]
    rule = f"minimum {name} usage per {item.type} is {enforced}"
    asked, allowed, bound = _comparable(request, limit, enforced)
    if request is None:
        yield f"{rule}.  No request is specified"
    elif asked < bound:
        yield f"{rule}, but request is {request}"
    elif limit is not None and allowed < bound:
        yield f"{rule}, but limit is {limit}"


def _above_maximum(
    name: str, item: LimitRangeItem, request: Quantity | None, limit: Quantity | None
) -> Iterator[str]:
    enforced = item.max[name]
    rule = f"maximum {name} usage per {item.type} is {enforced}"
    asked, allowed, bound = _comparable(request, limit, enforced)
    if limit is None:
        yield f"{rule}.  No limit is specified"
    elif allowed > bound:
        yield f"{rule}, but limit is {limit}"
    elif request is not None and asked > bound:
        yield f"{rule}, but request is {request}"


def _above_ratio(
    name: str, item: LimitRangeItem, request: Quantity | None, limit: Quantity | None
) -> Iterator[str]:
    enforced = item.max_limit_request_ratio[name]
    rule = f"{name} max limit to request ratio per {item.type} is {enforced}"
    asked, allowed, _ = _comparable(request, limit, enforced)
    if request is None or not asked:
        yield f"{rule}, but no request is specified or request is 0"
        return
    if limit is None or not allowed:
        yield f"{rule}, but no limit is specified or limit is 0"
        return
    ratio = allowed / asked
    whole = enforced.value()
    exceeded = (
        ratio * 1000 > enforced.milli_value() if whole <= _MILLI_MAX else ratio > float(whole)
    )
    if exceeded:
        yield f"{rule}, but provided ratio is {ratio:f}"


def _comparable(
    request: Quantity | None, limit: Quantity | None, enforced: Quantity
) -> tuple[int, int, int]:
    """The three at one precision: thousandths where all of them fit, else whole units."""
    amounts = (request or _ZERO, limit or _ZERO, enforced)
    asked, allowed, bound = (amount.value() for amount in amounts)
    if max(asked, allowed, bound) <= _MILLI_MAX:
        asked, allowed, bound = (amount.milli_value() for amount in amounts)
    return asked, allowed, bound
