"""The requests of a claim, one by one: class, selectors, count, tolerations, derived attributes.

A request asks for devices of one class, or lists alternatives that each do. Upstream counterpart:
pkg/apis/resource/validation; for `declare_device_requests`, the declared rules of each version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from dray.api.equality import semantically_equal
from dray.api.features import FeatureGates
from dray.api.resource import (
    ALLOCATION_MODE_ALL,
    ALLOCATION_MODE_EXACT_COUNT,
    DeviceClaim,
    DeviceConstraint,
    DeviceDerivedAttribute,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    v1beta1,
)
from dray.validation.findings import Findings
from dray.validation.rules import (
    check_dns_label,
    check_dns_subdomain,
    check_size,
    check_unique,
    declare_dns_subdomain,
    declare_fully_qualified_name,
)
from dray.validation.selectors import SELECTORS_MAX, check_derived_attribute, check_selectors
from dray.validation.shown import as_wire
from dray.validation.taints import check_toleration, declare_toleration

__all__ = [
    "ALTERNATIVES_MAX",
    "DERIVED_ATTRIBUTES_COST_MAX",
    "DERIVED_ATTRIBUTES_MAX",
    "DerivedAttributeBudget",
    "check_device_request",
    "declare_device_requests",
]

ALTERNATIVES_MAX: Final = 8
DERIVED_ATTRIBUTES_MAX: Final = 32
# All of a claim's derived attributes together may cost as much as one selector: the allocator
# computes each for every device it looks at.
DERIVED_ATTRIBUTES_COST_MAX: Final = 1_000_000

_MODES: Final = (ALLOCATION_MODE_ALL, ALLOCATION_MODE_EXACT_COUNT)

_Asked = ExactDeviceRequest | DeviceSubRequest


class DerivedAttributeBudget:
    """What the derived attributes of one claim are for, and what they cost so far."""

    __slots__ = ("_compared", "_cost")

    def __init__(self, constraints: Sequence[DeviceConstraint]) -> None:
        self._cost = 0
        # Attribute and request; the empty name stands for all requests.
        self._compared: set[tuple[str, str]] = set()
        for constraint in constraints:
            attribute = constraint.match_attribute
            if attribute is None:
                attribute = constraint.distinct_attribute
            if attribute is not None:
                for request in constraint.requests or ("",):
                    self._compared.add((attribute, request))

    def serves(self, attribute: str, request: str) -> bool:
        """Whether a constraint compares this attribute of this request or alternative."""
        whole = request.partition("/")[0]
        return any((attribute, name) in self._compared for name in ("", request, whole))

    def spend(self, cost: int) -> None:
        self._cost += cost

    def check_total(self, found: Findings, path: str) -> None:
        if self._cost > DERIVED_ATTRIBUTES_COST_MAX:
            found.forbidden(
                path,
                "too complex, total cost of derived attribute CEL expressions in the claim "
                "exceeds cost limit",
            )


# Hand-written rules ----------------------------------------------------------------------------


def check_device_request(
    found: Findings,
    request: DeviceRequest,
    path: str,
    *,
    budget: DerivedAttributeBudget,
    gates: FeatureGates,
) -> None:
    check_dns_label(found, request.name, f"{path}.name")
    rule = "exactly one of `exactly` or `firstAvailable` is required"
    if request.exactly is None and not request.first_available:
        found.required(path, rule)
    elif request.exactly is not None and request.first_available:
        found.invalid(path, None, f"{rule}, but multiple fields are set")
    elif request.exactly is not None:
        where = f"{path}.exactly"
        class_path = f"{where}.deviceClassName"
        _check_class(found, request.exactly.device_class_name, class_path, shared=False)
        _check_asked(found, request.exactly, request.name, where, budget=budget, gates=gates)
    else:
        _check_alternatives(found, request, f"{path}.firstAvailable", budget=budget, gates=gates)


def _check_alternatives(
    found: Findings,
    request: DeviceRequest,
    path: str,
    *,
    budget: DerivedAttributeBudget,
    gates: FeatureGates,
) -> None:
    alternatives = request.first_available
    if not check_size(found, alternatives, ALTERNATIVES_MAX, path, shared=True):
        return
    for index, alternative in enumerate(alternatives):
        where = f"{path}[{index}]"
        check_dns_label(found, alternative.name, f"{where}.name")
        class_path = f"{where}.deviceClassName"
        _check_class(found, alternative.device_class_name, class_path, shared=True)
        reference = f"{request.name}/{alternative.name}"
        _check_asked(found, alternative, reference, where, budget=budget, gates=gates)
    check_unique(found, [item.name for item in alternatives], path, shared=True)


def _check_class(found: Findings, name: str, path: str, *, shared: bool) -> None:
    if not name:
        found.required(path, shared=shared)
    else:
        check_dns_subdomain(found, name, path, shared=shared)


def _check_asked(
    found: Findings,
    asked: _Asked,
    reference: str,
    path: str,
    *,
    budget: DerivedAttributeBudget,
    gates: FeatureGates,
) -> None:
    check_selectors(found, asked.selectors, f"{path}.selectors", gates=gates)
    derived = asked.derived_attributes
    for index, attribute in enumerate(derived):
        where = f"{path}.derivedAttributes[{index}]"
        _check_derived(found, attribute, reference, where, budget=budget, gates=gates)
    check_unique(found, [attribute.name for attribute in derived], f"{path}.derivedAttributes")
    _check_count(found, asked, path)
    for index, toleration in enumerate(asked.tolerations):
        check_toleration(found, toleration, f"{path}.tolerations[{index}]")


def _check_derived(
    found: Findings,
    attribute: DeviceDerivedAttribute,
    reference: str,
    path: str,
    *,
    budget: DerivedAttributeBudget,
    gates: FeatureGates,
) -> None:
    # That both are there at all is a declared rule.
    if attribute.name and not budget.serves(attribute.name, reference):
        detail = (
            "must be referenced by at least one matchAttribute or distinctAttribute constraint "
            "targeting this request"
        )
        found.invalid(f"{path}.name", attribute.name, detail)
    if attribute.expression:
        where = f"{path}.expression"
        budget.spend(check_derived_attribute(found, attribute.expression, where, gates=gates))


def _check_count(found: Findings, asked: _Asked, path: str) -> None:
    mode, count = asked.allocation_mode, asked.count
    if mode == ALLOCATION_MODE_ALL:
        if count != 0:
            detail = f"must not be specified when allocationMode is '{mode}'"
            found.invalid(f"{path}.count", count, detail)
    elif mode == ALLOCATION_MODE_EXACT_COUNT:
        if count <= 0:
            found.invalid(f"{path}.count", count, "must be greater than zero")
    else:
        found.not_supported(f"{path}.allocationMode", mode, _MODES, shared=True)


# Declared rules --------------------------------------------------------------------------------


def declare_device_requests(
    found: Findings,
    requests: Sequence[DeviceRequest],
    old: Sequence[DeviceRequest],
    path: str,
    *,
    version: str | None,
) -> None:
    """Requests, and parts of them, that an old request of the same name has are not looked at."""
    show = _as_v1beta1 if version == "v1beta1" else as_wire
    _declare_unique_names(found, requests, path, show)
    for index, request in enumerate(requests):
        former = _named(old, request.name)
        if former is not None and semantically_equal(request, former):
            continue
        where = f"{path}[{index}]"
        exactly, known = request.exactly, former.exactly if former else None
        alternatives = request.first_available, former.first_available if former else ()
        if exactly is not None:
            _declare_asked(found, exactly, known, f"{where}.exactly")
        if version == "v1beta1":
            # There the alternatives stand between the fields of the request itself.
            _declare_alternatives(found, *alternatives, f"{where}.firstAvailable")
        if exactly is not None:
            _declare_rest(found, exactly, known, f"{where}.exactly")
        if version != "v1beta1":
            _declare_alternatives(found, *alternatives, f"{where}.firstAvailable")


def _declare_alternatives(
    found: Findings,
    alternatives: Sequence[DeviceSubRequest],
    old: Sequence[DeviceSubRequest],
    path: str,
) -> None:
    if semantically_equal(alternatives, old):
        return
    if not check_size(found, alternatives, ALTERNATIVES_MAX, path):
        return
    _declare_unique_names(found, alternatives, path, as_wire)
    for index, alternative in enumerate(alternatives):
        former = _named(old, alternative.name)
        if former is not None and semantically_equal(alternative, former):
            continue
        where = f"{path}[{index}]"
        name = alternative.device_class_name
        if former is None or former.device_class_name != name:
            _declare_class(found, name, f"{where}.deviceClassName")
        _declare_asked(found, alternative, former, where)
        _declare_rest(found, alternative, former, where)


def _declare_class(found: Findings, name: str, path: str) -> None:
    if not name:
        found.required(path)
    else:
        declare_dns_subdomain(found, name, path)


def _declare_asked(found: Findings, asked: _Asked, old: _Asked | None, path: str) -> None:
    if _is_new(asked, old, "selectors"):
        check_size(found, asked.selectors, SELECTORS_MAX, f"{path}.selectors")
    mode = asked.allocation_mode
    if mode and mode not in _MODES and _is_new(asked, old, "allocation_mode"):
        found.not_supported(f"{path}.allocationMode", mode, _MODES)


def _declare_rest(found: Findings, asked: _Asked, old: _Asked | None, path: str) -> None:
    if _is_new(asked, old, "tolerations"):
        for index, toleration in enumerate(asked.tolerations):
            declare_toleration(found, toleration, f"{path}.tolerations[{index}]")
    derived = asked.derived_attributes
    path = f"{path}.derivedAttributes"
    if _is_new(asked, old, "derived_attributes") and check_size(
        found, derived, DERIVED_ATTRIBUTES_MAX, path, shared=False
    ):
        for index, attribute in enumerate(derived):
            _declare_derived(found, attribute, f"{path}[{index}]")


def _declare_derived(found: Findings, attribute: DeviceDerivedAttribute, path: str) -> None:
    if not attribute.name:
        found.required(f"{path}.name", shared=False)
    else:
        declare_fully_qualified_name(found, attribute.name, f"{path}.name", shared=False)
    if not attribute.expression:
        found.required(f"{path}.expression", shared=False)


def _is_new(asked: _Asked, old: _Asked | None, field: str) -> bool:
    return old is None or not semantically_equal(getattr(asked, field), getattr(old, field))


N = TypeVar("N", DeviceRequest, DeviceSubRequest)


def _named(items: Sequence[N], name: str) -> N | None:
    return next((item for item in items if item.name == name), None)


def _declare_unique_names(
    found: Findings, items: Sequence[N], path: str, show: Callable[[N], Any]
) -> None:
    seen: set[str] = set()
    for index, item in enumerate(items):
        if item.name in seen:
            found.duplicate(f"{path}[{index}]", show(item))
        seen.add(item.name)


def _as_v1beta1(request: DeviceRequest) -> Any:
    """The request as v1beta1 writes it, without `exactly`."""
    claim = ResourceClaim(spec=ResourceClaimSpec(devices=DeviceClaim(requests=(request,))))
    (written,) = v1beta1.claim_from_v1(claim).spec.devices.requests or ()
    return as_wire(written)
