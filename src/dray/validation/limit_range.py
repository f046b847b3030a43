"""LimitRange: how much one pod or container may ask for, and what it gets by default.

Bounds and defaults of one resource are compared with each other; amounts that are negative are
not refused, as upstream does not refuse them either. Upstream counterpart: ValidateLimitRange in
pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dray.api import names
from dray.api.core import LIMIT_TYPE_CONTAINER, LIMIT_TYPE_POD, LimitRange, LimitRangeItem
from dray.api.pod_resources import overcommits
from dray.api.quantity import Quantity
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta
from dray.validation.pod_resources import check_container_resource_name, check_resource_name
from dray.validation.rulebook import Context, Rulebook, Verdict

__all__ = ["RULEBOOK"]

LIMIT_TYPE_VOLUME_CLAIM: Final = "PersistentVolumeClaim"
RESOURCE_STORAGE: Final = "storage"

_TYPES: Final = (LIMIT_TYPE_POD, LIMIT_TYPE_CONTAINER, LIMIT_TYPE_VOLUME_CLAIM)

# From here on upstream compares ratios in whole numbers, lest thousandths overflow.
_MILLI_VALUE_MAX: Final = (2**63 - 1) // 1000


def _create(new: LimitRange, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=True))
    seen: set[str] = set()
    for index, item in enumerate(new.spec.limits or ()):
        path = f"spec.limits[{index}]"
        _check_type(found, item.type, f"{path}.type")
        if item.type in seen:
            found.duplicate(f"{path}.type", item.type)
        seen.add(item.type)
        _check_item(found, item, path)
    return Verdict(found, Findings())


def _update(new: LimitRange, _old: LimitRange, context: Context) -> Verdict:
    return _create(new, context)


def _check_type(found: Findings, type_: str, path: str) -> None:
    messages = names.label_key(type_)
    for message in messages:
        found.invalid(path, type_, message)
    if not messages and "/" not in type_ and type_ not in _TYPES:
        found.invalid(path, type_, "must be a standard limit type or fully qualified")


def _check_item(found: Findings, item: LimitRangeItem, path: str) -> None:
    default, default_request = item.default, item.default_request
    _check_names(found, item, item.max, f"{path}.max")
    _check_names(found, item, item.min, f"{path}.min")
    if item.type == LIMIT_TYPE_POD:
        for name, amounts in (("default", default), ("defaultRequest", default_request)):
            if amounts:
                found.forbidden(f"{path}.{name}", "may not be specified when `type` is 'Pod'")
        default, default_request = {}, {}
    else:
        _check_names(found, item, default, f"{path}.default")
        _check_names(found, item, default_request, f"{path}.defaultRequest")
    if item.type == LIMIT_TYPE_VOLUME_CLAIM and RESOURCE_STORAGE not in {*item.min, *item.max}:
        found.required(
            f"{path}.limits",
            "either minimum or maximum storage value is required, but neither was provided",
        )
    _check_names(found, item, item.max_limit_request_ratio, f"{path}.maxLimitRequestRatio")
    resources = {
        *item.max,
        *item.min,
        *default,
        *default_request,
        *item.max_limit_request_ratio,
    }
    for resource in sorted(resources):
        _check_bounds(found, item, default, default_request, resource, path)
        _check_ratio(found, item, resource, f"{path}.maxLimitRequestRatio[{resource}]")
        _check_equal(found, default, default_request, resource, path)


def _check_names(
    found: Findings, item: LimitRangeItem, amounts: Mapping[str, Quantity], path: str
) -> None:
    ours = item.type in (LIMIT_TYPE_POD, LIMIT_TYPE_CONTAINER)
    check = check_container_resource_name if ours else check_resource_name
    for name in amounts:
        check(found, name, f"{path}[{name}]")


def _check_bounds(
    found: Findings,
    item: LimitRangeItem,
    default: Mapping[str, Quantity],
    default_request: Mapping[str, Quantity],
    resource: str,
    path: str,
) -> None:
    least, most = item.min.get(resource), item.max.get(resource)
    limit, request = default.get(resource), default_request.get(resource)
    # Which field is named, and whose value is shown, is upstream's choice in each case.
    for field, shown, lower, higher, lower_name, higher_name in (
        ("min", least, least, most, "min", "max"),
        ("defaultRequest", request, least, request, "min", "default request"),
        ("defaultRequest", request, request, most, "default request", "max"),
        ("defaultRequest", request, request, limit, "default request", "default limit"),
        ("default", least, least, limit, "min", "default"),
        ("default", most, limit, most, "default", "max"),
    ):
        if lower is not None and higher is not None and lower > higher:
            found.invalid(
                f"{path}.{field}[{resource}]",
                str(shown),
                f"{lower_name} value {lower} is greater than {higher_name} value {higher}",
            )


def _check_ratio(found: Findings, item: LimitRangeItem, resource: str, path: str) -> None:
    ratio = item.max_limit_request_ratio.get(resource)
    if ratio is None:
        return
    if ratio < Quantity.from_int(1):
        found.invalid(path, str(ratio), f"ratio {ratio} is less than 1")
    least, most = item.min.get(resource), item.max.get(resource)
    if least is None or most is None:
        return
    if max(ratio.value(), least.value(), most.value()) < _MILLI_VALUE_MAX:
        wanted = ratio.milli_value() / 1000
        limit = _divide(most.milli_value(), least.milli_value())
    else:
        wanted = float(ratio.value())
        limit = _divide(most.value(), least.value())
    if wanted > limit:
        # Less than everything is only what Go writes with a capital.
        shown = "-Inf" if limit == float("-inf") else f"{limit:f}"
        detail = f"ratio {ratio} is greater than max/min = {shown}"
        found.invalid(path, str(ratio), detail)


def _divide(a: int, b: int) -> float:
    """As machines divide: nothing goes into nought, everything else goes for ever."""
    if b:
        return a / b
    return float("nan") if a == 0 else float("inf") if a > 0 else float("-inf")


def _check_equal(
    found: Findings,
    default: Mapping[str, Quantity],
    default_request: Mapping[str, Quantity],
    resource: str,
    path: str,
) -> None:
    limit, request = default.get(resource), default_request.get(resource)
    if overcommits(resource) or limit is None or request is None or limit == request:
        return
    found.invalid(
        f"{path}.defaultRequest[{resource}]",
        str(request),
        f"default value {limit} must equal to defaultRequest value {request} in {resource}",
    )


RULEBOOK: Final = Rulebook(namespaced=True, create=_create, update=_update)
