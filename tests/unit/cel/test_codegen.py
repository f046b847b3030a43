from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cel import SELECTOR_COST_MAX, DeviceView, Selector, compile_selector
from dray.cel import _types as types
from dray.cel._codegen import COST_MAX, SURPRISES, generate, may_be_list
from dray.cel._values import Value
from dray.errors import CELError
from tests.unit.cel.devices import DRIVER, STORED, selector, version, view
from tests.unit.cel.expressions import devices, selectors

GPU = view({"model": "A100", "index": 3, "list": [1, 2]}, {"memory": "40Gi"})


def run(text: str, device: DeviceView = GPU) -> Value:
    code = selector(text).code
    assert code is not None
    return code(device.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f'device.driver == "{DRIVER}"', True),
        ('$D.model == "A100" && $D.index < 4', True),
        ('"A100" == $D.model', True),
        ('$D.model != "H100"', True),
        ("$D.index in [1, 2, 3]", True),
        ('$K.memory.compareTo(quantity("40Gi")) >= 0', True),
        ('quantity("40Gi").compareTo($K.memory) == 0', True),
        ('$K.memory.isGreaterThan(quantity("40Gi"))', False),
        ("has($D.model) && !has($D.nope)", True),
        ("has(device.attributes.anything)", True),
        ('$D.?nope.orValue("x") == "x"', True),
        ("$D.?nope.or(optional.of(1)).value() == 1", True),
        ("$D.index > 1 ? $D.model == 'A100' : $D.nope", True),
        ("$D.list.exists(x, x == 2) && $D.list.all(x, x > 0)", True),
        ("$D.list.map(x, x + 1) == [2, 3]", True),
        ("$D.list.filter(x, x > 1).size() == 1", True),
        ("$D.list.transformMap(i, v, v * i)[1] == 2", True),
        ("cel.bind(d, $D, d.model == 'A100' || d.list.exists(x, cel.bind(y, x, y == 2)))", True),
        ("optional.of($D.index).optMap(x, x + 1).orValue(0) == 4", True),
        ("{'a': $D.index}.a == 3 && [$D.index][0] == 3", True),
        ("'model' in $D", True),
        ("[1, 2].exists_one(x, x == $D.index - 1)", True),
    ],
)
def test_code_says_what_the_expression_says(text: str, value: Value) -> None:
    assert run(text) is value


@pytest.mark.parametrize(
    "text",
    [
        "$D.nope == 1",
        "$D.nope == 1 || true",
        "$D.model || true",
        "$D.index < 'a'",
        "$D.version == '1.2.3'",
        "$D.model.isGreaterThan(semver('1.0.0'))",
        "[{'a': 1}].exists(x, x.nope == 1)",
        "cel.bind(l, $D.empty, size(l + [1]) == 1)",
    ],
)
def test_code_leaves_what_it_is_not_sure_of_to_the_exact_program(text: str) -> None:
    device = view({"model": "A100", "index": 3, "version": version("1.2.3"), "empty": []})
    with pytest.raises(SURPRISES):
        run(text, device)


@pytest.mark.parametrize(
    "text",
    [
        "cel.bind(a, [], size(a + [1]) + size(a)) == 2",
        "(1 + " * 60 + "$D.index" + ")" * 60 + " == 63",
        "[?$D.?x] == []",
    ],
    ids=["filled-in-place", "tall", "optional-element"],
)
def test_some_expressions_get_no_code(text: str) -> None:
    assert selector(text).code is None


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2].all(x, $D.model.matches('^A'))",
        "$D.list.join('') == ''",
        "$D.model.matches($D.model)",
        f"$D.model == '{'x' * 300}'",
        "$D.list.flatten(2) == []",
    ],
    ids=["dear-in-a-loop", "cost-of-a-result", "unknown-pattern", "long-text", "no-bound"],
)
def test_what_might_cost_much_gets_no_code(text: str) -> None:
    assert selector(text).code is None


@pytest.mark.parametrize(
    "text",
    ["$D.long == $D.long + 'x'", "$D.list.all(x, x >= 0)", "$D.list == [1]"],
    ids=["text", "rounds", "parts"],
)
def test_large_values_are_left_to_the_exact_program(text: str) -> None:
    device = view({"long": "x" * 300, "list": list(range(100))})
    with pytest.raises(SURPRISES):
        run(text, device)


def test_no_run_of_code_can_exceed_a_budget() -> None:
    assert COST_MAX * 2 <= SELECTOR_COST_MAX


def test_texts_of_an_expression_never_become_code() -> None:
    hostile = "']; import os; x['"
    code = selector(f'$D["{hostile}"] == "{hostile}"').code
    assert code is not None
    assert code(view({hostile: hostile}).value) is True


def test_code_has_no_builtins_to_reach() -> None:
    code = generate(selector("$D.index == 3")._checked)
    assert code is not None
    assert code.__globals__["__builtins__"] == {}


def test_what_may_be_a_list() -> None:
    assert may_be_list(types.DYN)
    assert not may_be_list(types.map_of(types.STRING, types.DYN))


@given(selectors, st.lists(devices(), min_size=1, max_size=5))
def test_code_never_contradicts_the_exact_program(text: str, asked: list[DeviceView]) -> None:
    compilation = compile_selector(text, STORED)
    if not compilation.ok:
        return
    compiled = Selector(compilation)
    if compiled.code is None:
        return
    for device in asked:
        if device.failure is not None:
            continue
        try:
            quick = compiled.code(device.value)
        except SURPRISES:
            continue
        try:
            exact = compiled.matches_exactly(device)
        except CELError:
            assert type(quick) is not bool, (text, device)
        else:
            assert quick is exact, (text, device)
