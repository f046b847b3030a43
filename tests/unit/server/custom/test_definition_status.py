from __future__ import annotations

from typing import Any

from dray.api.apiextensions import (
    CONDITION_ESTABLISHED,
    CONDITION_NAMES_ACCEPTED,
    CONDITION_TERMINATING,
    CUSTOM_RESOURCE_CLEANUP_FINALIZER,
    CustomResourceDefinition,
)
from dray.api.wire import Time, replace
from dray.server.custom.definition_status import (
    condition_of,
    ending_definition,
    is_accepted,
    is_established,
    with_condition,
    with_names,
)
from tests.unit.server.custom.definitions import NOW, definition, typed

LATER = Time.parse("2026-01-02T00:00:00Z")


def named(plural: str, kind: str, **names: Any) -> CustomResourceDefinition:
    return typed(definition(plural=plural, kind=kind, names=names))


FIRST = with_names(named("widgets", "Widget", shortNames=["w"]), [], NOW)


def test_who_comes_first_gets_its_names() -> None:
    assert is_accepted(FIRST)
    assert is_established(FIRST)
    assert FIRST.status.accepted_names == FIRST.spec.names
    condition = condition_of(FIRST, CONDITION_ESTABLISHED)
    assert condition is not None
    assert condition.reason == "InitialNamesAccepted"


def test_who_comes_later_gets_what_is_left() -> None:
    late = with_names(named("others", "Widget", singular="widget"), [FIRST], NOW)
    assert not is_accepted(late)
    assert not is_established(late)
    assert late.status.accepted_names.plural == "others"
    assert late.status.accepted_names.kind == ""
    condition = condition_of(late, CONDITION_NAMES_ACCEPTED)
    assert condition is not None
    assert (condition.reason, condition.message) == (
        "ListKindConflict",
        '"WidgetList" is already in use',
    )


def test_several_short_names_in_use_are_all_told() -> None:
    late = with_names(named("gadgets", "Gadget", shortNames=["w", "widgets"]), [FIRST], NOW)
    condition = condition_of(late, CONDITION_NAMES_ACCEPTED)
    assert condition is not None
    assert condition.message == '["w" is already in use, "widgets" is already in use]'


def test_names_of_other_groups_do_not_count() -> None:
    other = typed(definition(plural="widgets", kind="Widget"))
    other = replace(other, spec=replace(other.spec, group="other.com"))
    assert is_established(with_names(other, [FIRST], NOW))


def test_what_is_established_stays_so_under_its_old_names() -> None:
    other = with_names(named("gadgets", "Gadget"), [FIRST], NOW)
    greedy = replace(other, spec=replace(other.spec, names=replace(other.spec.names, singular="w")))
    found = with_names(greedy, [FIRST], LATER)
    assert not is_accepted(found)
    assert is_established(found)
    assert found.status.accepted_names.singular == "gadget"


def test_nothing_changes_where_all_is_well() -> None:
    assert with_names(FIRST, [FIRST], LATER) is FIRST


def test_a_condition_remembers_when_it_changed() -> None:
    once = with_condition(FIRST, CONDITION_TERMINATING, "True", "A", "a", NOW)
    again = with_condition(once, CONDITION_TERMINATING, "True", "B", "b", LATER)
    condition = condition_of(again, CONDITION_TERMINATING)
    assert condition is not None
    assert condition.last_transition_time == NOW
    assert condition.reason == "B"
    turned = with_condition(again, CONDITION_TERMINATING, "False", "C", "c", LATER)
    condition = condition_of(turned, CONDITION_TERMINATING)
    assert condition is not None
    assert condition.last_transition_time == LATER


def test_a_deletion_waits_for_the_objects() -> None:
    ending = ending_definition(FIRST, (), NOW)
    assert ending is not None
    assert ending.metadata.finalizers == (CUSTOM_RESOURCE_CLEANUP_FINALIZER,)
    assert ending.metadata.deletion_timestamp == NOW
    condition = condition_of(ending, CONDITION_TERMINATING)
    assert condition is not None
    assert condition.reason == "InstanceDeletionPending"


def test_a_second_deletion_ends_it_once_nothing_is_left() -> None:
    ending = ending_definition(FIRST, (), NOW)
    assert ending is not None
    assert ending_definition(ending, ending.metadata.finalizers, LATER) == ending
    assert ending_definition(ending, (), LATER) is None
