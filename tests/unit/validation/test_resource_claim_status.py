from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dray.api.meta import Condition, ObjectMeta
from dray.api.resource import (
    AllocatedDeviceStatus,
    AllocationResult,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceRequest,
    DeviceRequestAllocationResult,
    NetworkDeviceData,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from dray.api.wire import Time, replace
from dray.validation.findings import Findings, merge
from dray.validation.resource_claim_status import (
    ADDRESSES_MAX,
    CONSUMERS_MAX,
    check_claim_status,
    declare_claim_status,
    results_with_admin_access,
)

NOW = Time.parse("2026-01-01T00:00:00Z")
SHARE = "550e8400-e29b-41d4-a716-446655440000"
SPEC = ResourceClaimSpec(devices=DeviceClaim(requests=(DeviceRequest(name="gpu"),)))
NOT_ALLOCATED = "must be an allocated device in the claim"


def allocation(*devices: str, share: str | None = None, **fields: Any) -> AllocationResult:
    results = tuple(
        DeviceRequestAllocationResult(
            request="gpu", driver="d", pool="p", device=name, share_id=share, **fields
        )
        for name in devices
    )
    return AllocationResult(devices=DeviceAllocationResult(results=results))


def report(device: str = "x", **fields: Any) -> AllocatedDeviceStatus:
    whole: dict[str, Any] = {"driver": "d", "pool": "p", "device": device} | fields
    return AllocatedDeviceStatus(**whole)


def consumer(number: int = 1, **fields: Any) -> ResourceClaimConsumerReference:
    whole: dict[str, Any] = {"resource": "pods", "name": f"pod-{number}", "uid": f"u{number}"}
    return ResourceClaimConsumerReference(**(whole | fields))


def status(**fields: Any) -> ResourceClaimStatus:
    return ResourceClaimStatus(**({"allocation": allocation("x")} | fields))


def claim(given: ResourceClaimStatus, *, deleted: bool = False) -> ResourceClaim:
    metadata = ObjectMeta(deletion_timestamp=NOW if deleted else None)
    return ResourceClaim(metadata=metadata, spec=SPEC, status=given)


def errors(
    new: ResourceClaimStatus, old: ResourceClaimStatus | None = None, *, deleted: bool = False
) -> list[str]:
    old = status() if old is None else old
    handwritten, declared = Findings(), Findings(shared=True)
    check_claim_status(handwritten, claim(new, deleted=deleted), claim(old, deleted=deleted))
    declare_claim_status(declared, new, old, version=None)
    return [str(error) for error in merge(handwritten, declared)]


# Allocation and reservation --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "complaints"),
    [
        pytest.param(None, allocation("x"), [], id="set"),
        pytest.param(allocation("x"), None, [], id="cleared"),
        pytest.param(allocation("x"), allocation("x"), [], id="kept"),
        pytest.param(
            allocation("x"),
            allocation("y"),
            ["status.allocation: Invalid value: null: field cannot be modified once set"],
            id="changed",
        ),
        pytest.param(allocation("Bad"), allocation("Bad"), [], id="a-stored-one-is-not-checked"),
    ],
)
def test_an_allocation_comes_and_goes_but_does_not_change(
    old: AllocationResult | None, new: AllocationResult | None, complaints: list[str]
) -> None:
    assert errors(status(allocation=new), status(allocation=old)) == complaints


def test_a_new_allocation_answers_the_requests_of_the_claim() -> None:
    other = replace(allocation("x").devices.results[0], request="other")
    new = AllocationResult(devices=DeviceAllocationResult(results=(other,)))
    (error,) = errors(status(allocation=new), ResourceClaimStatus())
    assert error.startswith("status.allocation.devices.results[0].request: Invalid value: ")


def test_only_an_allocated_claim_is_reserved() -> None:
    assert errors(ResourceClaimStatus(reserved_for=(consumer(),)), ResourceClaimStatus()) == [
        "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"
    ]


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        pytest.param([1], [1, 2], False, id="added"),
        pytest.param([1, 2], [2], True, id="removed"),
        pytest.param([1], [2], False, id="exchanged"),
        pytest.param([1], [1], True, id="kept"),
        pytest.param([1], [], True, id="all-removed"),
    ],
)
def test_a_claim_on_its_way_out_gets_no_new_consumers(
    old: list[int], new: list[int], allowed: bool
) -> None:
    before = status(reserved_for=tuple(map(consumer, old)))
    after = status(reserved_for=tuple(map(consumer, new)))
    complaint = (
        "status.reservedFor: Forbidden: new entries may not be added while "
        "`deallocationRequested` or `deletionTimestamp` are set"
    )
    assert errors(after, before, deleted=True) == ([] if allowed else [complaint])
    assert errors(after, before) == []


def test_a_consumer_is_named() -> None:
    assert errors(status(reserved_for=(ResourceClaimConsumerReference(),))) == [
        "status.reservedFor[0].resource: Required value",
        "status.reservedFor[0].name: Required value",
        "status.reservedFor[0].uid: Required value",
    ]


def test_a_consumer_is_listed_once() -> None:
    assert errors(status(reserved_for=(consumer(), consumer(name="other")))) == [
        ('status.reservedFor[1]: Duplicate value: {"resource":"pods","name":"other","uid":"u1"}')
    ]


def test_consumers_have_a_limit() -> None:
    crowd = tuple(consumer(n, name="") for n in range(CONSUMERS_MAX + 1))
    assert errors(status(reserved_for=crowd)) == [
        "status.reservedFor: Too many: 257: must have at most 256 items"
    ]


# Reports ---------------------------------------------------------------------------------------


def test_a_full_report_is_valid() -> None:
    full = report(
        share_id=SHARE,
        conditions=(
            Condition(type="Ready", status="True", reason="Works", last_transition_time=NOW),
        ),
        data=msgspec.Raw(b'{"a":1}'),
        network_data=NetworkDeviceData(
            interface_name="net1", ips=("10.1.2.3/24", "2001:db8::5/64"), hardware_address="aa:bb"
        ),
    )
    assert errors(status(allocation=allocation("x", share=SHARE), devices=(full,)), status()) == [
        "status.allocation: Invalid value: null: field cannot be modified once set"
    ]
    given = status(allocation=allocation("x", share=SHARE), devices=(full,))
    assert errors(given, ResourceClaimStatus()) == []


def test_null_is_no_data() -> None:
    assert errors(status(devices=(report(data=msgspec.Raw(b"null")),))) == []


@pytest.mark.parametrize(
    ("device", "identity"),
    [
        pytest.param(report("y"), ("d", "p", "y", ""), id="other-device"),
        pytest.param(report(pool="q"), ("d", "q", "x", ""), id="other-pool"),
        pytest.param(report(share_id=SHARE), ("d", "p", "x", SHARE), id="other-share"),
    ],
)
def test_only_allocated_devices_are_reported_on(
    device: AllocatedDeviceStatus, identity: tuple[str, str, str, str]
) -> None:
    driver, pool, name, share = identity
    assert errors(status(devices=(device,))) == [
        (
            f'status.devices[0]: Invalid value: {{"Driver":"{driver}","Pool":"{pool}",'
            f'"Device":"{name}","ShareID":"{share}"}}: {NOT_ALLOCATED}'
        )
    ]


def test_a_device_is_reported_on_once() -> None:
    assert errors(status(devices=(report(), report(data=msgspec.Raw(b"{}"))))) == [
        (
            'status.devices[1]: Duplicate value: {"driver":"d","pool":"p","device":"x",'
            '"conditions":null,"data":{}}'
        )
    ]


def test_an_empty_share_is_another_device_to_the_schema_only() -> None:
    assert errors(status(devices=(report(), report(share_id="")))) == [
        'status.devices[1]: Duplicate value: {"Driver":"d","Pool":"p","Device":"x","ShareID":""}',
        (
            'status.devices[1].shareID: Invalid value: "": must be a lowercase UUID in 8-4-4-4-12 '
            "format"
        ),
    ]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        pytest.param(
            {"conditions": (Condition(type="A", status="True", reason="R"),)},
            "conditions[0].lastTransitionTime: Required value",
            id="condition",
        ),
        pytest.param(
            {
                "conditions": tuple(
                    Condition(type=f"A{n}", status="True", reason="R", last_transition_time=NOW)
                    for n in range(9)
                )
            },
            "conditions: Too many: 9: must have at most 8 items",
            id="conditions",
        ),
        pytest.param(
            {"data": msgspec.Raw(b"[]")},
            'data: Invalid value: "<value omitted>": must be a valid JSON object',
            id="data",
        ),
        pytest.param(
            {"data": msgspec.Raw(b'{"a":"' + b"x" * 10240 + b'"}')},
            "data: Too long: may not be more than 10240 bytes",
            id="long-data",
        ),
        pytest.param(
            {"network_data": NetworkDeviceData(interface_name="n" * 257)},
            "networkData.interfaceName: Too long: may not be more than 256 bytes",
            id="interface-name",
        ),
        pytest.param(
            {"network_data": NetworkDeviceData(hardware_address="a" * 129)},
            "networkData.hardwareAddress: Too long: may not be more than 128 bytes",
            id="hardware-address",
        ),
        pytest.param(
            {"network_data": NetworkDeviceData(ips=("x",) * (ADDRESSES_MAX + 1))},
            "networkData.ips: Too many: 17: must have at most 16 items",
            id="addresses",
        ),
        pytest.param(
            {"network_data": NetworkDeviceData(ips=("1.2.3.4/8", "1.2.3.4/8"))},
            'networkData.ips[1]: Duplicate value: "1.2.3.4/8"',
            id="address-twice",
        ),
    ],
)
def test_each_field_of_a_report_has_a_rule(fields: dict[str, Any], complaint: str) -> None:
    assert errors(status(devices=(report(**fields),))) == [f"status.devices[0].{complaint}"]


@pytest.mark.parametrize(
    ("address", "canonical"),
    [
        ("10.9.8.7/24", "10.9.8.7/24"),
        ("2001:db8::1/64", "2001:db8::1/64"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("010.9.8.7/24", "10.9.8.7/24"),
        ("10.9.8.7/024", "10.9.8.7/24"),
        ("2001:0DB8::0001/64", "2001:db8::1/64"),
        ("::ffff:1.2.3.4/120", "1.2.3.4/24"),
        ("::ffff:1.2.3.4/24", "1.2.3.4/24"),
        ("1.2.3.4", None),
        ("1.2.3.4/33", None),
        ("1.2.3.4/-1", None),
        ("1.2.3/8", None),
        ("fe80::1%eth0/64", None),
        ("::/129", None),
        ("1.2.3.4/8/8", None),
        ("", None),
    ],
)
def test_an_address_has_one_form(address: str, canonical: str | None) -> None:
    found = errors(status(devices=(report(network_data=NetworkDeviceData(ips=(address,))),)))
    path = f'status.devices[0].networkData.ips[0]: Invalid value: "{address}": '
    if canonical is None:
        rule = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        assert found == [path + rule]
    elif address == canonical:
        assert found == []
    else:
        assert found == [f'{path}must be in canonical form ("{canonical}")']


# Ratcheting ------------------------------------------------------------------------------------


def declared(new: ResourceClaimStatus, old: ResourceClaimStatus | None) -> list[str]:
    found = Findings(shared=True)
    declare_claim_status(found, new, old, version=None)
    return [str(error) for error in found.errors()]


BAD_DATA = NetworkDeviceData(interface_name="n" * 257, ips=("x", "x"), hardware_address="a" * 129)
BAD_REPORT = report(share_id="bad", network_data=BAD_DATA)


def test_declared_rules_skip_reports_that_stay() -> None:
    old = status(devices=(BAD_REPORT,))
    new = status(devices=(BAD_REPORT, report("y")))
    assert declared(new, old) == []
    assert len(declared(old, None)) == 4
    assert len(declared(old, status(devices=(report("y"),)))) == 4


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        pytest.param({"interface_name": "m" * 257}, ".interfaceName: Too long", id="interface"),
        pytest.param({"ips": ("y", "y")}, ".ips[1]: Duplicate value", id="addresses"),
        pytest.param({"hardware_address": "b" * 129}, ".hardwareAddress: Too long", id="hardware"),
    ],
)
def test_declared_rules_look_at_the_part_of_a_report_that_changes(
    change: dict[str, Any], complaint: str
) -> None:
    new = replace(BAD_REPORT, network_data=replace(BAD_DATA, **change))
    (error,) = declared(status(devices=(new,)), status(devices=(BAD_REPORT,)))
    assert error.startswith(f"status.devices[0].networkData{complaint}")


def test_declared_rules_skip_consumers_that_stay() -> None:
    twice = status(reserved_for=(consumer(), consumer()))
    assert declared(twice, twice) == []
    assert len(declared(twice, status())) == 1


# Admin access ----------------------------------------------------------------------------------


def test_newly_given_admin_access_is_found() -> None:
    plain, admin = status(), status(allocation=allocation("x", "y", admin_access=True))
    assert results_with_admin_access(admin, plain) == (
        "status.allocation.devices.results[0].adminAccess",
        "status.allocation.devices.results[1].adminAccess",
    )
    assert results_with_admin_access(admin, admin) == ()
    assert results_with_admin_access(plain, ResourceClaimStatus()) == ()
