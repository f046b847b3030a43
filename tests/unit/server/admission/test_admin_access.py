from __future__ import annotations

import pytest

from dray.api.core import Namespace
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from dray.api.wire import replace
from dray.server.admission.admin_access import check_admin_access
from dray.server.state import FixedState
from tests.unit.server.admission.builders import claim, namespace

LABEL = "resource.kubernetes.io/admin-access"
OPEN = FixedState(namespace("ns", **{LABEL: "true"}))
CLOSED = FixedState(namespace("ns", **{LABEL: "True"}))

FORBIDDEN = (
    "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` "
    "label on the containing namespace"
)


def asking(value: bool | None = True) -> ResourceClaim:
    made = claim("c", "gpu")
    (request,) = made.spec.devices.requests or ()
    assert request.exactly is not None
    wanting = replace(request, exactly=replace(request.exactly, admin_access=value))
    # The first request asks for nothing special, so that the index shows.
    devices = replace(made.spec.devices, requests=(request, wanting, wanting))
    return replace(made, spec=replace(made.spec, devices=devices))


def allocated(*granted: bool | None) -> ResourceClaim:
    results = tuple(DeviceRequestAllocationResult(admin_access=value) for value in granted)
    allocation = AllocationResult(devices=DeviceAllocationResult(results=results))
    return replace(claim("c", "gpu"), status=ResourceClaimStatus(allocation=allocation))


def texts(*args: object, **more: str) -> list[str]:
    return [str(error) for error in check_admin_access(*args, **more)]  # type: ignore[arg-type]  # passed on


def test_a_labelled_namespace_may() -> None:
    assert texts(asking(), None, OPEN) == []


def test_the_first_request_that_asks_is_refused_without_naming_exactly() -> None:
    assert texts(asking(), None, CLOSED) == [f"spec.devices.requests[1].adminAccess: {FORBIDDEN}"]


def test_a_template_is_refused_at_the_same_path() -> None:
    template = ResourceClaimTemplate(
        metadata=ObjectMeta(name="t", namespace="ns"),
        spec=ResourceClaimTemplateSpec(spec=asking().spec),
    )
    assert texts(template, None, CLOSED) == [f"spec.devices.requests[1].adminAccess: {FORBIDDEN}"]


@pytest.mark.parametrize("value", [None, False])
def test_whoever_does_not_ask_needs_no_label(value: bool | None) -> None:
    assert texts(asking(value), None, CLOSED) == []


def test_an_update_is_not_asked_again() -> None:
    assert texts(asking(), asking(), CLOSED) == []


def test_a_missing_namespace_is_an_internal_error_of_the_field() -> None:
    (text,) = texts(asking(), None, FixedState())
    assert text == (
        "spec.devices.requests[1].adminAccess: Internal error: could not retrieve namespace to "
        'verify admin access: namespaces "ns" not found'
    )


def test_a_status_that_newly_gives_access_is_asked() -> None:
    assert texts(allocated(None, True), claim("c", "gpu"), CLOSED, subresource="status") == [
        f"status.allocation.devices.results[1].adminAccess: {FORBIDDEN}"
    ]
    assert texts(allocated(True), claim("c", "gpu"), OPEN, subresource="status") == []


def test_a_status_that_gave_access_before_is_not_asked() -> None:
    assert texts(allocated(True), allocated(True), CLOSED, subresource="status") == []


def test_the_label_is_read_each_time() -> None:
    state = FixedState(namespace("ns", **{LABEL: "true"}))
    assert texts(asking(), None, state) == []
    state.put(Namespace(metadata=ObjectMeta(name="ns")))
    assert texts(asking(), None, state) != []
