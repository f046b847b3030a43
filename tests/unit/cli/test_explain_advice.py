from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dray.allocator.explain.changes import Change, ChangeKind, Place, Unit
from dray.api.quantity import Quantity
from dray.api.resource import DeviceID, DeviceToleration
from dray.cli.explain_advice import steps_for
from dray.cli.explain_answer import Step

from .explain_dumps import (
    claim,
    device_class,
    explain,
    gpus,
    held,
    load,
    node,
    pod,
    request,
    template,
)

OBJECTS = [
    node("n"),
    device_class(extendedResourceName="example.com/gpu"),
    template("pair", request("a"), {"name": "b", "firstAvailable": [request()["exactly"]]}),
    claim("mine", request("x", allocationMode="All")),
    held("taken", "n", ["gpu-0"], "one", "two"),
    held("forgotten", "n", ["gpu-1"]),
    pod(
        "p",
        "pair",
        limits={"example.com/gpu": "4"},
        initContainers=[{"name": "first", "image": "i"}],
    ),
]
OBJECTS[2]["spec"]["spec"]["devices"]["requests"][1]["firstAvailable"][0]["name"] = "alt"
TEMPLATE = "ResourceClaimTemplate ml/pair"
A = "spec.spec.devices.requests[0].exactly"


def steps(tmp_path: Path, subject: str = "pod/p", **change: Any) -> list[Step]:
    snapshot = load(tmp_path, OBJECTS)
    found = snapshot.subject(subject, "ml")
    claims = found.claims_on(snapshot.nodes["n"])
    return list(steps_for(Change(text="", **change), snapshot, found, claims))


@pytest.mark.parametrize(
    ("change", "path", "value"),
    [
        ({"kind": ChangeKind.COUNT, "count": 3}, f"{A}.count", 3),
        (
            {"kind": ChangeKind.CONSTRAINT, "constraint": 1},
            "spec.spec.devices.constraints[1]",
            None,
        ),
        (
            {"kind": ChangeKind.TOLERATE, "tolerations": (DeviceToleration(key="k"),)},
            f"{A}.tolerations[]",
            {"key": "k"},
        ),
        (
            {"kind": ChangeKind.CAPACITY, "capacity": "memory", "amount": Quantity.parse("1Gi")},
            f"{A}.capacity.requests[memory]",
            "1Gi",
        ),
        (
            {"kind": ChangeKind.CAPACITY, "capacity": "memory"},
            f"{A}.capacity.requests[memory]",
            None,
        ),
        (
            {"kind": ChangeKind.SELECTOR, "selector": 2, "expression": "a && true && b"},
            f"{A}.selectors[2].cel.expression",
            "a && true && b",
        ),
        (
            {"kind": ChangeKind.SELECTOR, "selector": 0, "expression": "true &&\n  a && true"},
            f"{A}.selectors[0].cel.expression",
            "a",
        ),
        (
            {"kind": ChangeKind.SELECTOR, "selector": 0, "expression": "(true && true)"},
            f"{A}.selectors[0]",
            None,
        ),
    ],
)
def test_a_change_of_a_request_is_a_field_of_the_template(
    tmp_path: Path, change: dict[str, Any], path: str, value: Any
) -> None:
    assert steps(tmp_path, places=(Place(0, 0),), **change) == [Step(TEMPLATE, path, value)]


def test_an_alternative_has_a_path_of_its_own(tmp_path: Path) -> None:
    (step,) = steps(tmp_path, kind=ChangeKind.COUNT, count=1, places=(Place(0, 1, 0),))
    assert step.path == "spec.spec.devices.requests[1].firstAvailable[0].count"


def test_a_second_choice_is_written_out(tmp_path: Path) -> None:
    (step,) = steps(tmp_path, kind=ChangeKind.ALTERNATIVE, count=1, places=(Place(0, 0),))
    assert step.path == "spec.spec.devices.requests[0].firstAvailable"
    assert [one["name"] for one in step.value] == ["preferred", "fewer"]


def test_a_number_instead_of_all_changes_the_mode_as_well(tmp_path: Path) -> None:
    found = steps(tmp_path, "claim/mine", kind=ChangeKind.COUNT, count=2, places=(Place(0, 0),))
    assert [(one.object, one.path, one.value) for one in found] == [
        ("ResourceClaim ml/mine", "spec.devices.requests[0].exactly.count", 2),
        ("ResourceClaim ml/mine", "spec.devices.requests[0].exactly.allocationMode", "ExactCount"),
    ]


def test_the_count_of_an_extended_resource_is_a_containers(tmp_path: Path) -> None:
    (step,) = steps(tmp_path, kind=ChangeKind.COUNT, count=2, places=(Place(1, 0),))
    assert step.object == "Pod ml/p"
    assert step.path == "spec.containers[0].resources.limits[example.com/gpu]"


def test_extended_resources_tolerate_nothing(tmp_path: Path) -> None:
    (step,) = steps(tmp_path, kind=ChangeKind.TOLERATE, places=(Place(1, 0),))
    assert "ask with a ResourceClaim" in step.note


def test_a_class_is_changed_where_it_is(tmp_path: Path) -> None:
    change: dict[str, Any] = {"device_class": "gpu", "selector": 0, "expression": "a"}
    found = steps(tmp_path, kind=ChangeKind.CLASS_SELECTOR, **change)
    assert found == [Step("DeviceClass gpu", "spec.selectors[0].cel.expression", "a")]


def test_a_claim_is_freed_by_ending_those_it_is_for(tmp_path: Path) -> None:
    units = (Unit("ml/taken", ()), Unit("ml/forgotten", ()), Unit("", (DeviceID("d", "p", "x"),)))
    found = steps(tmp_path, kind=ChangeKind.FREE, units=units)
    assert [one.command for one in found] == [
        "kubectl delete pod one -n ml",
        "kubectl delete pod two -n ml",
        "kubectl delete resourceclaim forgotten -n ml",
        "",
    ]
    assert found[-1].note == "nobody knows who holds d/p/x"


def test_many_claims_to_free_are_counted(tmp_path: Path) -> None:
    units = tuple(Unit(f"ml/c{number}", ()) for number in range(9))
    assert steps(tmp_path, kind=ChangeKind.FREE, units=units)[-1].note == "and 4 more claims"


def test_a_pool_is_up_to_its_driver(tmp_path: Path) -> None:
    (step,) = steps(tmp_path, kind=ChangeKind.POOL, pool="d/p")
    assert step.note == "only driver d can: look at its pods, and at the slices of pool p"


@pytest.mark.parametrize(
    ("kind", "command", "note"),
    [
        pytest.param(
            "ReplicaSet",
            "kubectl scale replicaset web -n ml --replicas=…",
            "one less, or its Deployment: a pod that is merely deleted is made anew by "
            "ReplicaSet/web",
            id="scaled",
        ),
        pytest.param(
            "Job",
            "kubectl delete pod q -n ml",
            "Job/web may make it anew: end that instead",
            id="ended",
        ),
    ],
)
def test_a_pod_that_would_come_back_is_not_just_deleted(
    tmp_path: Path, kind: str, command: str, note: str
) -> None:
    owned = pod("q")
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "web", "uid": "w", "controller": True}
    owned["metadata"]["ownerReferences"] = [owner]
    dump = [node("a"), gpus("a", 1), device_class(), held("x", "a", ["gpu-0"], "q"), owned]
    answer = explain(tmp_path, "claim/c", *dump, claim("c"))
    (step,) = answer.suggestions[0].steps
    assert (step.command, step.note) == (command, note)
