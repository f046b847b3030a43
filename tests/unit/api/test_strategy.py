from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import Pod
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.meta import Condition, ManagedFieldsEntry, Object, ObjectMeta, OwnerReference
from dray.api.resource import (
    AllocatedDeviceStatus,
    AllocationResult,
    Device,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintRuleStatus,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
    ResourcePoolStatusRequestSpec,
    ResourcePoolStatusRequestStatus,
    ResourceSlice,
    ResourceSliceSpec,
)
from dray.api.scheme import KINDS
from dray.api.strategy import (
    STRATEGIES,
    prepare_for_create,
    prepare_for_status_update,
    prepare_for_update,
    warnings_on_create,
    warnings_on_update,
)
from dray.api.wire import Time, replace
from dray.errors import InternalError

NOW = Time.parse("2026-02-03T04:05:06Z")
EARLIER = Time.parse("2025-01-01T00:00:00Z")
BINDING_CONDITIONS_OFF = FeatureGates({"DRADeviceBindingConditions": False})

CONDITIONS = (Condition(type="Ready"),)
CLAIM_STATUS = ResourceClaimStatus(allocation=AllocationResult())
RULE_STATUS = DeviceTaintRuleStatus(conditions=CONDITIONS)
POOL_STATUS = ResourcePoolStatusRequestStatus(conditions=CONDITIONS)

WITH_STATUS: list[Any] = [
    pytest.param(ResourceClaim(status=CLAIM_STATUS), id="claim"),
    pytest.param(DeviceTaintRule(status=RULE_STATUS), id="taint-rule"),
    pytest.param(ResourcePoolStatusRequest(status=POOL_STATUS), id="pool-status-request"),
]


def updated(new: Any, old: Any, gates: FeatureGates = DEFAULT_GATES) -> Any:
    return prepare_for_update(new, old, gates=gates, now=NOW)


def status_updated(new: Any, old: Any, gates: FeatureGates = DEFAULT_GATES) -> Any:
    return prepare_for_status_update(new, old, gates=gates)


def asking_for(name: str) -> ResourceClaimSpec:
    return ResourceClaimSpec(devices=DeviceClaim(requests=(DeviceRequest(name=name),)))


# Main resource ---------------------------------------------------------------------------------


@pytest.mark.parametrize("obj", WITH_STATUS)
def test_nothing_is_created_with_a_status(obj: Any) -> None:
    assert prepare_for_create(obj, gates=DEFAULT_GATES).status == type(obj)().status


@pytest.mark.parametrize("old", WITH_STATUS)
def test_an_update_of_the_main_resource_keeps_the_status(old: Any) -> None:
    assert updated(type(old)(), old).status is old.status


@pytest.mark.parametrize(
    ("obj", "generation"),
    [
        pytest.param(DeviceClass(), 1, id="class"),
        pytest.param(ResourceSlice(), 1, id="slice"),
        pytest.param(DeviceTaintRule(), 1, id="taint-rule"),
        pytest.param(ResourceClaim(), 9, id="claim"),
        pytest.param(ResourceClaimTemplate(), 9, id="template"),
        pytest.param(ResourcePoolStatusRequest(), 9, id="pool-status-request"),
    ],
)
def test_kinds_that_count_generations_start_at_one(obj: Object, generation: int) -> None:
    given = replace(obj, metadata=ObjectMeta(generation=9))
    assert prepare_for_create(given, gates=DEFAULT_GATES).metadata.generation == generation


CHANGES: list[Any] = [
    pytest.param(
        DeviceClass(),
        DeviceClass(spec=DeviceClassSpec(extended_resource_name="a/b")),
        8,
        id="class",
    ),
    pytest.param(ResourceSlice(), ResourceSlice(spec=ResourceSliceSpec(driver="a")), 8, id="slice"),
    pytest.param(
        DeviceTaintRule(),
        DeviceTaintRule(spec=DeviceTaintRuleSpec(taint=DeviceTaint(key="a"))),
        8,
        id="taint-rule",
    ),
    pytest.param(ResourceClaim(), ResourceClaim(spec=asking_for("gpu")), 7, id="claim"),
    pytest.param(
        ResourcePoolStatusRequest(),
        ResourcePoolStatusRequest(spec=ResourcePoolStatusRequestSpec(driver="a")),
        7,
        id="pool-status-request",
    ),
]


@pytest.mark.parametrize(("old", "new", "generation"), CHANGES)
def test_a_changed_spec_is_a_new_generation_where_those_are_counted(
    old: Any, new: Any, generation: int
) -> None:
    old = replace(old, metadata=ObjectMeta(generation=7))
    new = replace(new, metadata=ObjectMeta(generation=99))
    assert updated(new, old).metadata.generation == generation
    assert updated(replace(new, spec=old.spec), old).metadata.generation == 7


def test_an_empty_list_of_devices_is_no_new_generation() -> None:
    old = ResourceSlice(metadata=ObjectMeta(generation=7))
    new = ResourceSlice(spec=ResourceSliceSpec(devices=()))
    assert updated(new, old).metadata.generation == 7


def test_a_field_that_is_removed_still_makes_a_new_generation() -> None:
    old = ResourceSlice(spec=ResourceSliceSpec(devices=(Device(name="gpu"),)))
    new = ResourceSlice(spec=ResourceSliceSpec(devices=(Device(name="gpu", binds_to_node=True),)))
    after = updated(new, old, BINDING_CONDITIONS_OFF)
    assert after.spec == old.spec
    assert after.metadata.generation == 1


def test_fields_that_are_off_are_removed_on_create() -> None:
    new = ResourceSlice(spec=ResourceSliceSpec(devices=(Device(name="gpu", binds_to_node=True),)))
    after = prepare_for_create(new, gates=BINDING_CONDITIONS_OFF)
    assert after.spec.devices == (Device(name="gpu"),)


def test_an_update_keeps_metadata_that_is_not_the_clients() -> None:
    old = ResourceClaim(
        metadata=ObjectMeta(
            uid="u",
            generation=3,
            creation_timestamp=EARLIER,
            deletion_timestamp=EARLIER,
            deletion_grace_period_seconds=5,
        )
    )
    new = ResourceClaim(
        metadata=ObjectMeta(labels={"a": "b"}, creation_timestamp=NOW, generation=9)
    )
    assert updated(new, old).metadata == replace(old.metadata, labels={"a": "b"})


def test_a_foreign_uid_is_left_for_validation_to_refuse() -> None:
    old = ResourceClaim(metadata=ObjectMeta(uid="ours", deletion_grace_period_seconds=5))
    new = ResourceClaim(metadata=ObjectMeta(uid="theirs", deletion_grace_period_seconds=9))
    assert updated(new, old).metadata == new.metadata


# Taint rules -----------------------------------------------------------------------------------


def rule(effect: str, time_added: Time) -> DeviceTaintRule:
    taint = DeviceTaint(key="a", effect=effect, time_added=time_added)
    return DeviceTaintRule(spec=DeviceTaintRuleSpec(taint=taint))


@pytest.mark.parametrize(
    ("effect", "time_added", "time_after"),
    [
        pytest.param("NoExecute", EARLIER, NOW, id="new-effect"),
        pytest.param("NoSchedule", EARLIER, EARLIER, id="same-effect"),
        pytest.param(
            "NoExecute",
            Time.parse("2024-01-01T00:00:00Z"),
            Time.parse("2024-01-01T00:00:00Z"),
            id="client-sets-the-time",
        ),
    ],
)
def test_a_rule_taints_since_it_took_its_effect(
    effect: str, time_added: Time, time_after: Time
) -> None:
    after = updated(rule(effect, time_added), rule("NoSchedule", EARLIER))
    assert after.spec.taint.time_added == time_after


# Status ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("new", WITH_STATUS)
def test_a_status_update_takes_the_status_alone(new: Any) -> None:
    old = type(new)(
        metadata=ObjectMeta(
            generation=3,
            labels={"a": "b"},
            annotations={"a": "b"},
            finalizers=("a/b",),
            owner_references=(OwnerReference(name="o"),),
            deletion_timestamp=EARLIER,
            self_link="/old",
        )
    )
    managed = (ManagedFieldsEntry(manager="m"),)
    body = replace(
        new,
        metadata=ObjectMeta(
            labels={"x": "y"}, finalizers=("x/y",), managed_fields=managed, resource_version="5"
        ),
        spec=replace(new.spec, **_other(new.spec)),
    )
    after = status_updated(body, old)
    assert after.status == new.status
    assert after.spec is old.spec
    assert after.metadata == replace(old.metadata, managed_fields=managed, resource_version="5")


def _other(spec: Any) -> dict[str, Any]:
    if isinstance(spec, ResourceClaimSpec):
        return {"devices": asking_for("gpu").devices}
    return {"taint": DeviceTaint(key="x")} if hasattr(spec, "taint") else {"driver": "x"}


def holding(
    *devices: str, reports: tuple[str, ...] = (), share: str | None = None
) -> ResourceClaim:
    results = tuple(
        DeviceRequestAllocationResult(driver="d", pool="p", device=name, share_id=share)
        for name in devices
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=results))
    return ResourceClaim(
        status=ResourceClaimStatus(
            allocation=allocation if devices else None,
            devices=tuple(
                AllocatedDeviceStatus(driver="d", pool="p", device=name) for name in reports
            ),
        )
    )


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        pytest.param(holding("a"), holding("a", reports=("a",)), ["a"], id="still-held"),
        pytest.param(holding("a", "b"), holding(reports=("a", "b")), [], id="released"),
        pytest.param(holding("a", "b"), holding("b", reports=("a", "b")), ["b"], id="one-released"),
        pytest.param(
            holding("a"), holding(reports=("stranger",)), ["stranger"], id="never-held-is-not-stale"
        ),
        pytest.param(
            holding("a", share="s"), holding(reports=("a",)), ["a"], id="another-share-is-not-stale"
        ),
        pytest.param(
            holding("a", share=""), holding(reports=("a",)), [], id="an-empty-share-is-none"
        ),
    ],
)
def test_reports_on_released_devices_go_with_the_allocation(
    old: ResourceClaim, new: ResourceClaim, left: list[str]
) -> None:
    after = status_updated(new, old)
    assert [device.device for device in after.status.devices] == left


def test_status_fields_that_are_off_are_removed() -> None:
    result = DeviceRequestAllocationResult(binding_conditions=("a",))
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    new = ResourceClaim(status=ResourceClaimStatus(allocation=allocation))
    after = status_updated(new, ResourceClaim(), BINDING_CONDITIONS_OFF)
    assert after.status.allocation.devices.results == (DeviceRequestAllocationResult(),)


# The rest --------------------------------------------------------------------------------------


def test_an_upper_case_driver_is_a_warning() -> None:
    shouting = ResourceSlice(spec=ResourceSliceSpec(driver="GPU.example.com"))
    quiet = ResourceSlice(spec=ResourceSliceSpec(driver="gpu.example.com"))
    warning = (
        "spec.driver: driver names should be lowercase; "
        '"GPU.example.com" contains uppercase characters'
    )
    assert warnings_on_create(shouting) == [warning]
    assert warnings_on_update(shouting, quiet) == [warning]
    assert warnings_on_update(quiet, shouting) == []
    assert warnings_on_create(DeviceClass()) == []


def test_every_kind_of_the_group_has_a_strategy() -> None:
    ours = {kind.name: kind for kind in KINDS.values() if kind.group == "resource.k8s.io"}
    assert set(STRATEGIES) == set(ours)
    for name, strategy in STRATEGIES.items():
        assert strategy.has_status == ("status" in ours[name].subresources)
        assert strategy.conditional_update_versions <= {
            version.name for version in ours[name].versions
        }


@pytest.mark.parametrize(
    ("kind", "version", "unconditional", "returns_object"),
    [
        pytest.param("ResourceClaim", "v1", True, True, id="claim"),
        pytest.param("DeviceTaintRule", "v1", False, False, id="rule-v1"),
        pytest.param("DeviceTaintRule", "v1beta2", True, True, id="rule-v1beta2"),
        pytest.param("DeviceTaintRule", "v1alpha3", True, True, id="rule-v1alpha3"),
        pytest.param("ResourcePoolStatusRequest", "v1alpha3", False, True, id="pool-status"),
    ],
)
def test_old_habits_depend_on_the_version(
    kind: str, version: str, unconditional: bool, returns_object: bool
) -> None:
    strategy = STRATEGIES[kind]
    assert strategy.allows_unconditional_update(version) == unconditional
    assert strategy.returns_deleted_object(version) == returns_object
    assert not strategy.allow_create_on_update


def test_a_kind_of_another_group_is_refused_by_name() -> None:
    with pytest.raises(InternalError, match="Pod is no kind of"):
        prepare_for_create(Pod(), gates=DEFAULT_GATES)
