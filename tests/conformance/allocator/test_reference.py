"""The reference allocator against upstream's own cases, and against what can be said without."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.allocator.reference import SHARE_ID, allocate_case

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "allocator.jsonl"

# Errors that upstream has worded differently since the recording, or that its tests invented.
REWORDED = {
    "all-devices-invalid-CEL",
    "no-classes",
    "too-many-devices-single-request",
    "too-many-devices-total",
    "unknown-class",
}


def recorded() -> list[dict[str, Any]]:
    if not CORPUS.exists():
        return []
    return [json.loads(line) for line in CORPUS.read_text().splitlines()]


def repair(case: dict[str, Any]) -> None:
    """Put back what an input lost in writing."""
    match case["name"]:
        case "optional-node-operations":
            case["node"]["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}
        case "list-attributes-distinct-constaint-with-empty-or-unknown-type":
            device = case["slices"][0]["spec"]["devices"][0]
            device["attributes"]["driverVersion"] = {"versions": []}
        case "consumable-capacity-requests-are-not-modified":
            # Upstream has no suffix for amounts this large, and writes 1.
            large = "1000000000000000000000"
            second = case["claims"][0]["spec"]["devices"]["requests"][1]["exactly"]
            second["capacity"]["requests"]["capacity-0"] = large
            device = case["slices"][0]["spec"]["devices"][0]
            device["capacity"]["capacity-0"]["requestPolicy"]["default"] = large


def without_share_ids(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    results = copy.deepcopy(results)
    for result in results:
        for device in result["devices"].get("results", ()):
            if "shareID" in device:
                device["shareID"] = SHARE_ID
    return results


def difference(case: dict[str, Any]) -> tuple[str, object] | None:
    """Where the reference answers otherwise than upstream: the case and the answer."""
    name = case["name"]
    repair(case)
    answer = allocate_case(case)
    if "error" in case:
        # The texts must name the same claim at least.
        agrees = answer.get("error") == case["error"] or (
            name in REWORDED and "claim-0" in answer.get("error", "")
        )
    else:
        agrees = answer.get("results") == without_share_ids(case.get("results") or [])
        agrees = agrees and answer["steps"] == case.get("upstreamSteps", answer["steps"])
    return None if agrees else (name, answer)


@pytest.mark.slow
def test_the_reference_answers_upstreams_cases_as_upstream_does() -> None:
    cases = recorded()
    if not cases:
        pytest.skip("no recording of upstream's tests in ../shared/corpus")
    assert len(cases) > 250
    assert [found for case in cases if (found := difference(case))] == []


# Builders ---------------------------------------------------------------------------------------


def device(name: str, **members: Any) -> dict[str, Any]:
    return {"name": name, **members}


def a_slice(name: str, *devices: dict[str, Any], pool: str = "pool", **spec: Any) -> dict[str, Any]:
    generation, count = spec.pop("generation", 1), spec.pop("count", 1)
    where = {} if {"nodeName", "allNodes", "nodeSelector"} & spec.keys() else {"nodeName": "node"}
    pool_spec = {"name": pool, "generation": generation, "resourceSliceCount": count}
    return {
        "metadata": {"name": name},
        "spec": {"driver": "driver", "pool": pool_spec, "devices": list(devices), **where, **spec},
    }


def request(name: str = "req", **members: Any) -> dict[str, Any]:
    exactly = {"deviceClassName": "class", "allocationMode": "ExactCount", "count": 1, **members}
    if exactly["allocationMode"] == "All":
        del exactly["count"]
    return {"name": name, "exactly": exactly}


def alternatives(name: str, **counts: int) -> dict[str, Any]:
    return {
        "name": name,
        "firstAvailable": [
            {"name": each, "deviceClassName": "class", "allocationMode": "ExactCount", "count": n}
            for each, n in counts.items()
        ],
    }


def claim(*requests: dict[str, Any], name: str = "claim", **devices: Any) -> dict[str, Any]:
    spec = {"devices": {"requests": list(requests), **devices}}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


def allocate(
    *claims: dict[str, Any],
    slices: list[dict[str, Any]],
    selector: str = "true",
    steps_max: int | None = None,
    **case: Any,
) -> dict[str, Any]:
    device_class = {
        "metadata": {"name": "class"},
        "spec": {"selectors": [{"cel": {"expression": selector}}]},
    }
    asked = {
        "node": {"metadata": {"name": "node"}},
        "classes": [device_class],
        "slices": slices,
        "claims": list(claims),
        **case,
    }
    return allocate_case(asked, steps_max=steps_max)


def devices_of(answer: dict[str, Any]) -> list[list[str]]:
    """Per claim, the devices in order."""
    assert answer["fits"], answer
    return [
        [device["device"] for device in result["devices"].get("results", ())]
        for result in answer["results"]
    ]


# Pools ------------------------------------------------------------------------------------------


def test_no_claims_always_fit() -> None:
    assert allocate(slices=[]) == {"fits": True, "results": [], "steps": 1}


def test_pools_go_by_name_and_slices_in_them_too() -> None:
    slices = [
        a_slice("3", device("d3"), pool="b"),
        a_slice("2", device("d2"), pool="a", count=2),
        a_slice("1", device("d1b"), device("d1a"), pool="a", count=2),
    ]
    answer = allocate(claim(request(count=4)), slices=slices)
    assert devices_of(answer) == [["d1b", "d1a", "d2", "d3"]]
    assert answer["steps"] == 7


@pytest.mark.parametrize("conditions", [["ready"], []], ids=["some", "an-empty-list"])
def test_pools_with_binding_conditions_come_last(conditions: list[str]) -> None:
    slices = [
        a_slice("1", device("d1", bindingConditions=conditions), pool="a"),
        a_slice("2", device("d2"), pool="b"),
    ]
    answer = allocate(
        claim(request(count=2)), slices=slices, features=["DRADeviceBindingConditions"]
    )
    assert devices_of(answer) == [["d2", "d1"]]


def test_only_the_newest_generation_counts() -> None:
    slices = [a_slice("1", device("new"), generation=2), a_slice("2", device("old"))]
    assert devices_of(allocate(claim(request()), slices=slices)) == [["new"]]
    assert not allocate(claim(request(count=2)), slices=slices)["fits"]


def test_a_pool_that_is_newer_elsewhere_does_not_exist() -> None:
    old = a_slice("1", device("old"), count=2)
    newer = a_slice("2", device("new"), generation=2, nodeName="other")
    answer = allocate(claim(request(allocationMode="All")), slices=[old, newer])
    assert answer == {"fits": False, "results": [], "steps": 1}


def test_slices_for_other_nodes_make_a_pool_complete() -> None:
    here = a_slice("1", device("here"), count=2)
    there = a_slice("2", device("there"), count=2, nodeName="other")
    assert devices_of(allocate(claim(request()), slices=[here, there])) == [["here"]]
    assert not allocate(claim(request()), slices=[here])["fits"]


def test_an_incomplete_pool_ends_a_request_for_all_devices() -> None:
    answer = allocate(
        claim(request(allocationMode="All")), slices=[a_slice("1", device("d"), count=2)]
    )
    assert answer["error"] == (
        "claim default/claim, request req: asks for all devices, but resource pool driver/pool is"
        " currently being updated"
    )
    assert not answer["nodeOnly"]


def test_an_invalid_pool_matters_only_if_nothing_else_fits() -> None:
    invalid = a_slice("1", device("d"), device("d"))
    valid = a_slice("2", device("d"), pool="valid")
    assert devices_of(allocate(claim(request()), slices=[invalid, valid])) == [["d"]]
    assert allocate(claim(request(count=2)), slices=[invalid, valid]) == {
        "fits": False,
        "error": "invalid resource pools were encountered",
        "nodeOnly": True,
    }


def test_a_node_selector_that_cannot_be_read_is_shown() -> None:
    selector = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In"}]},
            {"matchFields": [{"key": "metadata.name", "operator": "Exists"}]},
        ]
    }
    answer = allocate(claim(request()), slices=[a_slice("1", nodeSelector=selector)])
    assert answer["error"] == (
        "gather pool information: failed to perform node selection for slice 1: failed to parse"
        " node selector &NodeSelector{NodeSelectorTerms:[]NodeSelectorTerm{NodeSelectorTerm{"
        "MatchExpressions:[]NodeSelectorRequirement{NodeSelectorRequirement{Key:zone,Operator:In,"
        "Values:[],},},MatchFields:[]NodeSelectorRequirement{},},NodeSelectorTerm{"
        "MatchExpressions:[]NodeSelectorRequirement{},MatchFields:[]NodeSelectorRequirement{"
        "NodeSelectorRequirement{Key:metadata.name,Operator:Exists,Values:[],},},},},}:"
        " [nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null:"
        " for 'in', 'notin' operators, values set can't be empty,"
        ' nodeSelectorTerms[1].matchFields[0].operator: Unsupported value: "Exists":'
        ' supported values: "In", "NotIn"]'
    )


# The search -------------------------------------------------------------------------------------


def test_one_request_tries_combinations_and_several_try_permutations() -> None:
    slices = [a_slice("1", *(device(f"d{i}") for i in range(4)))]
    assert allocate(claim(request(count=5)), slices=slices)["steps"] == 16
    requests = [request(f"r{i}") for i in range(5)]
    assert allocate(claim(*requests), slices=slices)["steps"] == 1 + 2 * (4 + 12 + 24 + 24)


def test_a_search_ends_when_its_steps_are_used_up() -> None:
    slices = [a_slice("1", *(device(f"d{i}") for i in range(4)))]
    assert allocate(claim(request(count=5)), slices=slices, steps_max=15)["aborted"]
    assert "aborted" not in allocate(claim(request(count=5)), slices=slices, steps_max=16)


def test_a_claim_that_cannot_have_fewer_than_33_devices_is_an_error() -> None:
    slices = [a_slice("1", *(device(f"d{i}") for i in range(40)))]
    answer = allocate(claim(request("a", count=32), request("b")), slices=slices)
    assert answer["error"] == (
        "claim default/claim, request b: adding 1 devices exceeds the claim limit of 32, with 32"
        " already accounted for"
    )


def test_an_alternative_that_makes_the_claim_too_large_is_left_at_once() -> None:
    slices = [a_slice("1", *(device(f"d{i}") for i in range(40)))]
    asked = claim(alternatives("a", big=32, small=1), request("b"))
    answer = allocate(asked, slices=slices, features=["DRAPrioritizedList"])
    assert devices_of(answer) == [["d0", "d1"]]
    names = [device["request"] for device in answer["results"][0]["devices"]["results"]]
    assert names == ["a/small", "b"]
    # The request, 32 devices and the end of them, one refusal; then the small alternative.
    assert answer["steps"] == 1 + 33 + 1 + 6


def test_earlier_requests_do_not_make_room_for_later_preferences() -> None:
    slices = [a_slice("1", device("d1"), device("d2"))]
    asked = claim(request("a"), alternatives("b", two=2, one=1))
    answer = allocate(asked, slices=slices, features=["DRAPrioritizedList"])
    assert devices_of(answer) == [["d1", "d2"]]


def test_claims_turn_each_other_back() -> None:
    slices = [
        a_slice("1", device("d1", attributes={"n": {"int": 1}})),
        a_slice("2", device("d2", attributes={"n": {"int": 2}}), pool="second"),
    ]
    picky = request(selectors=[{"cel": {"expression": "device.attributes['driver'].n == 1"}}])
    answer = allocate(claim(request()), claim(picky, name="second"), slices=slices)
    assert devices_of(answer) == [["d2"], ["d1"]]


def test_all_devices_that_cannot_stand_together_are_an_error() -> None:
    slices = [a_slice("1", *(device(f"d{i}", attributes={"n": {"int": i}}) for i in range(2)))]
    asked = claim(request(allocationMode="All"), constraints=[{"matchAttribute": "driver/n"}])
    assert allocate(asked, slices=slices)["error"] == (
        "claim default/claim, request req: cannot add device driver/pool/d1 because a claim"
        " constraint would not be satisfied"
    )


def test_admin_access_first_keeps_others_off_and_the_other_way_round_not() -> None:
    slices = [a_slice("1", device("d"))]
    admin, normal = claim(request(adminAccess=True)), claim(request(), name="other")
    features = ["DRAAdminAccess"]
    assert not allocate(admin, normal, slices=slices, features=features)["fits"]
    answer = allocate(normal, admin, slices=slices, features=features)
    assert devices_of(answer) == [["d"], ["d"]]


def test_a_selector_is_not_asked_about_devices_in_use() -> None:
    slices = [a_slice("1", device("d1"), device("d2", attributes={"n": {"int": 1}}))]
    selector = "device.attributes['driver'].n == 1"
    answer = allocate(claim(request()), slices=slices, selector=selector)
    assert answer["error"] == (
        "class class: selector #0 on device driver/pool/d1: CEL runtime error: no such key: n."
        " consider using CEL optional chaining (.? followed by orValue()) or guarding the check"
        " with has() for optional fields"
    )
    used = [{"driver": "driver", "pool": "pool", "device": "d1"}]
    answer = allocate(claim(request()), slices=slices, selector=selector, allocated=used)
    assert devices_of(answer) == [["d2"]]


# Counters and capacity --------------------------------------------------------------------------


def consuming(name: str, amount: str, **members: Any) -> dict[str, Any]:
    counters = [{"counterSet": "set", "counters": {"memory": {"value": amount}}}]
    return device(name, consumesCounters=counters, **members)


def test_counters_are_shared_with_devices_of_other_nodes() -> None:
    counters = [{"name": "set", "counters": {"memory": {"value": "4Gi"}}}]
    slices = [
        a_slice("1", allNodes=True, sharedCounters=counters, count=3),
        a_slice("2", consuming("here-3", "3Gi"), consuming("here-2", "2Gi"), count=3),
        a_slice("3", consuming("there", "2Gi"), nodeName="other", count=3),
    ]
    features = ["DRAPartitionableDevices"]
    assert devices_of(allocate(claim(request()), slices=slices, features=features)) == [["here-3"]]
    used = [{"driver": "driver", "pool": "pool", "device": "there"}]
    answer = allocate(claim(request()), slices=slices, features=features, allocated=used)
    assert devices_of(answer) == [["here-2"]]


def shareable(name: str = "d", **policy: Any) -> dict[str, Any]:
    capacity = {"value": "10Gi", **({"requestPolicy": policy} if policy else {})}
    return device(name, allowMultipleAllocations=True, capacity={"memory": capacity})


@pytest.mark.parametrize(
    ("asked", "policy", "consumed"),
    [
        pytest.param(None, {}, "10Gi", id="everything-without-a-policy"),
        pytest.param(None, {"default": "1024Mi"}, "1Gi", id="the-default"),
        pytest.param("1.5Gi", {}, "1536Mi", id="as-asked-without-a-policy"),
        pytest.param("1", {"validRange": {"min": "1Gi"}}, "1Gi", id="at-least-the-minimum"),
        pytest.param(
            "1073741825", {"validRange": {"min": "1Gi", "step": "1Mi"}}, "1025Mi", id="whole-steps"
        ),
        pytest.param(
            "1001", {"validRange": {"min": "1k", "step": "1k"}}, "2k", id="in-the-steps-format"
        ),
        pytest.param("2Gi", {"validValues": ["1Gi", "3Gi"]}, "3Gi", id="a-listed-value"),
        pytest.param("4Gi", {"validValues": ["1Gi", "3Gi"]}, None, id="above-all-listed-values"),
        pytest.param("3Gi", {"validRange": {"min": "1Gi", "max": "2Gi"}}, None, id="above-the-max"),
        pytest.param("11Gi", {}, None, id="more-than-there-is"),
    ],
)
def test_amounts_are_rounded_up_to_what_the_policy_allows(
    asked: str | None, policy: dict[str, Any], consumed: str | None
) -> None:
    wanted: dict[str, Any] = {}
    if asked is not None:
        wanted = {"capacity": {"requests": {"memory": asked}}}
    answer = allocate(
        claim(request(**wanted)),
        slices=[a_slice("1", shareable(**policy))],
        features=["DRAConsumableCapacity"],
    )
    assert answer["fits"] is (consumed is not None)
    if consumed is not None:
        share = answer["results"][0]["devices"]["results"][0]
        assert share["consumedCapacity"] == {"memory": consumed}
        assert share["shareID"] == SHARE_ID


def test_a_default_outside_the_range_is_only_recognized_as_it_was_written() -> None:
    policy: dict[str, Any] = {"default": "1Mi", "validRange": {"min": "1Mi", "max": "1Ki"}}
    slices = [a_slice("1", shareable(**policy))]

    def fits(text: str) -> bool:
        wanted = request(capacity={"requests": {"memory": text}})
        answer = allocate(claim(wanted), slices=slices, features=["DRAConsumableCapacity"])
        return bool(answer["fits"])

    assert fits("1Mi")
    assert not fits("1024Ki")


def test_a_negative_minimum_in_thousandths_refuses_every_request() -> None:
    policy: dict[str, Any] = {"default": "1", "validRange": {"min": "-1", "step": "500m"}}
    wanted = request(capacity={"requests": {"memory": "1"}})
    answer = allocate(
        claim(wanted),
        slices=[a_slice("1", shareable("d", **policy))],
        features=["DRAConsumableCapacity", "DRAFractionalCapacityRange"],
    )
    assert answer["error"] == (
        "claim default/claim, request req: checking capacity for device driver/pool/d: capacity"
        ' "memory": capacity request cannot be represented in the device\'s range arithmetic:'
        " rounding request 1 up to the next step passes the milli-value range"
    )


def test_a_shared_device_is_chosen_once_for_a_request_and_again_for_the_next() -> None:
    slices = [a_slice("1", shareable(default="1Gi"))]
    features = ["DRAConsumableCapacity"]
    assert not allocate(claim(request(count=2)), slices=slices, features=features)["fits"]
    answer = allocate(claim(request("a"), request("b")), slices=slices, features=features)
    assert devices_of(answer) == [["d", "d"]]


# Constraints and results ------------------------------------------------------------------------


def test_lists_match_while_they_have_something_in_common() -> None:
    slices = [
        a_slice(
            "1",
            device("ab", attributes={"n": {"strings": ["a", "b"]}}),
            device("bc", attributes={"n": {"strings": ["b", "c"]}}),
            device("ac", attributes={"n": {"strings": ["a", "c"]}}),
            device("b", attributes={"n": {"string": "b"}}),
        )
    ]
    asked = claim(request(count=3), constraints=[{"matchAttribute": "driver/n"}])
    answer = allocate(asked, slices=slices, features=["DRAListTypeAttributes"])
    assert devices_of(answer) == [["ab", "bc", "b"]]


def test_configuration_that_covers_all_requests_names_none() -> None:
    opaque = {"driver": "driver", "parameters": {}}
    asked = claim(
        request("a"),
        request("b"),
        config=[
            {"requests": ["a", "b"], "opaque": opaque},
            {"requests": ["b"], "opaque": opaque},
            {"requests": ["c"], "opaque": opaque},
        ],
    )
    answer = allocate(asked, slices=[a_slice("1", device("d1"), device("d2"))])
    assert answer["results"][0]["devices"]["config"] == [
        {"source": "FromClaim", "opaque": opaque},
        {"source": "FromClaim", "requests": ["b"], "opaque": opaque},
    ]


def test_node_selectors_of_all_devices_are_joined() -> None:
    def zone(*values: str) -> dict[str, Any]:
        found = {"key": "zone", "operator": "In", "values": list(values)}
        return {"nodeSelectorTerms": [{"matchExpressions": [found]}]}

    slices = [
        a_slice("1", device("d1"), pool="a", nodeSelector=zone("x", "y")),
        a_slice("2", device("d2"), pool="b", nodeSelector=zone("y", "x")),
        a_slice("3", device("d3"), pool="c", nodeSelector=zone("x")),
    ]
    node = {"metadata": {"name": "node", "labels": {"zone": "x"}}}
    answer = allocate(claim(request(count=3)), slices=slices, node=node)
    terms = answer["results"][0]["nodeSelector"]["nodeSelectorTerms"]
    assert [each["values"] for each in terms[0]["matchExpressions"]] == [["x", "y"], ["x"]]
