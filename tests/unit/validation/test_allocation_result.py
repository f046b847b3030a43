from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dray.api.core import NodeSelector
from dray.api.resource import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceToleration,
    OpaqueDeviceConfiguration,
)
from dray.validation.allocation_result import (
    ALLOCATION_CONFIG_MAX,
    RESULTS_MAX,
    check_allocation_result,
    declare_allocation_result,
)
from dray.validation.findings import Findings, merge
from dray.validation.resource_claim_spec import RequestNames

NAMES = RequestNames((DeviceRequest(name="gpu"),))
SHARE = "550e8400-e29b-41d4-a716-446655440000"
OPAQUE = OpaqueDeviceConfiguration(driver="d.example.com", parameters=msgspec.Raw(b"{}"))


def result(**fields: Any) -> DeviceRequestAllocationResult:
    whole: dict[str, Any] = {"request": "gpu", "driver": "d", "pool": "p", "device": "x"} | fields
    return DeviceRequestAllocationResult(**whole)


def config(**fields: Any) -> DeviceAllocationConfiguration:
    whole: dict[str, Any] = {"source": "FromClaim", "opaque": OPAQUE} | fields
    return DeviceAllocationConfiguration(**whole)


def allocation(*results: DeviceRequestAllocationResult, **devices: Any) -> AllocationResult:
    return AllocationResult(devices=DeviceAllocationResult(results=results, **devices))


def errors(given: AllocationResult) -> list[str]:
    handwritten, declared = Findings(), Findings(shared=True)
    check_allocation_result(handwritten, given, "allocation", NAMES)
    declare_allocation_result(declared, given, "allocation", version=None)
    return [str(error) for error in merge(handwritten, declared)]


def test_a_full_result_is_valid() -> None:
    full = result(
        share_id=SHARE,
        tolerations=(DeviceToleration(operator="Exists"),),
        binding_conditions=("a",),
        binding_failure_conditions=("b",),
        skip_node_operations=("*",),
    )
    assert errors(allocation(full, config=(config(requests=("gpu",)),))) == []


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        pytest.param(
            {"request": "other"},
            '.request: Invalid value: "other": must be the name of a request in the claim or the '
            "name of a request and a subrequest separated by '/'",
            id="request",
        ),
        pytest.param({"driver": ""}, ".driver: Required value", id="driver"),
        pytest.param({"pool": ""}, ".pool: Required value", id="pool"),
        pytest.param(
            {"pool": "p//q"},
            '.pool: Invalid value: "p//q": segment 1: must not be empty',
            id="pool-segment",
        ),
        pytest.param(
            {"device": "a.b"}, '.device: Invalid value: "a.b": must not contain dots', id="device"
        ),
        pytest.param(
            {"share_id": SHARE.upper()},
            f'.shareID: Invalid value: "{SHARE.upper()}": must be a lowercase UUID in 8-4-4-4-12 '
            "format",
            id="share",
        ),
        pytest.param(
            {"tolerations": (DeviceToleration(operator="Near"),)},
            '.tolerations[0].operator: Unsupported value: "Near": supported values: "Equal", '
            '"Exists"',
            id="toleration",
        ),
        pytest.param(
            {"binding_conditions": ("a",)},
            ".bindingFailureConditions: Invalid value: null: bindingFailureConditions are "
            "required to use bindingConditions",
            id="binding-conditions",
        ),
        pytest.param(
            {"binding_conditions": tuple("abcde"), "binding_failure_conditions": ("x",)},
            ".bindingConditions: Too many: 5: must have at most 4 items",
            id="too-many-binding-conditions",
        ),
        pytest.param(
            {"skip_node_operations": ("NodePrepareResources",)},
            '.skipNodeOperations: Invalid value: ["NodePrepareResources"]: NodePrepareResources '
            "cannot be skipped unless NodeUnprepareResources is also skipped",
            id="skip-only-prepare",
        ),
        pytest.param(
            {"skip_node_operations": ("Sing",)},
            '.skipNodeOperations[0]: Unsupported value: "Sing": supported values: "*", '
            '"NodePrepareResources", "NodeUnprepareResources"',
            id="skip-unknown",
        ),
    ],
)
def test_each_field_of_a_result_has_a_rule(fields: dict[str, Any], complaint: str) -> None:
    assert errors(allocation(result(**fields))) == [f"allocation.devices.results[0]{complaint}"]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        pytest.param({"source": ""}, ".source: Required value", id="no-source"),
        pytest.param(
            {"source": "FromThinAir"},
            '.source: Unsupported value: "FromThinAir": supported values: "FromClaim", "FromClass"',
            id="source",
        ),
        pytest.param({"opaque": None}, ".opaque: Required value", id="no-opaque"),
        pytest.param(
            {"requests": ("gpu", "gpu")}, '.requests[1]: Duplicate value: "gpu"', id="requests"
        ),
    ],
)
def test_each_field_of_a_configuration_has_a_rule(fields: dict[str, Any], complaint: str) -> None:
    assert errors(allocation(config=(config(**fields),))) == [
        f"allocation.devices.config[0]{complaint}"
    ]


def test_lists_that_are_too_long_are_not_looked_into() -> None:
    bad = allocation(
        *(DeviceRequestAllocationResult(),) * (RESULTS_MAX + 1),
        config=(DeviceAllocationConfiguration(),) * (ALLOCATION_CONFIG_MAX + 1),
    )
    assert errors(bad) == [
        "allocation.devices.results: Too many: 33: must have at most 32 items",
        "allocation.devices.config: Too many: 65: must have at most 64 items",
    ]


def test_a_node_selector_needs_a_term() -> None:
    assert errors(AllocationResult(node_selector=NodeSelector())) == [
        (
            "allocation.nodeSelector.nodeSelectorTerms: Required value: must have at least one "
            "node selector term"
        )
    ]
