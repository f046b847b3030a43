from __future__ import annotations

import io
import json
from typing import Any

import pytest

from dray.api.scheme import decode_any
from dray.testing.conformance import SUITES, answer, gates_of, main


def claim(**exactly: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "a", "namespace": "b", "resourceVersion": "1"},
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "gpu",
                        "exactly": {
                            "deviceClassName": "c",
                            "allocationMode": "ExactCount",
                            "count": 1,
                            **exactly,
                        },
                    }
                ]
            }
        },
    }


def ask(name: str, obj: Any, old: Any = None) -> Any:
    case = {"name": name, "object": obj} | ({"old": old} if old else {})
    return answer(json.dumps(case).encode(), SUITES["validation"])


def fields(name: str, obj: Any, old: Any = None) -> list[tuple[str, str]]:
    return [(error["type"], error["field"]) for error in ask(name, obj, old)["errors"]]


def test_an_answer_has_the_name_and_every_error_with_its_detail() -> None:
    assert ask("TestValidateClaim/bad-count", claim(count=-1)) == {
        "name": "TestValidateClaim/bad-count",
        "errors": [
            {
                "type": "FieldValueInvalid",
                "field": "spec.devices.requests[0].exactly.count",
                "detail": "must be greater than zero",
            }
        ],
    }


def test_objects_are_taken_as_they_are_without_defaults() -> None:
    assert fields("TestValidateClaim/no-mode", claim(allocationMode="")) == [
        ("FieldValueNotSupported", "spec.devices.requests[0].exactly.allocationMode")
    ]


def test_the_name_tells_the_operation() -> None:
    changed = claim(count=2)
    assert fields("TestValidateClaimUpdate/change", changed, claim()) == [
        ("FieldValueInvalid", "spec")
    ]
    assert fields("TestValidateClaimStatusUpdate/change", changed, claim()) == []


def test_the_blanks_of_carried_json_count() -> None:
    def configured(length: int) -> dict[str, Any]:
        obj = claim()
        # `{"a": "…"}` with its blank.
        parameters = {"a": "x" * (length - 9)}
        obj["spec"]["devices"]["config"] = [{"opaque": {"driver": "d", "parameters": parameters}}]
        return obj

    assert fields("TestValidateClaim/fits", configured(10240)) == []
    assert fields("TestValidateClaim/too-large", configured(10241)) == [
        ("FieldValueTooLong", "spec.devices.config[0].opaque.parameters")
    ]


def test_a_name_that_says_deleted_stands_for_a_deletion_time() -> None:
    result = {"request": "gpu", "driver": "d", "pool": "p", "device": "d"}
    allocated = claim() | {"status": {"allocation": {"devices": {"results": [result]}}}}
    reserved = claim() | {
        "status": {
            **allocated["status"],
            "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
        }
    }
    assert fields("TestValidateClaimStatusUpdate/reserved", reserved, allocated) == []
    assert fields("TestValidateClaimStatusUpdate/reserved-deleted", reserved, allocated) == [
        ("FieldValueForbidden", "status.reservedFor")
    ]


# What cannot be judged -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "error"),
    [
        pytest.param(b"[]", "a case is a JSON object", id="not-a-case"),
        pytest.param(b"{", "not JSON: ", id="not-json"),
        pytest.param(b"{}", "a case has an object", id="no-object"),
        pytest.param(
            b'{"object": "json: error"}', "input is not an object: json: error", id="text"
        ),
        pytest.param(b'{"object": {"kind": "X"}}', "apiVersion: missing", id="no-kind"),
        pytest.param(
            b'{"object": {"apiVersion": "v1", "kind": "Node"}}',
            "no recorded rules for Node",
            id="a-kind-without-rules",
        ),
    ],
)
def test_what_cannot_be_judged_is_an_error_of_its_own(line: bytes, error: str) -> None:
    assert answer(line, SUITES["validation"])["error"].startswith(error)


# Gates -----------------------------------------------------------------------------------------


def gates(name: str, obj: dict[str, Any]) -> set[str]:
    return {*gates_of(name, [decode_any(obj)[2].value])}


DERIVED = claim(derivedAttributes=[{"name": "a/b", "expression": "1"}])


@pytest.mark.parametrize(
    ("name", "obj", "gate", "on"),
    [
        pytest.param("T/x", claim(), "DRAConsumableCapacity", False, id="unused"),
        pytest.param("T/x", claim(capacity={}), "DRAConsumableCapacity", True, id="used"),
        pytest.param("T/x", DERIVED, "DRADerivedAttributes", True, id="alpha-in-use"),
        pytest.param("T/x", DERIVED, "DRAListTypeAttributes", False, id="not-called"),
        pytest.param(
            "T/list-type-enabled", DERIVED, "DRAListTypeAttributes", True, id="called-enabled"
        ),
        pytest.param(
            "T/derived-attributes-disabled",
            DERIVED,
            "DRADerivedAttributes",
            False,
            id="called-disabled",
        ),
    ],
)
def test_a_case_shows_its_gates(name: str, obj: dict[str, Any], gate: str, on: bool) -> None:
    assert (gate in gates(name, obj)) is on


@pytest.mark.parametrize(
    ("name", "amount", "on"),
    [("T/fractional", "1500m", True), ("T/integer", "1500m", False), ("T/x", "1", False)],
)
def test_fractions_in_a_policy_need_their_gate(name: str, amount: str, on: bool) -> None:
    policy = {"default": amount, "validValues": [amount]}
    device = {"name": "a", "capacity": {"b": {"value": "2", "requestPolicy": policy}}}
    obj = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "spec": {"devices": [{**device, "allowMultipleAllocations": True}]},
    }
    assert ("DRAFractionalCapacityRange" in gates(name, obj)) is on


# The program -----------------------------------------------------------------------------------


def test_answers_come_in_order_one_line_each() -> None:
    cases = [json.dumps({"name": name, "object": claim()}).encode() for name in ("a", "b")]
    answers = io.StringIO()
    assert main(["validation"], [cases[0], b"\n", cases[1]], answers, io.StringIO()) == 0
    assert [json.loads(line)["name"] for line in answers.getvalue().splitlines()] == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["scheduler"], "no suite 'scheduler': "), ([], "name one suite: ")],
)
def test_an_unknown_suite_is_refused_with_the_known_ones(
    arguments: list[str], complaint: str
) -> None:
    complaints = io.StringIO()
    assert main(arguments, [], io.StringIO(), complaints) == 2
    assert complaints.getvalue().startswith(complaint)
    assert "{allocator,cel,validation}" in complaints.getvalue()


# Selectors -------------------------------------------------------------------------------------


def select(expression: str, **case: Any) -> Any:
    asked = {"name": "x", "expression": expression, "driver": "d.com", **case}
    return answer(json.dumps(asked).encode(), SUITES["cel"])


MODEL = 'device.attributes["d.com"].model == "a"'


def test_a_selector_answers_with_its_costs() -> None:
    assert select(MODEL, attributes={"model": {"string": "a"}}) == {
        "name": "x",
        "maxCost": 5,
        "match": True,
        "actualCost": 5,
    }


def test_a_selector_that_fails_on_its_device_says_why_and_what_it_cost() -> None:
    assert select(MODEL) == {
        "name": "x",
        "maxCost": 5,
        "matchError": "no such key: model",
        "actualCost": 5,
    }


def test_a_selector_that_does_not_compile_has_no_cost() -> None:
    (message,) = select("device.nope").keys() - {"name"}
    assert message == "compileError"


def test_a_device_that_cannot_be_read_costs_nothing() -> None:
    got = select("true", attributes={"v": {"version": "x"}})
    assert got["matchError"].startswith("attribute v: parse semantic version")
    assert "actualCost" not in got


def test_a_budget_is_exceeded_by_one() -> None:
    got = select("lists.range(1000000).all(x, x >= 0)")
    assert got["matchError"] == "operation cancelled: actual cost limit exceeded"
    assert got["actualCost"] == 1_000_001


@pytest.mark.parametrize(
    ("gates", "compiles"),
    [
        ({"envType": "NewExpressions"}, False),
        ({"envType": "NewExpressions", "consumableCapacity": True}, True),
        ({"envType": "StoredExpressions"}, True),
    ],
    ids=["new", "gate", "stored"],
)
def test_a_selector_is_compiled_in_the_environment_of_its_case(
    gates: dict[str, Any], compiles: bool
) -> None:
    got = select("device.allowMultipleAllocations", **gates)
    assert ("match" in got) is compiles


@pytest.mark.parametrize(
    "case",
    [{}, {"expression": 1}, {"expression": "true", "driver": 1},
     {"expression": "true", "attributes": {"a": 1}}],
    ids=["nothing", "number", "driver", "attribute"],
)  # fmt: skip
def test_a_case_that_is_none_is_an_error_of_its_own(case: dict[str, Any]) -> None:
    assert "error" in answer(json.dumps(case).encode(), SUITES["cel"])


# Allocations ------------------------------------------------------------------------------------


def test_a_suite_of_allocations_gives_devices_or_says_why_not() -> None:
    case = {
        "name": "x",
        "node": {"metadata": {"name": "n"}},
        "classes": [{"metadata": {"name": "gpu"}, "spec": {}}],
        "claims": [{"metadata": {"name": "c"}, "spec": {"devices": {"requests": []}}}],
    }
    found = answer(json.dumps(case).encode(), SUITES["allocator"])
    assert found == {"name": "x", "results": [{"devices": {}}], "fits": True, "draySteps": 1}
