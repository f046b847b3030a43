from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.resource import Device, DeviceAttribute, DeviceCapacity
from dray.cel import DeviceView, Environment, Selector, compile_selector, describe, explain

VIEW = DeviceView.of(
    "d",
    Device(
        attributes={
            "model": DeviceAttribute(string_value="A100"),
            "cores": DeviceAttribute(int_value=8),
            "rdma": DeviceAttribute(bool_value=False),
            "version": DeviceAttribute(version_value="1.2.3"),
            "peers": DeviceAttribute(string_values=("a", "b")),
            "x.io/numa": DeviceAttribute(int_value=1),
        },
        capacity={"memory": DeviceCapacity(value=Quantity.parse("24Gi"))},
    ),
)


def words(text: str, view: DeviceView = VIEW) -> list[str]:
    written = text.replace("A.", 'device.attributes["d"].').replace("C.", 'device.capacity["d"].')
    compilation = compile_selector(written, Environment(stored=True))
    return [describe(one, view) for one in explain(Selector(compilation), view).decisions]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('A.model == "H100"', 'model is "A100", wanted "H100"'),
        ('"H100" == A.model', 'model is "A100", wanted "H100"'),
        ('A.model != "A100"', 'model is "A100", wanted anything but "A100"'),
        ('!(A.model == "A100")', 'model is "A100", wanted anything but "A100"'),
        ("!!(A.cores == 1)", "cores is 8, wanted 1"),
        ('A.model in ["H100", "L4"]', 'model is "A100", wanted one of "H100", "L4"'),
        ('A.model in ["H100"]', 'model is "A100", wanted "H100"'),
        ('!(A.model in ["A100"])', 'model is "A100", wanted anything but "A100"'),
        ("A.cores in [1,2,3,4,5,6,7]", "cores is 8, wanted one of 1, 2, 3, 4, 5, 6, … 1 more"),
        ("A.cores < 4", "cores is 8, wanted < 4"),
        ("4 > A.cores", "cores is 8, wanted < 4"),
        ("!(A.cores > 4)", "cores is 8, wanted ≤ 4"),
        ("A.cores >= 4 * 4", "cores is 8, wanted ≥ 16"),
        ("A.rdma == true", "rdma is false, wanted true"),
        ("A.rdma != false", "rdma is false, wanted true"),
        ("A.rdma", "rdma is false, wanted true"),
        ("!A.rdma", "rdma is false, wanted false"),
        ('device.driver == "e"', 'driver is "d", wanted "e"'),
        ("device.allowMultipleAllocations", "allowMultipleAllocations is false, wanted true"),
        ('device.attributes["x.io"].numa == 0', "x.io/numa is 1, wanted 0"),
        ('A.nope == "x"', 'nope is missing, wanted "x"'),
    ],
)
def test_a_comparison_with_a_constant(text: str, said: str) -> None:
    assert words(text) == [said]


@pytest.mark.parametrize(
    ("comparison", "sign"),
    [
        (">= 0", "≥ "), ("> 0", "> "), ("== 0", ""), ("!= 0", "anything but "), ("<= 0", "≤ "),
        ("< 0", "< "), ("== 1", "> "), ("== -1", "< "), ("!= -1", "≥ "), ("!= 1", "≤ "),
        (">= 1", "> "), ("> -1", "≥ "), ("< 1", "≤ "), ("<= -1", "< "),
    ],
)  # fmt: skip
def test_comparisons_of_quantities_and_versions(comparison: str, sign: str) -> None:
    assert words(f'C.memory.compareTo(quantity("40Gi")) {comparison}') == [
        f"memory is 24Gi, wanted {sign}40Gi"
    ]
    assert words(f'A.version.compareTo(semver("2.0.0")) {comparison}') == [
        f"version is 1.2.3, wanted {sign}2.0.0"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('quantity("40Gi").compareTo(C.memory) <= 0', "memory is 24Gi, wanted ≥ 40Gi"),
        ('0 <= C.memory.compareTo(quantity("40Gi"))', "memory is 24Gi, wanted ≥ 40Gi"),
        ('C.memory.isGreaterThan(quantity("40Gi"))', "memory is 24Gi, wanted > 40Gi"),
        ('!C.memory.isLessThan(quantity("40Gi"))', "memory is 24Gi, wanted ≥ 40Gi"),
        ('quantity("40Gi").isLessThan(C.memory)', "memory is 24Gi, wanted > 40Gi"),
        ('C.memory == quantity("40Gi")', "memory is 24Gi, wanted 40Gi"),
        ('A.version.isGreaterThan(semver("2.0.0"))', "version is 1.2.3, wanted > 2.0.0"),
        (
            'C.memory.sub(quantity("1Gi")).compareTo(quantity("40Gi")) > 0',
            'memory.sub(quantity("1Gi")) is 23Gi, wanted > 40Gi',
        ),
    ],
)
def test_other_ways_to_compare_amounts(text: str, said: str) -> None:
    assert words(text) == [said]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("has(A.nope)", "nope is missing, wanted it present"),
        ("!has(A.model)", 'model is "A100", wanted it missing'),
        ('"nope" in device.attributes["d"]', "nope is missing, wanted it present"),
        ('"e" in device.attributes', "attributes of e are missing, wanted them present"),
        ("A.?nope.hasValue()", "nope is missing, wanted it present"),
        ('A.?nope.orValue("x") == "y"', 'nope is missing and taken as "x", wanted "y"'),
        ('A.?model.orValue("x") == "y"', 'model is "A100", wanted "y"'),
        ("A.?rdma.orValue(false)", "rdma is false, wanted true"),
        ("!A.?nope.orValue(true)", "nope is missing and taken as true, wanted false"),
        ("A.?nope.value() == 1", "nope is missing, wanted 1"),
    ],
)
def test_what_may_be_missing(text: str, said: str) -> None:
    assert words(text) == [said]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('A.model.startsWith("H")', 'model is "A100", wanted to start with "H"'),
        ('A.model.endsWith("H")', 'model is "A100", wanted to end with "H"'),
        ('A.model.contains("H")', 'model is "A100", wanted to contain "H"'),
        ('!A.model.matches("^A")', 'model is "A100", wanted not to match "^A"'),
        ('A.peers.includes("c")', 'peers is ["a", "b"], wanted to include "c"'),
        ('"c" in A.peers', 'peers is ["a", "b"], wanted to include "c"'),
        ('A.model.lowerAscii() == "h100"', 'model.lowerAscii() is "a100", wanted "h100"'),
        ("A.version.major() >= 2", "version.major() is 1, wanted ≥ 2"),
        ("size(A.peers) > 4", "size(peers) is 2, wanted > 4"),
    ],
)
def test_texts_lists_and_what_is_computed(text: str, said: str) -> None:
    assert words(text) == [said]


def test_alternatives_for_one_thing_are_one_requirement() -> None:
    assert words('A.model == "H100" || A.model == "L4"') == [
        'model is "A100", wanted "H100" or "L4"'
    ]


def test_a_bind_is_looked_through() -> None:
    bound = 'cel.bind(m, A.model, cel.bind(c, device.capacity["d"], m == "x" && c.memory == '
    assert words(bound + 'quantity("1")))') == [
        'model is "A100", wanted "x"',
        "memory is 24Gi, wanted 1",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("false", "false is false"),
        (
            'A.model == "H100" || A.cores == 3',
            'model == "H100" || cores == 3 is false: cores is 8, model is "A100"',
        ),
        (
            'A.peers.exists(p, p == "c")',
            'peers.exists(p, p == "c") is false: peers is ["a", "b"]',
        ),
        ("A.nope == A.model", 'nope == model fails: model is "A100", nope is missing'),
        ("!(A.cores > 1 && A.cores < 9)", "!(cores > 1 && cores < 9) is false: cores is 8"),
    ],
)
def test_anything_else_is_quoted_with_what_it_read(text: str, said: str) -> None:
    assert words(text) == [said]


def test_a_long_condition_is_quoted_in_part() -> None:
    text = " || ".join(f'(A.model == "{number}" && A.cores == 1)' for number in range(100))
    (said,) = words(text)
    assert len(said) < 200


def test_a_device_that_cannot_be_read_is_no_reason_to_fail() -> None:
    assert words("A.cores == 1", DeviceView(None, "broken")) == [
        'device.attributes["d"].cores == 1 fails'
    ]


def test_many_alternatives_are_not_all_told() -> None:
    (said,) = words(" || ".join(f"A.model == 'M{number}'" for number in range(150)))
    assert said.startswith('model is "A100", wanted "M0" or "M1" or ')
    assert said.endswith(" or … 144 more")
