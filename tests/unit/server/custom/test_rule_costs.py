from __future__ import annotations

from typing import Any

import pytest

from dray.server.custom.rule_costs import RuleCosts
from dray.server.custom.structural import parse


def told(schema: dict[str, Any], **options: Any) -> list[str]:
    whole = parse({"type": "object", "properties": {"a": schema}})
    return [str(error) for error in RuleCosts(**options).errors(whole, "root")]


def ruled(schema: dict[str, Any], **rule: Any) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [rule]}


PLACE = "root.properties[a].x-kubernetes-validations[0]"
INTEGER = {"type": "integer"}
AS_GO = (
    '{"Rule":"%s","Message":"","MessageExpression":"","Reason":null,"FieldPath":"",'
    '"OptionalOldSelf":null}'
)


def test_a_rule_is_a_bool() -> None:
    assert told(ruled(INTEGER, rule="self + 1")) == [
        f"{PLACE}.rule: Invalid value: {AS_GO % 'self + 1'}: cel expression must evaluate to a bool"
    ]


def test_a_rule_compiles() -> None:
    (said,) = told(ruled(INTEGER, rule="self.size > 1"))
    assert said.startswith(f"{PLACE}.rule: Invalid value: ")
    assert (
        "compilation failed: ERROR: <input>:1:5: type 'int' does not support field selection"
        in said
    )


def test_a_message_is_a_text() -> None:
    (said,) = told(ruled(INTEGER, rule="true", messageExpression="self"))
    assert said.startswith(f"{PLACE}.messageExpression: ")
    assert said.endswith("messageExpression must evaluate to a string")


def test_an_expensive_rule_is_refused_and_named() -> None:
    nested = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}
    rule = "self.all(x, x.all(y, self.all(z, z.all(w, w == y))))"
    advice = (
        "exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, "
        "maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
    assert told(ruled(nested, rule=rule)) == [
        f"{PLACE}.rule: Forbidden: estimated rule cost {advice}",
        (
            f"{PLACE}.rule: Forbidden: contributed to estimated rule cost total exceeding cost "
            "limit for entire OpenAPIv3 schema"
        ),
        (
            "root: Forbidden: x-kubernetes-validations estimated rule cost total for entire "
            f"OpenAPIv3 schema {advice}"
        ),
    ]


def test_bounds_make_a_rule_cheap() -> None:
    bounded = {
        "type": "array",
        "maxItems": 5,
        "items": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 5}},
    }
    assert told(ruled(bounded, rule="self.all(x, x.all(y, self.all(z, z.all(w, w == y))))")) == []


def test_what_a_rule_costs_counts_as_often_as_it_is_asked() -> None:
    text = ruled({"type": "string", "maxLength": 1000}, rule="self.matches('a.*b')")
    assert told(text) == []
    (first, *_) = told({"type": "array", "items": text})
    assert "estimated rule cost exceeds budget" in first
    assert told({"type": "array", "maxItems": 5, "items": text}) == []


def test_a_schema_that_stays_may_cost_what_it_did() -> None:
    text = ruled({"type": "string"}, rule="self.matches('a.*b') && self.matches('b.*a')")
    list_ = {"type": "array", "maxItems": 50, "items": text}
    assert "estimated rule cost exceeds" in told(list_)[0]
    assert all("estimated rule cost exceeds" not in each for each in told(list_, unchanged=True))


def test_change_cannot_be_asked_about_where_nobody_knows_what_changed() -> None:
    item = ruled(INTEGER, rule="self == oldSelf")
    (said,) = told({"type": "array", "maxItems": 3, "items": item})
    assert said == (
        "root.properties[a].items.x-kubernetes-validations[0].rule: Invalid value: "
        '"self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema '
        "within root.properties[a]"
    )


@pytest.mark.parametrize("value", [True, False])
def test_what_came_before_is_optional_only_where_it_is_used(value: bool) -> None:
    (said,) = told(ruled(INTEGER, rule="self > 1", optionalOldSelf=value))
    assert said.startswith(f"{PLACE}.optionalOldSelf: Invalid value: {str(value).lower()}: may not")
    assert told(ruled(INTEGER, rule="oldSelf.orValue(0) < self", optionalOldSelf=True)) == []


def test_rules_of_fields_that_no_rule_can_name_are_compiled_too() -> None:
    schema = {"type": "object", "properties": {"$x": ruled(INTEGER, rule="self +")}}
    (said,) = told(schema)
    assert "properties[$x]" in said


def test_parts_of_what_a_rule_makes_are_taken_to_be_as_large_as_what_it_is_about() -> None:
    rule = "self.split(',').all(x, x.trim() != '')"
    assert told(ruled({"type": "string", "maxLength": 20}, rule=rule)) == []
    assert told(ruled({"type": "string"}, rule=rule)) != []


def test_a_rule_that_does_not_compile_uses_nothing_that_came_before() -> None:
    errors = told(ruled(INTEGER, rule="oldSelf == self", optionalOldSelf=True))
    assert [error.partition(":")[0] for error in errors] == [
        f"{PLACE}.rule",
        f"{PLACE}.optionalOldSelf",
    ]
