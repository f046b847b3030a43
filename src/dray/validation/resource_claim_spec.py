"""What a claim may ask for: requests, constraints on their devices, and configuration.

Claims and templates share these rules; `path` tells whose spec it is. `check_claim_spec` applies
the hand-written rules, `declare_claim_spec` the ones upstream's schema declares (see `findings`).
A spec is looked at as a whole: names in constraints and configuration must be those of requests.
Whether a namespace may use admin access is for the server to find out, which knows namespaces:
`requests_with_admin_access` says what to ask. Single requests are in `device_requests`. Upstream
counterpart: pkg/apis/resource/validation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dray.api.equality import semantically_equal
from dray.api.features import FeatureGates
from dray.api.resource import (
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceConstraint,
    DeviceRequest,
    ResourceClaimSpec,
)
from dray.errors import FieldError, FieldErrorType
from dray.validation.device_requests import (
    DerivedAttributeBudget,
    check_device_request,
    declare_device_requests,
)
from dray.validation.findings import Findings
from dray.validation.opaque import check_device_configuration, declare_device_configuration
from dray.validation.rules import (
    check_dns_label,
    check_fully_qualified_name,
    check_size,
    check_unique,
    declare_fully_qualified_name,
    declare_unique,
)

__all__ = [
    "ADMIN_ACCESS_LABEL",
    "CONFIG_MAX",
    "CONSTRAINTS_MAX",
    "REQUESTS_MAX",
    "RequestNames",
    "admin_access_forbidden",
    "check_claim_spec",
    "check_request_reference",
    "check_request_references",
    "declare_claim_spec",
    "declare_request_references",
    "requests_with_admin_access",
]

REQUESTS_MAX: Final = 32
CONSTRAINTS_MAX: Final = 32
CONFIG_MAX: Final = 32

# A namespace with this label set to "true" may use devices that are in use by others.
ADMIN_ACCESS_LABEL: Final = "resource.kubernetes.io/admin-access"


class RequestNames:
    """The names by which the rest of a claim may refer to its requests."""

    __slots__ = ("_names",)

    def __init__(self, requests: Sequence[DeviceRequest]) -> None:
        self._names: Mapping[str, frozenset[str]] = {
            request.name: frozenset(alternative.name for alternative in request.first_available)
            for request in requests
        }

    def __contains__(self, reference: str) -> bool:
        """Whether this is a request, or one alternative of a request as `request/alternative`."""
        name, slash, alternative = reference.partition("/")
        alternatives = self._names.get(name)
        return alternatives is not None and (not slash or alternative in alternatives)


# Hand-written rules ----------------------------------------------------------------------------


def check_claim_spec(
    found: Findings, spec: ResourceClaimSpec, path: str, *, gates: FeatureGates
) -> None:
    devices = spec.devices
    requests = devices.requests or ()
    names = RequestNames(requests)
    path = f"{path}.devices"
    budget = DerivedAttributeBudget(devices.constraints)
    if check_size(found, requests, REQUESTS_MAX, f"{path}.requests", shared=True):
        for index, request in enumerate(requests):
            where = f"{path}.requests[{index}]"
            check_device_request(found, request, where, budget=budget, gates=gates)
        keys = [request.name for request in requests]
        check_unique(found, keys, f"{path}.requests", shared=True)
    if check_size(found, devices.constraints, CONSTRAINTS_MAX, f"{path}.constraints", shared=True):
        for index, constraint in enumerate(devices.constraints):
            where = f"{path}.constraints[{index}]"
            _check_constraint(found, constraint, where, names=names, gates=gates)
    if check_size(found, devices.config, CONFIG_MAX, f"{path}.config", shared=True):
        for index, config in enumerate(devices.config):
            where = f"{path}.config[{index}]"
            check_request_references(found, config.requests, f"{where}.requests", names)
            check_device_configuration(found, config.opaque, where, stored=False)
    budget.check_total(found, path)


def _check_constraint(
    found: Findings,
    constraint: DeviceConstraint,
    path: str,
    *,
    names: RequestNames,
    gates: FeatureGates,
) -> None:
    check_request_references(found, constraint.requests, f"{path}.requests", names)
    if constraint.match_attribute is not None:
        where = f"{path}.matchAttribute"
        check_fully_qualified_name(found, constraint.match_attribute, where, shared=True)
    elif constraint.distinct_attribute is not None:
        where = f"{path}.distinctAttribute"
        check_fully_qualified_name(found, constraint.distinct_attribute, where, shared=True)
    elif "DRAConsumableCapacity" in gates:
        detail = (
            'exactly one of "matchAttribute" or "distinctAttribute" is required, '
            "but multiple fields are set"
        )
        found.required(path, detail)
    else:
        found.required(f"{path}.matchAttribute")


_REFERENCE_RULE: Final = (
    "must be the name of a request in the claim "
    "or the name of a request and a subrequest separated by '/'"
)


def check_request_references(
    found: Findings, references: Sequence[str], path: str, names: RequestNames
) -> None:
    if not check_size(found, references, REQUESTS_MAX, path, shared=True):
        return
    for index, reference in enumerate(references):
        check_request_reference(found, reference, f"{path}[{index}]", names)
    check_unique(found, references, path, shared=True)


def check_request_reference(
    found: Findings, reference: str, path: str, names: RequestNames
) -> None:
    parts = reference.split("/")
    if len(parts) <= 2:
        for part in parts:
            check_dns_label(found, part, path)
        if reference in names:
            return
    found.invalid(path, reference, _REFERENCE_RULE)


# Declared rules --------------------------------------------------------------------------------


def declare_claim_spec(
    found: Findings,
    spec: ResourceClaimSpec,
    old: ResourceClaimSpec | None,
    path: str,
    *,
    version: str | None,
) -> None:
    """What is as it was in the old spec is not looked at again."""
    devices = spec.devices
    # Nothing can be wrong with an empty list: having had none is having had an empty one.
    former = DeviceClaim() if old is None else old.devices
    path = f"{path}.devices"
    requests, known = devices.requests or (), former.requests or ()
    if not semantically_equal(requests, known) and check_size(
        found, requests, REQUESTS_MAX, f"{path}.requests"
    ):
        declare_device_requests(found, requests, known, f"{path}.requests", version=version)
    if not semantically_equal(devices.constraints, former.constraints) and check_size(
        found, devices.constraints, CONSTRAINTS_MAX, f"{path}.constraints"
    ):
        for index, constraint in enumerate(devices.constraints):
            _declare_constraint(found, constraint, f"{path}.constraints[{index}]")
    if not semantically_equal(devices.config, former.config) and check_size(
        found, devices.config, CONFIG_MAX, f"{path}.config"
    ):
        for index, config in enumerate(devices.config):
            _declare_config(found, config, f"{path}.config[{index}]", version)


def _declare_constraint(found: Findings, constraint: DeviceConstraint, path: str) -> None:
    declare_request_references(found, constraint.requests, f"{path}.requests")
    for name, attribute in (
        ("matchAttribute", constraint.match_attribute),
        ("distinctAttribute", constraint.distinct_attribute),
    ):
        if attribute is not None:
            declare_fully_qualified_name(found, attribute, f"{path}.{name}")


def _declare_config(
    found: Findings, config: DeviceClaimConfiguration, path: str, version: str | None
) -> None:
    declare_request_references(found, config.requests, f"{path}.requests")
    declare_device_configuration(found, config.opaque, path, version=version)


def declare_request_references(found: Findings, references: Sequence[str], path: str) -> None:
    if check_size(found, references, REQUESTS_MAX, path):
        declare_unique(found, references, references, path)


# Admin access ----------------------------------------------------------------------------------


def requests_with_admin_access(spec: ResourceClaimSpec) -> tuple[str, ...]:
    """Where a spec asks for admin access; the namespace must allow it if there is any.

    Upstream's paths name neither `exactly` nor the template around the spec, and it reports only
    the first.
    """
    return tuple(
        f"spec.devices.requests[{index}].adminAccess"
        for index, request in enumerate(spec.devices.requests or ())
        if request.exactly is not None and request.exactly.admin_access
    )


def admin_access_forbidden(path: str) -> FieldError:
    """What to tell a client whose namespace does not allow admin access."""
    detail = (
        f"admin access to devices requires the `{ADMIN_ACCESS_LABEL}: true` label "
        "on the containing namespace"
    )
    return FieldError(FieldErrorType.FORBIDDEN, path, "", detail)
