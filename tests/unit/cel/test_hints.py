from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.quantity import Quantity
from dray.api.resource import Device, DeviceAttribute, DeviceCapacity
from dray.cel import DeviceView, Environment, compile_selector, hints
from dray.cel._hints import Hint

GPU = DeviceView.of(
    "gpu.example.com",
    Device(
        attributes={
            "model": DeviceAttribute(string_value="A100"),
            "cores": DeviceAttribute(int_value=108),
        },
        capacity={"memory": DeviceCapacity(value=Quantity.parse("24Gi"))},
    ),
)
A = 'device.attributes["d"]'
M = 'device.capacity["d"].memory'
LOOPS = (
    "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, "
    "device.attributes.all(d, a.matches(b + c + d)))))"
)


def said(text: str, *views: DeviceView) -> list[str]:
    return [hint.text for hint in hints(compile_selector(text, Environment()), views)]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("device.atributes['d'].x == 1", "did you mean device.attributes?"),
        ("device.model == 'x'", 'attributes are read as device.attributes["<driver>"].model'),
        ("model == 'x'", 'attributes are read as device.attributes["<driver>"].model'),
        ("attributes['d'].x == 1", "write device.attributes"),
        ("devices.driver == 'x'", "did you mean device?"),
        ("device.driver == None", "write null, or ask with has(…) whether there is a value"),
        (f"{A}.x == True", "write true"),
        (
            "device.attributes[gpu.example.com].x == 1",
            'the domain is a text: write ["gpu.example.com"]',
        ),
        ("device.attributes[driver].x == 1", "write device.driver"),
        (
            f"{A}.gpu-kind == 'a'",
            "- is minus here: names of attributes have letters, digits and underscores",
        ),
        (f"{A}.x.startswith('a')", "did you mean startsWith?"),
        (f"{A}.x.lower() == 'a'", "write lowerAscii()"),
        (f"{A}.x.includes('a')", "includes needs the feature gate DRAListTypeAttributes"),
        ("has(device.driver, 'x')", "has takes other arguments: has(path.name)"),
        (f"has({A}['x'])", f"write 'x' in {A}"),
        (
            "device['driver'] == 'x'",
            "the device's own fields follow a dot: device.driver, device.attributes",
        ),
    ],
)
def test_a_name_nobody_knows(text: str, hint: str) -> None:
    assert said(text) == [hint]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (f"{M} > 40", f'write {M}.isGreaterThan(quantity("40"))'),
        (f'{M} < "40Gi"', f'write {M}.isLessThan(quantity("40Gi"))'),
        (f'{M} >= "40Gi"', f'write {M}.compareTo(quantity("40Gi")) >= 0'),
        (f'{M} <= quantity("40Gi")', f'write {M}.compareTo(quantity("40Gi")) <= 0'),
        (f'"40Gi" <= {M}', f'write {M}.compareTo(quantity("40Gi")) >= 0'),
        (f'{M} == "40Gi"', f'write {M} == quantity("40Gi")'),
        (f"{M} == 40", f'write {M} == quantity("40")'),
        (f'{M} != "40Gi"', f'write {M}.compareTo(quantity("40Gi")) != 0'),
        (f'{M}.compareTo("40Gi") >= 0', 'write compareTo(quantity("40Gi"))'),
        (f'{M}.isGreaterThanOrEqual(quantity("1"))', f'write {M}.compareTo(quantity("1")) >= 0'),
        (f'{A}.v >= semver("1.0.0")', f'write {A}.v.compareTo(semver("1.0.0")) >= 0'),
        (f'{A}.v.isGreaterThan("1.0.0")', 'write isGreaterThan(semver("1.0.0"))'),
    ],
)
def test_amounts_and_versions_are_compared_by_functions(text: str, hint: str) -> None:
    assert said(text) == [hint]
    rewritten = hint.removeprefix("write ")
    if rewritten.startswith("device"):
        assert compile_selector(rewritten, Environment()).ok


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("device.driver = 'x'", "write == to compare"),
        ("device.driver === 'x'", "write == , not ==="),
        ("true & false", "write &&"),
        ("true | false", "write ||"),
        ("true and false", "write && instead of and"),
        ("true OR false", "write || instead of OR"),
        ("not true", "write ! instead of not"),
        ("device.driver is 'x'", "write == instead of is"),
        ("device.driver == 'x", "the text that begins here has no closing '"),
        ("device.driver == “x”", 'write plain quotes: "…"'),
        ("device.driver in ('x', 'y')", 'a list is written in square brackets: in ["a", "b"]'),
        ("(true", "a parenthesis is not closed: the ( at column 1"),
        ("device.driver in ['x'", "a square bracket is not closed: the [ at column 18"),
        ("true &&", "something is missing after &&"),
        (f"{A}.in == 1", 'in cannot follow a dot: write ["in"]'),
        (f"{A}.x ?? 1 == 1", "a default is written .?name.orValue(default)"),
    ],
)
def test_a_slip_of_syntax(text: str, hint: str) -> None:
    assert said(text) == [hint]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "device.driver",
            "a selector is true or false: compare the value with something, as in … == …",
        ),
        (f"{A}.?x", "a missing value needs a default: add .orValue(false)"),
        (f'{A}.?x == "a"', f'a missing value needs a default: {A}.?x.orValue("") == "a"'),
        (
            "device.attributes['d.io'] == 'a'",
            (
                "device.attributes['d.io'] is all of a domain: "
                "name one, as in device.attributes['d.io'].NAME"
            ),
        ),
        ('device.attributes["d/x"] == "a"', 'write device.attributes["d"].x'),
        ("1 == 1.0", "both numbers have to be of one type: write double(…) or int(…) around one"),
        (
            "device.driver == 1",
            "one side is a text and the other a number: add or remove the quotes",
        ),
        (f"{A}.x.contains(1)", "contains takes a text: put it in quotes"),
        (
            "device.driver && true",
            "each side has to be true or false: compare the value with something",
        ),
        (
            f"{A}.x.exists(y, true)",
            "loops over an attribute need the feature gate DRAListTypeAttributes",
        ),
        (
            f"{M}.value > 1",
            'a capacity is the amount itself: compare it with .compareTo(quantity("…")) >= 0',
        ),
    ],
)
def test_types_that_do_not_go_together(text: str, hint: str) -> None:
    assert said(text) == [hint]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            f'{M} != quantity("1")',
            (
                "the cost of != between quantities is unknown: "
                f'write {M}.compareTo(quantity("1")) != 0'
            ),
        ),
        (
            f'{A}.?x == optional.of("a")',
            "the cost of comparing optionals is unknown: compare .orValue(default) instead",
        ),
        (
            f"type({A}.x) == type(1)",
            "the cost of comparing two type(…) is unknown: name one, as in == int",
        ),
        (
            '["a"].join(",") == device.driver',
            "the cost of join is unknown: compare the items instead",
        ),
        (
            LOOPS,
            "loops over all attributes, and loops in loops, cost the most: read attributes by name",
        ),
    ],
)
def test_what_costs_too_much_can_be_written_otherwise(text: str, hint: str) -> None:
    assert said(text) == [hint]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (f'{M} == quantity("40GB")', '"40GB" is no quantity: write "40G"'),
        (f'{M} == quantity("40 GiB")', '"40 GiB" is no quantity: write "40Gi"'),
        (f'{M} == quantity("40x")', '"40x" is no quantity: units are k M G T and Ki Mi Gi Ti'),
        (f'{M} == quantity("much")', '"much" is no quantity: an amount and a unit, such as "40Gi"'),
        (f'{A}.v == semver("v1.2")', '"v1.2" is no semantic version: write "1.2.0"'),
        (f'{A}.v == semver("new")', '"new" is no semantic version: three numbers, such as "1.2.3"'),
    ],
)
def test_a_constant_that_fails_on_every_device(text: str, hint: str) -> None:
    assert said(text) == [hint]


def test_with_devices_a_lone_name_is_found() -> None:
    assert said("model == 'x'", GPU) == ['write device.attributes["gpu.example.com"].model']
    assert said("device.memory == '1Gi'", GPU) == [
        'write device.capacity["gpu.example.com"].memory',
        'write device.capacity["gpu.example.com"].memory == quantity("1Gi")',
    ]


@pytest.mark.parametrize("text", [f"{A}.x == 1", "true", "device.driver == 'and'"])
def test_what_is_right_needs_no_hint(text: str) -> None:
    assert said(text) == []


G = 'device.attributes["gpu.example.com"]'
C = 'device.capacity["gpu.example.com"]'


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        (f"{G}.model == H100", f'{G}.model == "H100"'),
        (f"{G}.model in [H100, A100]", f'{G}.model in ["H100", "A100"]'),
        (f"{G}.ecc == yes", f"{G}.ecc == true"),
        (f'{G}.model = "a" and not true', f'{G}.model == "a" && !true'),
        (f'{G}.model =~ "H.*"', f'{G}.model.matches("H.*")'),
        (f'{G}.model.matches("\\d+")', f'{G}.model.matches(r"\\d+")'),
        (f'{G}.model not in ["a"]', f'!({G}.model in ["a"])'),
        (f'{G}?.model == "a"', f'{G}.?model.orValue("") == "a"'),
        (f'{G}.model?.orValue("") == "a"', f'{G}.?model.orValue("") == "a"'),
        (f'{G}.?["x"] == 1', f'{G}[?"x"].orValue(0) == 1'),
        (f'{G}.model.orElse("") == "a"', f'{G}.?model.orValue("") == "a"'),
        (f'{G}.get("model", "") == "a"', f'{G}.?model.orValue("") == "a"'),
        (f'{G}.model.toLowerCase() == "a"', f'{G}.model.lowerAscii() == "a"'),
        (f'{G[:-1]}.model == "a"', f'{G}.model == "a"'),
        ('device.attributes.model == "A"', f'{G}.model == "A"'),
        ('self.driver == "x"', 'device.driver == "x"'),
        (f'has({G}["model"]) && true', f'"model" in {G} && true'),
        (f"{G}.model.contains(H1)", f'{G}.model.contains("H1")'),
        (f'{G}.v > semver("v1.2")', f'{G}.v.isGreaterThan(semver("1.2.0"))'),
        ("(true))", "(true)"),
        ("true]", "true"),
        (f"{G}.a <> 1", f"{G}.a != 1"),
        ("true;", "true"),
        ("true # why", "true // why"),
        ("if true then false else true", "true ? false : true"),
        ("device.driver in ('a', 'b')", "device.driver in ['a', 'b']"),
        (f"{C}.memory >= 40Gi", f'{C}.memory.compareTo(quantity("40Gi")) >= 0'),
        (f"{C}.memory >= 40*1024", f"{C}.memory.asInteger() >= 40*1024"),
        (f"{C}.memory.compareTo(40) > 0", f'{C}.memory.compareTo(quantity("40")) > 0'),
        (f'{C}.memory.gte(quantity("1"))', f'{C}.memory.compareTo(quantity("1")) >= 0'),
        (
            f'{C}.memory in ["1", "2Gi"] && true',
            f'({C}.memory == quantity("1") || {C}.memory == quantity("2Gi")) && true',
        ),
        (f'quantity({C}.memory) == quantity("1")', f'{C}.memory == quantity("1")'),
        ('device.capacity["memory"] == quantity("1")', f'{C}.memory == quantity("1")'),
        (f"{G}.cores.isGreaterThan(100)", f"{G}.cores > 100"),
        (f'{G}.cores >= quantity("100")', f"{G}.cores >= 100"),
        (f'{C}.model == "H100"', f'{G}.model == "H100"'),
        (f'{C}.memory == quantity("40GB")', f'{C}.memory == quantity("40G")'),
        (f'{G}.v == semver("1")', f'{G}.v == semver("1.0.0")'),
        ('device.drivr == "x" && true', 'device.driver == "x" && true'),
    ],
)
def test_a_hint_comes_with_a_whole_expression_that_is_accepted(text: str, instead: str) -> None:
    found = hints(compile_selector(text, Environment()), [GPU])
    assert [hint.expression for hint in found if hint.expression] == [instead]
    assert compile_selector(instead, Environment()).ok


@pytest.mark.parametrize(
    "text",
    [
        f'{C}.memory >= "lots"',
        f'{G}.model like "H%"',
        f"{G}.model.matches('(')",
        f"{C}.memory >= '40Gi' && nobody.knows(this)",
        "",
    ],
)
def test_what_cannot_be_mended_gets_words_only(text: str) -> None:
    found = hints(compile_selector(text, Environment()), [GPU])
    assert found
    assert [hint.expression for hint in found] == [None] * len(found)
    assert not any("quantity(" in hint.text and "lots" in hint.text for hint in found)


def test_there_are_at_most_three_hints() -> None:
    text = f"{G}.x = 1 and {G}.y <> 2 or ({G}.z = a;"
    assert len(hints(compile_selector(text, Environment()))) == 3


def test_a_mistake_made_again_and_again_is_told_once() -> None:
    (hint,) = hints(compile_selector(" && ".join([f"{G}.x = 1"] * 8), Environment()))
    assert hint.expression == " && ".join([f"{G}.x == 1"] * 8)


@given(
    st.lists(
        st.sampled_from(
            [*"()[]{}.,?:=&|!<>-'\"", "a", "1", "device", A, M, "==", ">=", "in", "has("]
        ),
        max_size=12,
    )
)
def test_hints_never_fail_and_are_short(parts: list[str]) -> None:
    for text in ("".join(parts), " ".join(parts)):
        for hint in hints(compile_selector(text, Environment()), [GPU]):
            assert isinstance(hint, Hint)
            assert 0 < len(hint.text) < 1000
            assert hint.expression is None or compile_selector(hint.expression, Environment()).ok
