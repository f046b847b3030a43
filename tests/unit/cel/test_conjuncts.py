from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.resource import Device, DeviceAttribute, DeviceCapacity
from dray.cel import (
    DeviceView,
    Environment,
    Selector,
    compile_selector,
    conjuncts,
    explain,
)
from dray.cel._conjuncts import CONJUNCTS_MAX
from dray.errors import CELError

VIEW = DeviceView.of(
    "d",
    Device(
        attributes={
            "model": DeviceAttribute(string_value="A100"),
            "cores": DeviceAttribute(int_value=8),
            "version": DeviceAttribute(version_value="1.2.3"),
        },
        capacity={"memory": DeviceCapacity(value=Quantity.parse("24Gi"))},
    ),
)
A = 'device.attributes["d"]'


def selector(text: str) -> Selector:
    return Selector(compile_selector(text, Environment(stored=True)))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("true", ["true"]),
        ("true && false", ["true", "false"]),
        ("((true) && (false && true))", ["true", "false", "true"]),
        ("(1 == 1 || false) && true", ["1 == 1 || false", "true"]),
        ("(true || false) && (false || true)", ["true || false", "false || true"]),
        ("!(true && false)", ["!(true && false)"]),
        ("true ? true && false : false", ["true ? true && false : false"]),
        ("cel.bind(x, 1, x == 1 && (x < 2))", ["x == 1", "x < 2"]),
        (
            "cel.bind(x, 1, cel.bind(y, x, y == 1 && x == 1) && true) && false",
            ["y == 1", "x == 1", "true", "false"],
        ),
        ("!cel.bind(x, 1, x == 1 && x < 2)", ["!cel.bind(x, 1, x == 1 && x < 2)"]),
        ("[1].all(x, x == 1 && x < 2) && true", ["[1].all(x, x == 1 && x < 2)", "true"]),
        ('true // "&&\n && // ))\n "a && b" == "c"', ["true", '"a && b" == "c"']),
        ("'é' == '😀' &&\n\ttrue", ["'é' == '😀'", "true"]),
    ],
)
def test_a_selector_is_taken_apart_at_and(text: str, parts: list[str]) -> None:
    found = conjuncts(selector(text))
    assert [one.text for one in found] == parts
    for one in found:
        assert text[one.offset :].startswith(one.text)


def test_there_are_only_so_many_parts() -> None:
    found = conjuncts(selector(" && ".join(["true"] * 1000)))
    assert len(found) == CONJUNCTS_MAX
    assert " && ".join(one.text for one in found).count("true") == 1000


def test_a_part_reads_what_it_reads_through_a_bind() -> None:
    first, second = conjuncts(selector(f"cel.bind(a, {A}, a.model == 'x' && a.cores == 1)"))
    assert [str(one) for one in first.references] == [f"{A}.model"]
    assert [str(one) for one in second.references] == [f"{A}.cores"]


@pytest.mark.parametrize(
    ("text", "verdict", "deciding"),
    [
        (f'{A}.model == "A100" && {A}.cores == 8', "true", None),
        (f'{A}.model == "H100" && {A}.cores == 9', "false", 0),
        (f"{A}.nope == 1 && {A}.cores == 9", "false", 1),
        (f"{A}.nope == 1 && {A}.cores == 8 && {A}.also == 1", "error", 0),
        (f"{A}.model && {A}.cores == 8", "error", 0),
        (f"{A}.model", "error", 0),
        (f"{A}.nope == 1 && {A}.version in ['1.2.3']", "error", 1),
        (f"cel.bind(a, {A}, a.cores == 8 && a.nope)", "error", 1),
    ],
)
def test_the_deciding_part_is_the_first_false_or_else_the_first_error(
    text: str, verdict: str, deciding: int | None
) -> None:
    chosen = selector(text)
    explanation = explain(chosen, VIEW)
    assert explanation.verdict == verdict
    assert explanation.deciding is (None if deciding is None else explanation.decisions[deciding])
    if verdict != "error":
        assert chosen.matches(VIEW) is (verdict == "true")
        return
    with pytest.raises(CELError) as raised:
        chosen.matches(VIEW)
    assert explanation.deciding is not None
    assert explanation.error == explanation.deciding.error == raised.value.message


def test_a_decision_has_what_was_read() -> None:
    (decision,) = explain(selector(f"{A}.cores < size({A}.nope)"), VIEW).decisions
    assert [(str(one.reference), one.shown) for one in decision.readings] == [
        (f"{A}.cores", "8"),
        (f"{A}.nope", "missing"),
    ]


def test_a_device_that_cannot_be_read_fails_every_part() -> None:
    broken = DeviceView.of("d", Device(attributes={"a": DeviceAttribute()}))
    explanation = explain(selector("true && false"), broken)
    assert explanation.verdict == "error"
    assert {one.error for one in explanation.decisions} == {
        "attribute a: unsupported attribute value"
    }


def test_parts_that_cost_too_much_only_together_decide_nothing() -> None:
    dear = "true"
    for name in "abcd":
        dear = f"[1,2,3,4,5,6,7,8,9,10].all({name}, {dear})"
    explanation = explain(selector(" && ".join([dear] * 32)), VIEW)
    assert explanation.error == "operation cancelled: actual cost limit exceeded"
    assert {one.verdict for one in explanation.decisions} == {"true"}
    assert explanation.deciding is None


def test_devices_that_agree_in_what_is_read_share_an_explanation() -> None:
    chosen = selector(f'{A}.cores == 9 && device.capacity["d"].memory.isInteger()')
    assert explain(chosen, VIEW) is explain(chosen, VIEW)
    other = DeviceView.of(
        "d",
        Device(
            attributes={"cores": DeviceAttribute(int_value=8)},
            capacity={"memory": DeviceCapacity(value=Quantity.parse("25769803776"))},
        ),
    )
    # As much, written otherwise.
    readings = [
        one.decisions[1].readings[0].shown
        for one in (explain(chosen, VIEW), explain(chosen, other))
    ]
    assert readings == ["24Gi", "25769803776"]
