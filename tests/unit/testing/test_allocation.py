"""Recorded allocations, asked again."""

from __future__ import annotations

from typing import Any

import pytest

from dray.testing.allocation import allocate_case, allocator_of

Object = dict[str, Any]

GPU = {"driver": "driver", "pool": "pool", "device": "gpu"}


def case(*devices: Object, features: tuple[str, ...] = (), **members: Any) -> Object:
    """One node with some devices, and a claim for one of them."""
    return {
        "features": list(features),
        "node": {"metadata": {"name": "node"}},
        "classes": [{"metadata": {"name": "any"}, "spec": {}}],
        "slices": [a_slice(*devices or ({"name": "gpu"},))],
        "claims": [claim()],
        **members,
    }


def a_slice(*devices: Object, name: str = "slice", pool: str = "pool", count: int = 1) -> Object:
    spec = {
        "driver": "driver",
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": count},
        "nodeName": "node",
        "devices": list(devices),
    }
    return {"metadata": {"name": name}, "spec": spec}


def claim(**members: Any) -> Object:
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1, **members}
    requests = [{"name": "req", "exactly": exactly}]
    return {"metadata": {"name": "claim"}, "spec": {"devices": {"requests": requests}}}


def devices(answer: Object) -> list[Object]:
    return [one for result in answer["results"] for one in result["devices"]["results"]]


def test_a_case_that_fits_has_a_result_for_each_claim() -> None:
    answer = allocate_case(case())
    assert answer["fits"]
    assert devices(answer) == [{"request": "req", **GPU}]


def test_a_case_that_does_not_fit_has_none() -> None:
    answer = allocate_case(case(allocated=[GPU]))
    assert (answer["fits"], answer["results"]) == (False, [])


def test_a_case_that_cannot_be_judged_has_an_error() -> None:
    answer = allocate_case(case(claims=[claim(deviceClassName="nope")]))
    assert answer.keys() == {"error"}
    assert "nope" in answer["error"]


def test_an_error_for_one_node_says_so() -> None:
    answer = allocate_case(case({"name": "twice"}, {"name": "twice"}))
    assert answer["nodeOnly"]
    assert answer["error"] == "invalid resource pools were encountered"


def test_a_case_that_takes_too_long_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [{"name": f"gpu-{i}"} for i in range(9)]
    asked = case(*many, claims=[claim(count=8)])
    made, node, claims = allocator_of(asked)
    made.steps_max = 5
    monkeypatch.setattr("dray.testing.allocation.allocator_of", lambda _: (made, node, claims))
    answer = allocate_case(asked)
    assert answer["aborted"]
    assert not answer["fits"]


def test_features_that_are_not_named_are_off() -> None:
    tainted = {"name": "gpu", "taints": [{"key": "k", "effect": "NoSchedule"}]}
    assert allocate_case(case(tainted))["fits"]
    assert not allocate_case(case(tainted, features=("DRADeviceTaints",)))["fits"]


def test_binding_conditions_bring_the_place_to_report_them() -> None:
    made, _, _ = allocator_of(case(features=("DRADeviceBindingConditions",)))
    assert made.features.binding_conditions


SHARED = {
    "name": "gpu",
    "allowMultipleAllocations": True,
    "capacity": {"memory": {"value": "4Gi", "requestPolicy": {"default": "3Gi"}}},
}


@pytest.mark.parametrize(
    ("usage", "fits"),
    [
        pytest.param({"shared": [{**GPU, "shareID": "x"}]}, True, id="a-share"),
        pytest.param({"consumed": [{**GPU, "capacity": {"memory": "1Gi"}}]}, True, id="some"),
        pytest.param({"consumed": [{**GPU, "capacity": {"memory": "2Gi"}}]}, False, id="too-much"),
        pytest.param({"allocated": [GPU]}, False, id="the-whole-device"),
    ],
)
def test_what_is_in_use_counts(usage: Object, fits: bool) -> None:
    answer = allocate_case(case(SHARED, features=("DRAConsumableCapacity",), **usage))
    assert answer["fits"] is fits


def test_shares_are_numbered() -> None:
    claims = [claim(capacity={"requests": {"memory": "1Gi"}}) for _ in range(2)]
    free = {**SHARED, "capacity": {"memory": {"value": "4Gi"}}}
    answer = allocate_case(case(free, features=("DRAConsumableCapacity",), claims=claims))
    assert [one["shareID"] for one in devices(answer)] == ["share-0", "share-1"]


def test_slices_under_one_name_are_two_slices() -> None:
    slices = [a_slice({"name": "a"}, pool="p0"), a_slice({"name": "b"}, pool="p1")]
    answer = allocate_case(case(slices=slices, claims=[claim(count=2)]))
    assert [one["device"] for one in devices(answer)] == ["a", "b"]


def test_a_case_without_anything_is_a_case() -> None:
    assert allocate_case({})["fits"]


# What recordings lost ----------------------------------------------------------------------------


def test_a_node_that_declared_a_feature_declares_it_again() -> None:
    name = "optional-node-operations"
    _, node, _ = allocator_of(case(name=name))
    assert node.status.declared_features == ("DRAOptionalNodeOperations",)
    recorded = {"metadata": {"name": "node"}, "status": {"declaredFeatures": ["Other"]}}
    _, node, _ = allocator_of(case(name=name, node=recorded))
    assert node.status.declared_features == ("Other",)


def test_a_list_that_was_empty_is_empty_again() -> None:
    name = "list-attributes-distinct-constaint-with-empty-or-unknown-type"
    asked = case({"name": "gpu", "attributes": {"lost": {}}}, name=name)
    made, _, _ = allocator_of(asked)
    (published,) = made.inventory.slices()
    assert published.spec.devices is not None
    assert published.spec.devices[0].attributes["lost"].int_values == ()
    assert asked["slices"][0]["spec"]["devices"][0]["attributes"] == {"lost": {}}


def test_amounts_that_lost_their_zeros_get_them_back() -> None:
    name = "consumable-capacity-requests-are-not-modified"
    _, _, claims = allocator_of(case(name=name, claims=[claim(capacity={"requests": {"m": "1"}})]))
    (request,) = claims[0].spec.devices.requests or ()
    assert request.exactly is not None
    assert request.exactly.capacity is not None
    assert request.exactly.capacity.requests["m"].nano == 10**30
