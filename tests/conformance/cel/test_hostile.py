"""Expressions written to take for ever, or all memory: each ends in a sentence or an answer.

No time is measured here; a bound that breaks makes this module run for minutes, or run out of the
memory it is given.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from dray.cel import SELECTOR_COST_MAX, DeviceView, Environment, Selector
from dray.cel._compiler import compile_any
from dray.cel._selector import ASKED_BEFORE_CODE_IS_MADE
from dray.cel.fleet import DeviceTable, Verdict
from dray.errors import CELError
from tests.unit.cel.devices import D, view

STORED = Environment(stored=True)
EXCEEDED = "operation cancelled: actual cost limit exceeded"
MEMORY_BYTES = 3 * 1024**3


@pytest.fixture(autouse=True)
def _bounded_memory() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def chain(first: str, step: str, count: int, last: str) -> str:
    """`count` binds, each made of the one before it, which `$` stands for."""
    text = f"cel.bind(a0, {first}, "
    for index in range(1, count):
        text += f"cel.bind(a{index}, {step.replace('$', f'a{index - 1}')}, "
    return text + last.replace("$", f"a{count - 1}") + ")" * count


ENDED = {
    "texts-doubled": chain('"abcdefghij"', "$ + $", 60, "size($) > 0"),
    "lists-doubled": chain("[1]", "$ + $", 60, "size($) > 0"),
    "lists-of-lists-compared": chain("[1]", "[$, $]", 40, "$ == $"),
    "maps-of-maps-compared": chain('{"a": 1}', '{"l": $, "r": $}', 40, "$ != $"),
    "lists-of-lists-formatted": chain('["x"]', "[$, $]", 40, '"%s".format([$]) != ""'),
    "lists-of-lists-flattened": chain("[dyn(1)]", "[dyn($), dyn($)]", 40, "$.flatten(50) != []"),
    "lists-of-lists-searched": chain("[1]", "[$, $]", 40, "[$] in [[$]]"),
    "lists-of-lists-indexed": chain("[1]", "[$, $]", 40, "[$].indexOf($) == 0"),
    "lists-of-lists-as-sets": chain("[1]", "[$, $]", 40, "sets.equivalent($, $)"),
    "structs-of-structs": chain(
        'google.protobuf.Struct{fields: {"a": 1}}',
        'google.protobuf.Struct{fields: {"a": $, "b": $}}',
        40,
        "$ == {}",
    ),
    "loops-in-loops": "lists.range(1000).all(x, lists.range(1000).all(y, [x, y].all(z, z >= 0)))",
    "replaced-by-itself": chain(f'"{"a" * 80}"', '$.replace("", $)', 12, "size($) > 0"),
    "joined-with-itself": chain('["abcdefghij"]', "[$.join(), $.join()]", 40, "size($) > 0"),
    "quoted-quotes": chain(r'"\"\""', "strings.quote($)", 40, "size($) > 0"),
    "sorted": "lists.range(5000).map(x, 5000 - x).sort().size() > 0",
    "sets": "sets.contains(lists.range(2000), lists.range(2000))",
    "long-texts-searched": chain('"aaaaaaaaaa"', "$ + $", 17, '$.contains($ + "b")'),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", ENDED.values(), ids=ENDED.keys())
def test_what_would_take_for_ever_is_ended(text: str) -> None:
    compilation = compile_any(text, STORED)
    assert compilation.program is not None, compilation.error
    evaluation = compilation.program.evaluate({})
    assert evaluation.failure == EXCEEDED
    assert evaluation.aborted


ANSWERED = {
    "nested-repeats": f'"{"a" * 40}!".matches("^(a+)+$")',
    "nested-counts": '"aaaaaaaaaaaaaaaaaaaaaaaaaaa".matches("(((a{1,30}){1,30})*)*b")',
    "alternatives": f'"{"a" * 60}".matches("^(a|a)*$b")',
    "copies": "optional.of(1)" + ".optMap(x, x)" * 11 + ".hasValue()",
    "deep": "(" * 60 + "1" + " + 1)" * 60 + " == 61",
    "wide": " && ".join(["true"] * 1000),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", ANSWERED.values(), ids=ANSWERED.keys())
def test_what_looks_hostile_and_is_not_gets_its_answer(text: str) -> None:
    compilation = compile_any(text, STORED)
    assert compilation.program is not None, compilation.error
    assert compilation.program.evaluate({}).failure is None


def test_a_range_upstream_refuses_is_refused() -> None:
    compilation = compile_any("lists.range(1000000000).size() > 0", STORED)
    assert compilation.program is not None
    failure = compilation.program.evaluate({}).failure
    assert failure == "lists.range: size 1000000000 exceeds maximum allowed (1000000)"


TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
HUNDRED = str(list(range(100)))


def loops(count: int, body: str, over: str = TEN) -> str:
    for index in range(count):
        body = f"{over}.all(x{index}, {body})"
    return body


UNDERESTIMATED = {
    "joined-and-split": loops(3, "true", f'{D}.texts.join("").split("")'),
    "flattened": loops(3, "true", f"[[{HUNDRED}]].flatten(2)"),
    "validated": loops(4, 'format.uri().validate("https://a.example").hasValue() == false'),
    "added-in-loops": chain("[1]", "$ + $", 20, loops(4, "($ + [1]).size() > 0")),
    "formatted-in-loops": chain(
        r'"\n\n\n\n\n\n\n\n\n\n"', "$ + $", 15, loops(4, '"%s".format([[$]]) != ""')
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", UNDERESTIMATED.values(), ids=UNDERESTIMATED.keys())
def test_what_costs_more_than_its_estimate_is_ended_however_often_one_asks(text: str) -> None:
    """Upstream's estimate is no bound: what it admits may still cost too much."""
    compilation = compile_any(text, STORED)
    assert compilation.max_cost < SELECTOR_COST_MAX
    asked = Selector(compilation)
    device = view({"texts": ["x" * 64] * 48})
    for _ in range(ASKED_BEFORE_CODE_IS_MADE + 3):
        with pytest.raises(CELError, match=EXCEEDED):
            asked.matches(device)
    assert DeviceTable([device]).verdicts(asked).tolist() == [Verdict.ERROR]


DEEP = {
    "binds": chain("[1]", "[[[[[dyn($)]]]]]", 60, "size($) == 1"),
    "values": f"cel.bind(a, {'[' * 200}1{']' * 200}, cel.bind(b, {'[' * 200}dyn(a){']' * 200},"
    " size(a) > 0 && size(b) > 0 && b == b))",
    "loop-bodies": loops(2, "(" * 100 + "x0 > 0" + " && true || false)" * 100),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
def test_what_is_deep_in_unusual_ways_gets_its_answer(text: str) -> None:
    asked = Selector(compile_any(text, STORED))

    def from_depth(levels: int) -> bool:
        return asked.matches(view()) if levels == 0 else from_depth(levels - 1)

    assert from_depth(500)
    assert DeviceTable([view()]).verdicts(asked).tolist() == [Verdict.YES]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lists-of-lists-compared", "lists-of-lists-searched"])
def test_neither_code_nor_columns_are_a_way_around_the_bound(name: str) -> None:
    views: list[DeviceView] = [view({"x": index}) for index in range(3)]
    asked = Selector(compile_any(ENDED[name], STORED))
    assert DeviceTable(views).verdicts(asked).tolist() == [Verdict.ERROR] * 3
