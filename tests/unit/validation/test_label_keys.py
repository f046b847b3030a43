"""Keys whose values a pod brings along."""

from __future__ import annotations

from dray.api.meta import LabelSelector, LabelSelectorRequirement
from dray.validation.label_keys import check_label_keys, check_label_keys_of_old
from tests.unit.validation.builders import told
from tests.unit.validation.pod_builders import paths

MADE = LabelSelectorRequirement(key="app", operator="In", values=("x",))
SELECTOR = LabelSelector(match_labels={"tier": "a"}, match_expressions=(MADE,))


def test_the_clause_made_of_a_key_is_expected() -> None:
    assert told(check_label_keys, ("app",), (), SELECTOR, "t") == []


def test_a_key_that_the_selector_had_before_is_told() -> None:
    twice = LabelSelector(match_labels={"app": "x"}, match_expressions=(MADE,))
    assert told(check_label_keys, ("app",), (), twice, "t") == [
        't[0]: Invalid value: "app": exists in both matchLabelKeys and labelSelector'
    ]


def test_keys_need_a_selector() -> None:
    assert paths(told(check_label_keys, ("a",), ("b",), None, "t")) == [
        "t.matchLabelKeys",
        "t.mismatchLabelKeys",
    ]


def test_a_key_matches_or_mismatches_but_not_both() -> None:
    assert told(check_label_keys, ("a",), ("a",), SELECTOR, "t") == [
        (
            't.matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and'
            " mismatchLabelKeys"
        )
    ]


def test_keys_are_label_keys() -> None:
    assert paths(told(check_label_keys, ("-",), (), SELECTOR, "t")) == ["t.matchLabelKeys[0]"]


def test_before_clauses_were_made_no_key_could_be_in_the_selector() -> None:
    assert told(check_label_keys_of_old, ("k",), SELECTOR, "t") == []
    assert paths(told(check_label_keys_of_old, ("app", "tier"), SELECTOR, "t")) == ["t[0]", "t[1]"]
    assert paths(told(check_label_keys_of_old, ("app",), None, "t")) == ["t"]
    assert told(check_label_keys_of_old, (), None, "t") == []
