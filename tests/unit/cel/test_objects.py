from __future__ import annotations

from typing import Any

import pytest

from dray.cel import CompileError
from dray.cel.objects import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    Declared,
    Rule,
    binary,
    compile_message,
    compile_rule,
    date,
    date_time,
    duration,
    int_or_string,
    list_of,
    map_of,
    object_of,
    text,
)


def asked(expression: str, declared: Declared, new: Any, old: Any = None, **options: Any) -> Any:
    rule = compile_rule(expression, declared, **options)
    assert isinstance(rule, Rule), rule
    before = None if old is None else declared.value(old)
    found = rule.evaluate(declared.value(new), before)
    return found.value if found.failure is None else found.failure


@pytest.mark.parametrize(
    ("declared", "value", "expression"),
    [
        (BOOLEAN, True, "self"),
        (INTEGER, 3, "self == 3"),
        (NUMBER, 3, "self < 3.5"),
        (text(10), "abc", "self.startsWith('a')"),
        (binary(10), "aGk=", "self == b'hi'"),
        (duration(), "1h", "self == duration('60m')"),
        (duration(), "2 days", "self == duration('48h')"),
        (date(), "2020-01-02", "self.getDayOfMonth() == 1"),
        (date_time(), "2020-01-02t03:04:05z", "self.getHours() == 3"),
        (int_or_string(10), "80%", "type(self) == string"),
        (int_or_string(10), 80, "self == 80"),
        (list_of(INTEGER, 5), [1, 2], "self.all(x, x > 0) && self[1] == 2 && size(self) == 2"),
        (map_of(INTEGER, 5), {"a": 1}, "self['a'] == 1 && 'b' in self == false"),
        (list_of(INTEGER, 5, is_set=True), [1, 2], "self + [2, 3] == [3, 2, 1]"),
    ],
)
def test_json_becomes_a_value_of_its_type(declared: Declared, value: Any, expression: str) -> None:
    assert asked(expression, declared, value) is True


OBJECT = object_of("self", {"a-b": ("a__dash__b", INTEGER), "c": ("c", text(5))}, 2)


def test_fields_are_selected_by_the_names_expressions_know() -> None:
    assert asked("self.a__dash__b == 1 && !has(self.c)", OBJECT, {"a-b": 1}) is True


def test_a_null_field_is_not_there() -> None:
    assert asked("!has(self.c)", OBJECT, {"c": None}) is True


def test_fields_nobody_declared_count_when_objects_are_compared() -> None:
    assert asked("self == oldSelf", OBJECT, {"x": {"y": [1]}}, {"x": {"y": [1]}}) is True
    assert asked("self == oldSelf", OBJECT, {"x": {"y": [1]}}, {"x": {"y": [2]}}) is False


def test_a_field_that_is_not_there_fails() -> None:
    assert asked("self.c == 'x'", OBJECT, {}) == "no such key: c"


KEYED = list_of(
    object_of("self.@idx", {"id": ("id", text(5)), "n": ("n", INTEGER)}, 2), 5, keys=("id",)
)


def test_lists_with_keys_are_equal_in_any_order() -> None:
    one, other = {"id": "x", "n": 1}, {"id": "y", "n": 2}
    assert asked("self == oldSelf", KEYED, [one, other], [other, one]) is True
    assert asked("self == oldSelf", KEYED, [one], [{"id": "x", "n": 2}]) is False
    assert asked("self == oldSelf", KEYED, [one], [other]) is False


def test_lists_with_keys_merge_when_added() -> None:
    rule = "(oldSelf + self).map(x, x.n) == [3, 2]"
    assert (
        asked(rule, KEYED, [{"id": "x", "n": 3}], [{"id": "x", "n": 1}, {"id": "y", "n": 2}])
        is True
    )


def test_the_old_value_may_be_optional() -> None:
    rule = "oldSelf.orValue(7) == 7"
    assert asked(rule, INTEGER, 1, optional_old_self=True) is True
    assert asked(rule, INTEGER, 1, 2, optional_old_self=True) is False


def test_a_rule_knows_whether_it_needs_the_old_value() -> None:
    first, second = compile_rule("self > 1", INTEGER), compile_rule("self > oldSelf", INTEGER)
    assert isinstance(first, Rule)
    assert isinstance(second, Rule)
    assert not first.uses_old_self
    assert second.uses_old_self


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("self + 1", "cel expression must evaluate to a bool"),
        (
            "self.x",
            "compilation failed: ERROR: <input>:1:5: type 'int' does not support field selection",
        ),
        (
            "device.driver == ''",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'device'",
        ),
        ("x" * 100_001, "must not be longer than 100000 bytes, this is 100001"),
    ],
)
def test_a_rule_that_is_none_is_refused(expression: str, told: str) -> None:
    refused = compile_rule(expression, INTEGER)
    assert isinstance(refused, CompileError)
    assert refused.detail.startswith(told)


def test_unknown_fields_are_refused_when_a_rule_is_compiled() -> None:
    refused = compile_rule("self.d == 1", OBJECT)
    assert isinstance(refused, CompileError)
    assert "undefined field 'd'" in refused.detail


def test_a_message_is_a_text() -> None:
    made = compile_message("'got ' + string(self)", INTEGER)
    assert isinstance(made, Rule)
    assert made.evaluate(3, None).value == "got 3"
    refused = compile_message("self", INTEGER)
    assert refused == CompileError("invalid", "messageExpression must evaluate to a string")
    refused = compile_message("self +", INTEGER)
    assert isinstance(refused, CompileError)
    assert refused.detail.startswith("messageExpression compilation failed")


def test_cost_grows_with_what_a_schema_allows() -> None:
    def cost(size: int) -> int:
        rule = compile_rule("self.all(x, x > 0)", list_of(INTEGER, size))
        assert isinstance(rule, Rule)
        return rule.cost_max

    assert cost(10) < cost(1000)


def test_an_evaluation_ends_when_it_costs_too_much() -> None:
    rule = compile_rule(
        "self.all(x, self.all(y, self.all(z, x + y + z > 0)))", list_of(INTEGER, 500)
    )
    assert isinstance(rule, Rule)
    found = rule.evaluate(list(range(1, 200)), None)
    assert found.failure is not None
    assert found.failure.startswith("operation cancelled")


def test_what_is_declared_can_be_walked() -> None:
    assert [part.type.name for part in KEYED.inside()] == ["list", "self.@idx", "string", "int"]
