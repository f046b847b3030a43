from __future__ import annotations

from typing import Any

import pytest

from dray.server.custom import rules as module
from dray.server.custom.declarations import declared
from dray.server.custom.rules import Rules
from dray.server.custom.structural import parse


def told(new: Any, schema: dict[str, Any], *, old: Any = None, **rule: Any) -> list[str]:
    """What rules say about the field `a`; keyword arguments make the one rule of its schema."""
    own = {**schema, "x-kubernetes-validations": [rule]} if rule else schema
    rules = Rules.of(parse({"type": "object", "properties": {"a": own}}))
    assert rules is not None
    before = None if old is None else {"a": old}
    return [str(error) for error in rules.errors({"a": new}, before)]


INTEGER = {"type": "integer"}
TEXT = {"type": "string"}
SPEC = {"type": "object", "properties": {"low": INTEGER, "high": INTEGER}}


def test_a_rule_that_holds_says_nothing() -> None:
    assert told(3, INTEGER, rule="self > 2") == []


def test_a_broken_rule_says_its_message_or_itself() -> None:
    assert told(1, INTEGER, rule="self > 2") == ["a: Invalid value: 1: failed rule: self > 2"]
    assert told(1, INTEGER, rule="self > 2", message="too low") == ["a: Invalid value: 1: too low"]


def test_objects_are_not_repeated_to_who_sent_them() -> None:
    said = told({"low": 2, "high": 1}, SPEC, rule="self.low <= self.high", message="low above high")
    assert said == ["a: Invalid value: low above high"]


def test_a_message_may_be_made_of_the_value() -> None:
    rule = {"rule": "self.low <= self.high", "messageExpression": "'low is ' + string(self.low)"}
    assert told({"low": 2, "high": 1}, SPEC, **rule) == ["a: Invalid value: low is 2"]


@pytest.mark.parametrize("expression", ["''", "'a\\nb'", "string(self / 0)"])
def test_a_message_that_cannot_be_made_leaves_the_rule_itself(expression: str) -> None:
    said = told(1, INTEGER, rule="self > 2", messageExpression=expression)
    assert said == ["a: Invalid value: 1: failed rule: self > 2"]


@pytest.mark.parametrize(
    ("reason", "title"),
    [
        ("FieldValueForbidden", "Forbidden: told"),
        ("FieldValueRequired", "Required value: told"),
        ("FieldValueDuplicate", "Duplicate value: 1"),
        ("FieldValueInvalid", "Invalid value: 1: told"),
    ],
)
def test_a_rule_has_its_reason(reason: str, title: str) -> None:
    assert told(1, INTEGER, rule="self > 2", message="told", reason=reason) == [f"a: {title}"]


def test_a_rule_may_point_at_a_field() -> None:
    said = told(
        {"low": 2, "high": 1}, SPEC, rule="self.low <= self.high", fieldPath=".low", message="m"
    )
    assert said == ["a.low: Invalid value: m"]


def test_a_rule_at_the_root_is_told_where_nothing_is() -> None:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "self.metadata.name != 'x'"}]}
    rules = Rules.of(parse(schema))
    assert rules is not None
    (error,) = rules.errors({"metadata": {"name": "x"}}, None)
    assert error.field == "<nil>"


@pytest.mark.parametrize(
    ("rule", "value", "why"),
    [
        ("self.high > 1", {"low": 1}, "no such key: high evaluating rule: self.high > 1"),
        ("self.low / 0 == 1", {"low": 1}, "division by zero evaluating rule: self.low / 0 == 1"),
    ],
)
def test_a_rule_that_fails_is_told(rule: str, value: Any, why: str) -> None:
    assert told(value, SPEC, rule=rule) == [f'a: Invalid value: "object": {why}']


def test_a_rule_for_other_types_is_told_to_be_one() -> None:
    (said,) = told("x", {"x-kubernetes-int-or-string": True}, rule="self > 5")
    assert "call arguments did not match a supported operator" in said


def test_null_is_not_asked_about() -> None:
    assert told(None, {**INTEGER, "nullable": True}, rule="self > 2") == []


def test_rules_of_items_and_values_are_asked_of_each() -> None:
    low = {**INTEGER, "x-kubernetes-validations": [{"rule": "self > 2"}]}
    assert told([3, 1], {"type": "array", "items": low}) == [
        "a[1]: Invalid value: 1: failed rule: self > 2"
    ]
    assert told({"k": 1}, {"type": "object", "additionalProperties": low}) == [
        "a[k]: Invalid value: 1: failed rule: self > 2"
    ]


# What came before ------------------------------------------------------------------------------


def test_a_rule_about_change_is_asked_only_of_changes() -> None:
    assert told("x", TEXT, rule="self == oldSelf") == []
    assert told("x", TEXT, old="y", rule="self == oldSelf") == [
        'a: Invalid value: "x": failed rule: self == oldSelf'
    ]
    assert told("x", TEXT, old="x", rule="self == oldSelf") == []


def test_a_rule_may_be_asked_though_nothing_came_before() -> None:
    rule = {"rule": "oldSelf.hasValue() || self == 'new'", "optionalOldSelf": True}
    assert told("new", TEXT, **rule) == []
    assert len(told("x", TEXT, **rule)) == 1
    assert told("x", TEXT, old="y", **rule) == []


def test_what_was_wrong_before_may_stay() -> None:
    assert told(1, INTEGER, old=1, rule="self > 2") == []
    assert len(told(0, INTEGER, old=1, rule="self > 2")) == 1


def test_items_of_a_list_without_keys_may_stay_with_the_list() -> None:
    low = {**INTEGER, "x-kubernetes-validations": [{"rule": "self > 2"}]}
    schema = {"type": "array", "items": low}
    assert told([1], schema, old=[1]) == []
    assert len(told([1, 3], schema, old=[1])) == 1


def test_items_with_keys_are_compared_with_their_predecessors() -> None:
    item = {
        "type": "object",
        "properties": {
            "id": TEXT,
            "n": {**INTEGER, "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]},
        },
    }
    schema = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
    }
    old = [{"id": "x", "n": 5}]
    assert told([{"id": "y", "n": 1}, {"id": "x", "n": 6}], schema, old=old) == []
    assert [text.partition(":")[0] for text in told([{"id": "x", "n": 4}], schema, old=old)] == [
        "a[0].n"
    ]


def test_sets_are_equal_in_any_order() -> None:
    schema = {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}
    assert told(["b", "a"], schema, old=["a", "b"], rule="self == oldSelf") == []


# Limits ----------------------------------------------------------------------------------------

EXPENSIVE = "self.all(x, self.all(y, self.all(z, x + y + z > 0)))"


def test_one_rule_may_cost_only_so_much() -> None:
    schema = {"type": "array", "items": INTEGER}
    (said,) = told(list(range(1, 200)), schema, rule=EXPENSIVE)
    assert "no further validation rules will be run due to call cost exceeds limit" in said


def test_all_rules_together_may_cost_only_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUDGET", 10)
    (said,) = told([1, 2, 3], {"type": "array", "items": INTEGER}, rule="self.all(x, x > 0)")
    assert said == f'a: Invalid value: "array": {module._OUT_OF_BUDGET}'


def test_a_schema_without_rules_has_none() -> None:
    assert Rules.of(parse({"type": "object", "properties": {"a": TEXT}})) is None


def test_a_rule_that_does_not_compile_is_told_whenever_it_is_asked() -> None:
    (said,) = told(1, INTEGER, rule="self >")
    assert said.startswith('a: Invalid value: "integer": rule compile error: compilation failed')


def test_rules_of_a_part_can_be_asked_alone() -> None:
    schema = parse({**INTEGER, "x-kubernetes-validations": [{"rule": "self > 2"}]})
    seen = declared(schema, "self")
    assert seen is not None
    rules = Rules.below_root(schema, seen)
    assert rules is not None
    assert rules.errors(1, 1) == []
    assert len(rules.errors(1, 1, ratchets=False)) == 1
