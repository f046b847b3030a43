from __future__ import annotations

from itertools import count

import pytest

from dray.cel._macros import MACROS, Expander, MacroError
from dray.cel._nodes import Call, Comprehension, Identifier, ListLiteral, Literal, Node, Select


def name(text: str) -> Node:
    return Identifier(900, 7, text)


def expand(macro: str, target: Node | None, *arguments: Node) -> Node | None:
    expander = MACROS[macro, len(arguments), target is not None]
    return expander(Expander(count(1).__next__, 5), target, arguments)


def test_all_folds_with_and_until_false() -> None:
    node = expand("all", name("list"), name("x"), name("p"))
    assert isinstance(node, Comprehension)
    assert (node.variable, node.second_variable) == ("x", None)
    assert isinstance(node.step, Call)
    assert node.step.function == "_&&_"
    assert isinstance(node.initial, Literal)
    assert node.initial.value is True


def test_two_variables_are_both_kept() -> None:
    node = expand("exists", name("map"), name("k"), name("v"), name("p"))
    assert isinstance(node, Comprehension)
    assert (node.variable, node.second_variable) == ("k", "v")


def test_has_asks_without_reading() -> None:
    node = expand("has", None, Select(1, 2, name("a"), "b", False))
    assert isinstance(node, Select)
    assert node.test_only
    assert node.offset == 5


def test_bind_is_only_a_macro_of_cel() -> None:
    assert isinstance(expand("bind", name("cel"), name("x"), name("i"), name("r")), Comprehension)
    assert expand("bind", name("other"), name("x"), name("i"), name("r")) is None


def test_a_copied_target_has_ids_of_its_own() -> None:
    target = ListLiteral(50, 3, (name("a"),), frozenset())
    node = expand("optMap", target, name("x"), name("x"))
    assert isinstance(node, Call)
    condition, mapped, _ = node.arguments
    assert isinstance(condition, Call)
    assert isinstance(mapped, Call)
    bound = mapped.arguments[0]
    assert isinstance(bound, Comprehension)
    assert isinstance(bound.initial, Call)
    copy = bound.initial.target
    assert condition.target is target
    assert isinstance(copy, ListLiteral)
    assert (copy.id, copy.offset) != (target.id, 0)
    assert copy.offset == target.offset


@pytest.mark.parametrize(
    ("macro", "target", "arguments", "message"),
    [
        ("has", None, ["a"], "invalid argument to has() macro"),
        ("all", "l", ["1", "p"], "argument must be a simple name"),
        ("map", "l", ["1", "p"], "argument is not an identifier"),
        ("filter", "l", ["__result__", "p"], "iteration variable overwrites accumulator variable"),
        ("all", "l", ["x", "x", "p"], "duplicate variable name: x"),
        ("bind", "cel", ["1", "a", "b"], "cel.bind() variable names must be simple identifiers"),
        ("optMap", "o", ["1", "a"], "optMap() variable name must be a simple identifier"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named(
    macro: str, target: str | None, arguments: list[str], message: str
) -> None:
    made: list[Node] = [
        Literal(800, 7, 1) if argument == "1" else name(argument) for argument in arguments
    ]
    with pytest.raises(MacroError) as refused:
        expand(macro, name(target) if target else None, *made)
    assert (refused.value.message, refused.value.offset) == (message, 7)
