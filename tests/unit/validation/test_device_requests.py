from __future__ import annotations

from typing import Any

import pytest

from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.resource import (
    CELDeviceSelector,
    DeviceConstraint,
    DeviceDerivedAttribute,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
)
from dray.api.wire import replace
from dray.validation.device_requests import (
    ALTERNATIVES_MAX,
    DERIVED_ATTRIBUTES_COST_MAX,
    DERIVED_ATTRIBUTES_MAX,
    DerivedAttributeBudget,
    check_device_request,
    declare_device_requests,
)
from dray.validation.findings import Findings, merge

HALF = "example.com/half"
DERIVED = DeviceDerivedAttribute(name=HALF, expression='"x"')
EVERYWHERE = DeviceConstraint(match_attribute=HALF)
SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
ONE: dict[str, Any] = {"device_class_name": "c", "allocation_mode": "ExactCount", "count": 1}


def exact(**fields: Any) -> DeviceRequest:
    return DeviceRequest(name="gpu", exactly=ExactDeviceRequest(**(ONE | fields)))


def alternative(name: str = "big", **fields: Any) -> DeviceSubRequest:
    return DeviceSubRequest(name=name, **(ONE | fields))


def choice(*alternatives: DeviceSubRequest, **fields: Any) -> DeviceRequest:
    return DeviceRequest(name="any", first_available=alternatives, **fields)


def errors(
    request: DeviceRequest,
    *constraints: DeviceConstraint,
    version: str | None = None,
    gates: FeatureGates = DEFAULT_GATES,
) -> list[str]:
    handwritten, declared = Findings(), Findings(shared=True)
    budget = DerivedAttributeBudget(constraints)
    check_device_request(handwritten, request, "requests[0]", budget=budget, gates=gates)
    budget.check_total(handwritten, "devices")
    declare_device_requests(declared, (request,), (), "requests", version=version)
    return [str(error) for error in merge(handwritten, declared)]


def declared(new: DeviceRequest, *old: DeviceRequest, version: str | None = None) -> list[str]:
    found = Findings(shared=True)
    declare_device_requests(found, (new,), old, "requests", version=version)
    return [str(error) for error in found.errors()]


@pytest.mark.parametrize(
    ("request_", "complaints"),
    [
        pytest.param(exact(), [], id="exact"),
        pytest.param(choice(alternative()), [], id="choice"),
        pytest.param(
            DeviceRequest(name="gpu"),
            ["Required value: exactly one of `exactly` or `firstAvailable` is required"],
            id="neither",
        ),
        pytest.param(
            choice(alternative(name=""), exactly=ExactDeviceRequest(allocation_mode="All")),
            [
                (
                    "Invalid value: null: exactly one of `exactly` or `firstAvailable` is "
                    "required, but multiple fields are set"
                )
            ],
            id="both",
        ),
    ],
)
def test_a_request_is_exact_or_a_choice(request_: DeviceRequest, complaints: list[str]) -> None:
    assert errors(request_) == [f"requests[0]: {complaint}" for complaint in complaints]


@pytest.mark.parametrize(
    ("fields", "complaints"),
    [
        pytest.param({"count": 0}, [".count: Invalid value: 0: must be greater than zero"], id="0"),
        pytest.param(
            {"count": -1}, [".count: Invalid value: -1: must be greater than zero"], id="negative"
        ),
        pytest.param(
            {"allocation_mode": "All"},
            [".count: Invalid value: 1: must not be specified when allocationMode is 'All'"],
            id="all-with-count",
        ),
        pytest.param({"allocation_mode": "All", "count": 0}, [], id="all"),
        pytest.param(
            {"allocation_mode": "Some"},
            ['.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"'],
            id="unknown-mode",
        ),
        pytest.param(
            {"allocation_mode": ""},
            ['.allocationMode: Unsupported value: "": supported values: "All", "ExactCount"'],
            id="no-mode",
        ),
        pytest.param(
            {"device_class_name": ""}, [".deviceClassName: Required value"], id="no-class"
        ),
        pytest.param(
            {"device_class_name": "A"},
            [f'.deviceClassName: Invalid value: "A": {SUBDOMAIN_RULE}'],
            id="bad-class",
        ),
        pytest.param(
            {"selectors": (DeviceSelector(),)}, [".selectors[0].cel: Required value"], id="no-cel"
        ),
        pytest.param(
            {"selectors": (DeviceSelector(cel=CELDeviceSelector(expression="true")),) * 33},
            [".selectors: Too many: 33: must have at most 32 items"],
            id="selectors",
        ),
        pytest.param(
            {"tolerations": (DeviceToleration(operator="Exists", value="x"),)},
            ['.tolerations[0].value: Invalid value: "x": must be empty for operator `Exists`'],
            id="toleration",
        ),
        pytest.param(
            {"tolerations": (DeviceToleration(),)},
            [".tolerations[0].operator: Required value"],
            id="toleration-told-once",
        ),
    ],
)
def test_both_forms_follow_the_same_rules(fields: dict[str, Any], complaints: list[str]) -> None:
    assert errors(exact(**fields)) == [f"requests[0].exactly{text}" for text in complaints]
    assert errors(choice(alternative(**fields))) == [
        f"requests[0].firstAvailable[0]{text}" for text in complaints
    ]


def test_alternatives_are_few_and_have_different_names() -> None:
    assert errors(choice(*(alternative(f"a{n}") for n in range(ALTERNATIVES_MAX + 1)))) == [
        "requests[0].firstAvailable: Too many: 9: must have at most 8 items"
    ]
    assert errors(choice(alternative(), alternative(count=2))) == [
        (
            'requests[0].firstAvailable[1]: Duplicate value: {"name":"big","deviceClassName":"c",'
            '"allocationMode":"ExactCount","count":2}'
        )
    ]


# Derived attributes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("references", "exact_serves", "alternative_serves"),
    [
        pytest.param((), True, True, id="constraint-on-all"),
        pytest.param(("gpu",), True, False, id="constraint-on-the-request"),
        pytest.param(("any",), False, True, id="constraint-on-the-choice"),
        pytest.param(("any/big",), False, True, id="constraint-on-the-alternative"),
        pytest.param(("any/small", "x"), False, False, id="constraint-on-others"),
    ],
)
@pytest.mark.parametrize("kind", ["match_attribute", "distinct_attribute"])
def test_a_derived_attribute_serves_a_constraint(
    kind: str, references: tuple[str, ...], exact_serves: bool, alternative_serves: bool
) -> None:
    attribute: dict[str, Any] = {kind: HALF}
    constraint = DeviceConstraint(requests=references, **attribute)
    complaint = (
        ".derivedAttributes[0].name: "
        'Invalid value: "example.com/half": must be referenced by at least one matchAttribute or '
        "distinctAttribute constraint targeting this request"
    )
    assert errors(exact(derived_attributes=(DERIVED,)), constraint) == (
        [] if exact_serves else [f"requests[0].exactly{complaint}"]
    )
    assert errors(choice(alternative(derived_attributes=(DERIVED,))), constraint) == (
        [] if alternative_serves else [f"requests[0].firstAvailable[0]{complaint}"]
    )


def test_a_constraint_without_attribute_serves_nothing() -> None:
    assert not DerivedAttributeBudget((DeviceConstraint(),)).serves("", "gpu")


@pytest.mark.parametrize(
    ("attributes", "complaints"),
    [
        pytest.param(
            (DeviceDerivedAttribute(),),
            ["[0].name: Required value", "[0].expression: Required value"],
            id="empty",
        ),
        pytest.param(
            (DERIVED, DERIVED), ['[1]: Duplicate value: "example.com/half"'], id="named-twice"
        ),
        pytest.param(
            tuple(
                replace(DERIVED, name=f"example.com/a{n}")
                for n in range(DERIVED_ATTRIBUTES_MAX + 1)
            ),
            [": Too many: 33: must have at most 32 items"],
            id="too-many",
        ),
    ],
)
def test_derived_attributes_are_named_and_computed(
    attributes: tuple[DeviceDerivedAttribute, ...], complaints: list[str]
) -> None:
    constraints = [DeviceConstraint(match_attribute=attribute.name) for attribute in attributes]
    assert errors(exact(derived_attributes=attributes), *constraints) == [
        f"requests[0].exactly.derivedAttributes{text}" for text in complaints
    ]


def test_derived_attributes_share_one_budget() -> None:
    budget = DerivedAttributeBudget(())
    found = Findings()
    budget.spend(DERIVED_ATTRIBUTES_COST_MAX)
    budget.check_total(found, "devices")
    assert len(found) == 0
    budget.spend(1)
    budget.check_total(found, "devices")
    assert [str(error) for error in found.errors()] == [
        (
            "devices: Forbidden: too complex, total cost of derived attribute CEL expressions "
            "in the claim exceeds cost limit"
        )
    ]


def test_what_an_expression_costs_is_spent() -> None:
    long = '"' + "x" * 100 + '"'
    product = "+".join([long] * 40)
    costly = DeviceDerivedAttribute(name=HALF, expression=f"({product}).matches({long}) ? 1 : 2")
    budget = DerivedAttributeBudget((EVERYWHERE,))
    found = Findings()
    for _ in range(200):
        check_device_request(
            found, exact(derived_attributes=(costly,)), "r", budget=budget, gates=DEFAULT_GATES
        )
    assert len(found) == 0
    budget.check_total(found, "devices")
    assert len(found) == 1


# Ratcheting and versions -----------------------------------------------------------------------

BAD_FIELDS: dict[str, Any] = {
    "selectors": (DeviceSelector(),) * 33,
    "allocation_mode": "Some",
    "tolerations": (DeviceToleration(),),
    "derived_attributes": (DeviceDerivedAttribute(),),
}


def test_declared_rules_skip_what_the_old_request_has() -> None:
    bad = exact(**BAD_FIELDS)
    assert declared(bad, bad) == []
    assert len(declared(bad)) == 5
    assert len(declared(bad, DeviceRequest(name="other", exactly=bad.exactly))) == 5
    renewed = exact(**BAD_FIELDS, device_class_name="other")
    assert declared(renewed, bad) == []


@pytest.mark.parametrize("field", BAD_FIELDS)
def test_declared_rules_look_at_each_changed_field(field: str) -> None:
    assert declared(exact(**{field: BAD_FIELDS[field]}), exact())
    new = choice(alternative(**{field: BAD_FIELDS[field]}))
    assert declared(new, choice(alternative()))
    assert declared(new, choice(alternative(**{field: BAD_FIELDS[field]}, count=9))) == []


def test_declared_rules_look_at_a_changed_class_of_an_alternative() -> None:
    new = choice(alternative(device_class_name=""))
    assert declared(new, choice(alternative())) == [
        "requests[0].firstAvailable[0].deviceClassName: Required value"
    ]
    assert declared(choice(alternative(device_class_name="", count=2)), new) == []
    assert declared(choice(alternative(), alternative("new", device_class_name="")), new) == [
        "requests[0].firstAvailable[1].deviceClassName: Required value"
    ]
    assert declared(choice(*new.first_available, alternative("new")), new) == []


def test_at_v1beta1_alternatives_stand_among_the_fields_of_the_request() -> None:
    both = choice(
        alternative(device_class_name=""),
        exactly=ExactDeviceRequest(allocation_mode="Some", tolerations=(DeviceToleration(),)),
    )
    assert [error.partition(":")[0] for error in declared(both)] == [
        "requests[0].exactly.allocationMode",
        "requests[0].exactly.tolerations[0].operator",
        "requests[0].firstAvailable[0].deviceClassName",
    ]
    assert [error.partition(":")[0] for error in declared(both, version="v1beta1")] == [
        "requests[0].exactly.allocationMode",
        "requests[0].firstAvailable[0].deviceClassName",
        "requests[0].exactly.tolerations[0].operator",
    ]


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        pytest.param(
            "v1beta2",
            '{"name":"gpu","exactly":'
            '{"deviceClassName":"c","allocationMode":"ExactCount","count":1}}',
            id="v1beta2",
        ),
        pytest.param(
            "v1beta1",
            '{"name":"gpu","deviceClassName":"c","allocationMode":"ExactCount","count":1}',
            id="v1beta1",
        ),
    ],
)
def test_a_duplicate_request_is_shown_as_its_version_writes_it(version: str, shown: str) -> None:
    found = Findings(shared=True)
    declare_device_requests(found, (exact(), exact()), (), "requests", version=version)
    assert [str(error) for error in found.errors()] == [f"requests[1]: Duplicate value: {shown}"]
