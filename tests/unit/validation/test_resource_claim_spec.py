from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.resource import (
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    OpaqueDeviceConfiguration,
    ResourceClaimSpec,
)
from dray.validation.findings import Findings, merge
from dray.validation.resource_claim_spec import (
    CONFIG_MAX,
    CONSTRAINTS_MAX,
    REQUESTS_MAX,
    RequestNames,
    admin_access_forbidden,
    check_claim_spec,
    declare_claim_spec,
    requests_with_admin_access,
)

NO_SHARING = FeatureGates({"DRAConsumableCapacity": False, "DRAFractionalCapacityRange": False})
MATCH = "example.com/model"
PARAMETERS = msgspec.Raw(b'{"a":1}')
REFERENCE_RULE = (
    "must be the name of a request in the claim "
    "or the name of a request and a subrequest separated by '/'"
)
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def request(name: str = "gpu", **fields: Any) -> DeviceRequest:
    exactly = ExactDeviceRequest(device_class_name="c", allocation_mode="All", **fields)
    return DeviceRequest(name=name, exactly=exactly)


def choice(name: str, *names: str) -> DeviceRequest:
    alternatives = tuple(
        DeviceSubRequest(name=name, device_class_name="c", allocation_mode="All") for name in names
    )
    return DeviceRequest(name=name, first_available=alternatives)


def spec(*requests: DeviceRequest, **fields: Any) -> ResourceClaimSpec:
    return ResourceClaimSpec(devices=DeviceClaim(requests=requests, **fields))


def constraint(**fields: Any) -> DeviceConstraint:
    return DeviceConstraint(**({"match_attribute": MATCH} | fields))


def configuration(*requests: str, driver: str = "d.example.com") -> DeviceClaimConfiguration:
    opaque = OpaqueDeviceConfiguration(driver=driver, parameters=PARAMETERS)
    return DeviceClaimConfiguration(requests=requests, opaque=opaque)


def errors(
    new: ResourceClaimSpec,
    old: ResourceClaimSpec | None = None,
    *,
    gates: FeatureGates = DEFAULT_GATES,
) -> list[str]:
    handwritten, declared = Findings(), Findings(shared=True)
    check_claim_spec(handwritten, new, "spec", gates=gates)
    declare_claim_spec(declared, new, old, "spec", version=None)
    return [str(error) for error in merge(handwritten, declared)]


def declared(new: ResourceClaimSpec, old: ResourceClaimSpec) -> list[str]:
    found = Findings(shared=True)
    declare_claim_spec(found, new, old, "spec", version=None)
    return [str(error) for error in found.errors()]


def test_a_claim_may_ask_for_nothing() -> None:
    assert errors(ResourceClaimSpec()) == []


def test_a_claim_with_everything_is_valid() -> None:
    assert (
        errors(
            spec(
                request(),
                choice("any", "big", "small"),
                constraints=(
                    constraint(requests=("gpu", "any", "any/big")),
                    DeviceConstraint(distinct_attribute=MATCH),
                ),
                config=(configuration("any/small"), configuration()),
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("gpu", True),
        ("any", True),
        ("any/big", True),
        ("any/other", False),
        ("gpu/big", False),
        ("any/big/more", False),
        ("", False),
        ("other", False),
        ("any/", False),
    ],
)
def test_a_reference_names_a_request_or_an_alternative(reference: str, found: bool) -> None:
    assert (reference in RequestNames((request(), choice("any", "big")))) == found


@pytest.mark.parametrize(
    ("reference", "complaints"),
    [
        pytest.param("other", [f'Invalid value: "other": {REFERENCE_RULE}'], id="unknown"),
        pytest.param("a/b/c", [f'Invalid value: "a/b/c": {REFERENCE_RULE}'], id="too-deep"),
        pytest.param(
            "any/B",
            [f'Invalid value: "B": {LABEL_RULE}', f'Invalid value: "any/B": {REFERENCE_RULE}'],
            id="bad-part",
        ),
    ],
)
@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param("constraints", "spec.devices.constraints[0].requests[0]", id="constraint"),
        pytest.param("config", "spec.devices.config[0].requests[0]", id="config"),
    ],
)
def test_references_are_checked_wherever_they_are(
    fields: str, path: str, reference: str, complaints: list[str]
) -> None:
    entry: Any = constraint(requests=(reference,))
    if fields == "config":
        entry = configuration(reference)
    claim = spec(choice("any", "big"), **{fields: (entry,)})
    assert errors(claim) == [f"{path}: {complaint}" for complaint in complaints]


def test_a_request_is_named_once_in_a_list_of_references() -> None:
    entry = constraint(requests=("gpu", "gpu"))
    assert errors(spec(request(), constraints=(entry,))) == [
        'spec.devices.constraints[0].requests[1]: Duplicate value: "gpu"'
    ]


@pytest.mark.parametrize(
    ("claim", "path", "count", "limit"),
    [
        pytest.param(
            spec(*(request(f"r{n}") for n in range(REQUESTS_MAX + 1))),
            "spec.devices.requests",
            33,
            32,
            id="requests",
        ),
        pytest.param(
            spec(request(), constraints=(constraint(),) * (CONSTRAINTS_MAX + 1)),
            "spec.devices.constraints",
            33,
            32,
            id="constraints",
        ),
        pytest.param(
            spec(request(), config=(configuration(),) * (CONFIG_MAX + 1)),
            "spec.devices.config",
            33,
            32,
            id="config",
        ),
        pytest.param(
            spec(request(), constraints=(constraint(requests=("x",) * (REQUESTS_MAX + 1)),)),
            "spec.devices.constraints[0].requests",
            33,
            32,
            id="references",
        ),
    ],
)
def test_a_list_that_is_too_long_is_not_looked_into(
    claim: ResourceClaimSpec, path: str, count: int, limit: int
) -> None:
    assert errors(claim) == [f"{path}: Too many: {count}: must have at most {limit} items"]


@pytest.mark.parametrize(
    ("entry", "complaints"),
    [
        pytest.param(
            DeviceConstraint(),
            [
                (
                    'spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" '
                    'or "distinctAttribute" is required, but multiple fields are set'
                )
            ],
            id="neither",
        ),
        pytest.param(constraint(distinct_attribute=MATCH), [], id="both-are-accepted"),
        pytest.param(
            constraint(match_attribute="model"),
            [
                (
                    'spec.devices.constraints[0].matchAttribute: Invalid value: "model": a fully '
                    "qualified name must be a domain and a name separated by a slash"
                )
            ],
            id="match-without-domain",
        ),
        pytest.param(
            DeviceConstraint(distinct_attribute="/model"),
            [
                (
                    "spec.devices.constraints[0].distinctAttribute: "
                    'Invalid value: "": prefix must not be empty'
                )
            ],
            id="distinct-with-empty-domain",
        ),
        pytest.param(
            constraint(distinct_attribute="example.com/"),
            [
                (
                    "spec.devices.constraints[0].distinctAttribute: "
                    'Invalid value: "": name must not be empty'
                )
            ],
            id="distinct-is-checked-beside-match",
        ),
    ],
)
def test_a_constraint_compares_one_attribute(
    entry: DeviceConstraint, complaints: list[str]
) -> None:
    assert errors(spec(request(), constraints=(entry,))) == complaints


def test_without_sharing_a_constraint_must_match() -> None:
    assert errors(spec(request(), constraints=(DeviceConstraint(),)), gates=NO_SHARING) == [
        "spec.devices.constraints[0].matchAttribute: Required value"
    ]


def test_configuration_is_opaque_or_nothing() -> None:
    assert errors(spec(request(), config=(DeviceClaimConfiguration(),))) == [
        "spec.devices.config[0].opaque: Required value"
    ]


def test_a_driver_without_name_is_told_once() -> None:
    assert errors(spec(request(), config=(configuration(driver=""),))) == [
        "spec.devices.config[0].opaque.driver: Required value"
    ]


# Only templates ever have an old spec that may differ -------------------------------------------

BAD = spec(
    DeviceRequest(name="gpu", exactly=ExactDeviceRequest(allocation_mode="Some")),
    constraints=(constraint(match_attribute="/"),),
    config=(configuration(driver=""),),
)


def test_declared_rules_do_not_look_at_what_stays() -> None:
    assert declared(BAD, BAD) == []
    assert len(declared(BAD, ResourceClaimSpec())) == 4


@pytest.mark.parametrize(
    ("part", "path"),
    [
        pytest.param({"requests": BAD.devices.requests}, "requests", id="requests"),
        pytest.param({"constraints": BAD.devices.constraints}, "constraints", id="constraints"),
        pytest.param({"config": BAD.devices.config}, "config", id="config"),
    ],
)
def test_declared_rules_look_at_what_changes(part: dict[str, Any], path: str) -> None:
    new = ResourceClaimSpec(devices=DeviceClaim(**part))
    found = declared(new, ResourceClaimSpec())
    assert found
    assert all(error.startswith(f"spec.devices.{path}[0]") for error in found)


# Admin access ----------------------------------------------------------------------------------


def test_requests_for_admin_access_are_found() -> None:
    asked = spec(
        request("a"),
        request("b", admin_access=True),
        choice("c", "d"),
        request("e", admin_access=False),
    )
    paths = requests_with_admin_access(asked)
    assert paths == ("spec.devices.requests[1].adminAccess",)
    assert str(admin_access_forbidden(paths[0])) == (
        "spec.devices.requests[1].adminAccess: Forbidden: admin access to devices requires the "
        "`resource.kubernetes.io/admin-access: true` label on the containing namespace"
    )
    assert requests_with_admin_access(ResourceClaimSpec()) == ()
