"""What is true of label selectors beyond the recordings: node requirements, round trips, bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.labels import Operator, Requirement, Selector
from dray.errors import ParseError

KEYS = ["a", "b", "example.com/x", "in"]
VALUES = ["", "1", "007", "10", "x", "notin"]

label_maps = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
sets = st.builds(
    Requirement,
    st.sampled_from(KEYS),
    st.sampled_from([Operator.IN, Operator.NOT_IN]),
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=3, unique=True).map(tuple),
)
singles = st.builds(
    Requirement,
    st.sampled_from(KEYS),
    st.sampled_from([Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS]),
    st.sampled_from(VALUES).map(lambda value: (value,)),
)
comparisons = st.builds(
    Requirement,
    st.sampled_from(KEYS),
    st.sampled_from([Operator.GREATER_THAN, Operator.LESS_THAN]),
    st.sampled_from(["1", "007", "10"]).map(lambda value: (value,)),
)
unaries = st.builds(
    Requirement,
    st.sampled_from(KEYS),
    st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST]),
)
requirements = st.one_of(sets, singles, comparisons, unaries)


@given(st.lists(requirements, max_size=4), label_maps)
def test_what_is_printed_reads_back_and_matches_alike(
    wanted: list[Requirement], labels: dict[str, str]
) -> None:
    selector = Selector(tuple(wanted))
    again = Selector.parse(str(selector))
    assert again.matches(labels) is selector.matches(labels)
    assert str(Selector.parse(str(again))) == str(again)


@given(sets, label_maps)
def test_in_and_notin_are_each_other_s_opposite(
    wanted: Requirement, labels: dict[str, str]
) -> None:
    inside = Requirement(wanted.key, Operator.IN, wanted.values)
    outside = Requirement(wanted.key, Operator.NOT_IN, wanted.values)
    assert inside.matches(labels) is not outside.matches(labels)


@given(label_maps)
def test_everything_matches_all_and_nothing_matches_none(labels: dict[str, str]) -> None:
    assert Selector.everything().matches(labels)
    assert not Selector.nothing().matches(labels)


@given(label_maps, label_maps)
def test_a_selector_of_labels_matches_what_contains_them(
    wanted: dict[str, str], labels: dict[str, str]
) -> None:
    assert Selector.from_labels(wanted).matches(labels) is (wanted.items() <= labels.items())


def test_requirements_are_sorted_by_key_and_values_by_spelling() -> None:
    selector = Selector.parse("tier in (web,db),!old , app = shop,cpu>5")
    assert str(selector) == "app=shop,cpu>5,!old,tier in (db,web)"
    assert [requirement.key for requirement in selector.requirements] == [
        "app", "cpu", "old", "tier",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "values", "matching", "failing"),
    [
        pytest.param("In", ["a", "b"], ["a", "b"], ["c", "", None], id="in"),
        pytest.param("NotIn", ["a"], ["b", "", None], ["a"], id="not-in"),
        pytest.param("Exists", [], ["a", ""], [None], id="exists"),
        pytest.param("DoesNotExist", [], [None], ["a", ""], id="does-not-exist"),
        pytest.param("Gt", ["5"], ["6", "+6", "0010"], ["5", "4", "-9", "x", "", None], id="gt"),
        pytest.param("Lt", ["5"], ["4", "-9"], ["5", "6", "x", "", "9" * 20, None], id="lt"),
    ],
)
def test_a_node_requirement_selects_by_its_label(
    operator: str, values: list[str], matching: list[str | None], failing: list[str | None]
) -> None:
    selector = Selector.from_node_requirements([("key", operator, values)])
    for label in matching:
        assert selector.matches({} if label is None else {"key": label}), label
    for label in failing:
        assert not selector.matches({} if label is None else {"key": label}), label


def test_all_node_requirements_must_hold() -> None:
    selector = Selector.from_node_requirements([("a", "Exists", ()), ("b", "In", ("1", "2"))])
    assert selector.matches({"a": "", "b": "2"})
    assert not selector.matches({"b": "2"})


@pytest.mark.parametrize(
    ("expression", "rule"),
    [
        pytest.param(
            ("key", "in", ("a",)),
            'terms[0].operator: Unsupported value: "in": supported values: '
            '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
            id="unknown-operator",
        ),
        pytest.param(
            ("key", "In", ()),
            "terms[0].values: Invalid value: null: "
            "for 'in', 'notin' operators, values set can't be empty",
            id="no-values",
        ),
        pytest.param(
            ("key", "Gt", ("1", "2")),
            'terms[0].values: Invalid value: ["1","2"]: '
            "for 'Gt', 'Lt' operators, exactly one value is required",
            id="too-many-values",
        ),
        pytest.param(
            ("key", "Lt", ("9223372036854775808",)),
            'terms[0].values[0]: Invalid value: "9223372036854775808": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
            id="past-int64",
        ),
    ],
)
def test_a_wrong_node_requirement_names_field_value_and_rule(
    expression: tuple[str, str, tuple[str, ...]], rule: str
) -> None:
    with pytest.raises(ParseError) as refusal:
        Selector.from_node_requirements([expression], path="terms")
    assert refusal.value.rule == rule


def test_every_wrong_node_requirement_is_reported() -> None:
    with pytest.raises(ParseError) as refusal:
        Selector.from_node_requirements([("", "Exists", ()), ("a", "Like", ())], path="terms")
    assert refusal.value.rule.startswith("[terms[0].key: Invalid value")
    assert ", terms[1].operator: Unsupported value" in refusal.value.rule


def test_a_checked_requirement_leads_its_fields_with_the_path() -> None:
    with pytest.raises(ParseError, match=r"spec\.selector\.values: Invalid value"):
        Requirement.checked("a", Operator.IN, (), path="spec.selector")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        pytest.param("a\0b", None, id="ends-the-word-before-it"),
        pytest.param("a,\0\0b", None, id="ends-the-text-where-a-word-should-begin"),
        pytest.param("\0b", "", id="ends-the-text-at-its-beginning"),
        pytest.param("a=\0b", "a=b", id="is-dropped-after-a-symbol"),
    ],
)
def test_a_nul_is_read_as_upstream_reads_it(text: str, canonical: str | None) -> None:
    if canonical is None:
        with pytest.raises(ParseError):
            Selector.parse(text)
    else:
        assert str(Selector.parse(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a=" + "b" * 10**5, id="word"),
        pytest.param(" " * 10**5 + "=", id="space"),
        pytest.param("a in (" + "x," * 10**4, id="values"),
        pytest.param("(" * 10**5, id="parentheses"),
    ],
)
def test_a_hostile_length_ends_at_once(text: str) -> None:
    with pytest.raises(ParseError):
        Selector.parse(text)


keys = st.sampled_from(["a", "b", "c"])
words = st.sampled_from(["", "x", "y", "1", "2", "007"])
clauses = st.one_of(
    st.builds(lambda key, word: f"{key}={word}", keys, words),
    st.builds(lambda key, word: f"{key}!={word}", keys, words),
    st.builds(lambda key, many: f"{key} in ({','.join(many)})", keys, st.lists(words, min_size=1)),
    st.builds(lambda key, many: f"{key} notin ({','.join(many)})", keys, st.lists(words)),
    st.builds(lambda key, bound: f"{key}>{bound}", keys, st.integers(0, 5)),
    st.builds(lambda key, bound: f"{key}<{bound}", keys, st.integers(0, 5)),
    keys,
    keys.map(lambda key: f"!{key}"),
)


@given(st.lists(clauses, max_size=6), st.dictionaries(keys, words))
def test_a_matcher_says_what_its_selector_says(texts: list[str], labels: dict[str, str]) -> None:
    selector = Selector.parse(",".join(texts))
    assert selector.matcher()(labels) == selector.matches(labels)


def test_a_matcher_of_nothing_matches_nothing() -> None:
    assert not Selector.nothing().matcher()({"a": "b"})
    assert Selector.everything().matcher()({})
