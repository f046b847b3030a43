"""What is true of field selectors beyond the recordings: escapes, names asked for, node fields."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.fields import Requirement, Selector, escape_value
from dray.errors import ParseError

FIELDS = ["metadata.name", "spec.nodeName", "a"]

values = st.text("ab\\,=! é\n", max_size=6)
requirements = st.builds(Requirement, st.sampled_from(FIELDS), values, st.booleans())
field_maps = st.dictionaries(st.sampled_from(FIELDS), values)


@given(values)
def test_any_value_survives_being_written_in_a_selector(value: str) -> None:
    (requirement,) = Selector.parse(f"a={escape_value(value)}").requirements
    assert requirement.value == value


@given(st.lists(requirements, max_size=4), field_maps)
def test_what_is_printed_reads_back_and_matches_alike(
    wanted: list[Requirement], fields: dict[str, str]
) -> None:
    selector = Selector(tuple(wanted))
    again = Selector.parse(str(selector))
    assert sorted(map(str, again.requirements)) == sorted(map(str, wanted))
    assert again.matches(fields) is selector.matches(fields)


@given(requirements, field_maps)
def test_equal_and_unequal_are_each_other_s_opposite(
    wanted: Requirement, fields: dict[str, str]
) -> None:
    opposite = Requirement(wanted.field, wanted.value, negated=not wanted.negated)
    assert wanted.matches(fields) is not opposite.matches(fields)


def test_a_missing_field_counts_as_empty() -> None:
    assert Selector.parse("spec.nodeName=").matches({})
    assert Selector.parse("spec.nodeName!=n").matches({})


def test_a_selector_lists_each_field_it_asks_for_once() -> None:
    selector = Selector.parse("spec.nodeName=n,metadata.name!=x,spec.nodeName!=m")
    assert selector.fields == ("metadata.name", "spec.nodeName")
    assert Selector.everything().fields == ()


def test_only_an_equality_pins_a_field_to_one_value() -> None:
    selector = Selector.parse("spec.nodeName=n,metadata.name!=x")
    assert selector.exact_value("spec.nodeName") == "n"
    assert selector.exact_value("metadata.name") is None
    assert selector.exact_value("spec.driver") is None


def test_a_term_of_nothing_is_dropped() -> None:
    assert Selector.parse("=,!=,a=b,") == Selector((Requirement("a", "b"),))


def test_node_fields_must_be_or_not_be_one_value() -> None:
    selector = Selector.from_node_requirements(
        [("metadata.name", "In", ("n1",)), ("metadata.name", "NotIn", ("n2",))]
    )
    assert selector.matches({"metadata.name": "n1"})
    assert not selector.matches({"metadata.name": "n2"})


@pytest.mark.parametrize(
    ("expression", "rule"),
    [
        pytest.param(
            ("metadata.name", "Exists", ()),
            'f[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"',
            id="unsupported-operator",
        ),
        pytest.param(
            ("metadata.name", "In", ("a", "b")),
            'f[0].values: Invalid value: ["a","b"]: must have one element',
            id="several-values",
        ),
    ],
)
def test_a_wrong_node_field_names_field_value_and_rule(
    expression: tuple[str, str, tuple[str, ...]], rule: str
) -> None:
    with pytest.raises(ParseError) as refusal:
        Selector.from_node_requirements([expression], path="f")
    assert refusal.value.rule == rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param("a", "invalid selector: 'a'; can't understand 'a'", id="no-operator"),
        pytest.param(
            "a=b\\x", "invalid field selector: invalid escape sequence: \\x", id="unknown-escape"
        ),
        pytest.param(
            "a=b\\", "invalid field selector: invalid escape sequence: \\", id="ends-in-escape"
        ),
        pytest.param(
            "a=b=c", "invalid field selector: unescaped character in value: 61", id="unescaped"
        ),
    ],
)
def test_a_refused_selector_names_the_rule(text: str, rule: str) -> None:
    with pytest.raises(ParseError) as refusal:
        Selector.parse(text)
    assert refusal.value.rule == rule


@pytest.mark.parametrize("text", ["\\" * 10**5, "," * 10**5 + "a", "a=" + "=" * 10**5], ids="\\,=")
def test_a_hostile_length_ends_at_once(text: str) -> None:
    with pytest.raises(ParseError):
        Selector.parse(text)
