"""Events, in both of their faces."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api import events
from dray.api.core import Event, EventSource, ObjectReference
from dray.api.wire import MicroTime, Time
from tests.unit.validation.pod_builders import paths
from tests.unit.validation.workload_builders import created, metadata, updated

THEN = MicroTime.parse("2024-01-01T00:00:00.5Z")
POD = ObjectReference(kind="Pod", namespace="default", name="a")


def core_event(*, namespace: str = "default", **fields: Any) -> Event:
    return Event(metadata=metadata(namespace=namespace), **{"involved_object": POD, **fields})


def event(*, namespace: str = "default", **fields: Any) -> events.Event:
    whole = {
        "event_time": THEN,
        "regarding": POD,
        "reporting_controller": "a.io/b",
        "reporting_instance": "me",
        "action": "Doing",
        "reason": "Happened",
        "type": "Normal",
    }
    return events.Event(metadata=metadata(namespace=namespace), **{**whole, **fields})


def test_a_whole_event_is_fine_and_may_be_written_back() -> None:
    assert created(event()) == updated(event(), event()) == []


def test_an_old_client_may_say_nearly_anything() -> None:
    odd = core_event(type="X", count=3)
    assert created(odd) == updated(odd, core_event(reason="other")) == []


@pytest.mark.parametrize(
    ("namespace", "regarding", "fine"),
    [
        ("default", "", True),
        ("other", "", False),
        ("other", "other", True),
        ("other", "default", False),
    ],
)
def test_an_old_event_lies_beside_its_object(namespace: str, regarding: str, fine: bool) -> None:
    made = core_event(namespace=namespace, involved_object=ObjectReference(namespace=regarding))
    refused = (
        f'involvedObject.namespace: Invalid value: "{regarding}": does not match event.namespace'
    )
    assert created(made) == ([] if fine else [refused])


@pytest.mark.parametrize(
    ("namespace", "fine"), [("default", True), ("kube-system", True), ("other", False)]
)
def test_a_new_event_about_no_namespace_lies_where_the_system_does(
    namespace: str, fine: bool
) -> None:
    made = event(namespace=namespace, regarding=ObjectReference())
    assert paths(created(made)) == ([] if fine else ["involvedObject.namespace"])


def test_an_event_with_a_time_says_who_did_what() -> None:
    assert created(core_event(event_time=THEN)) == [
        "reportingComponent: Required value",
        'reportingComponent: Invalid value: "": name part must be non-empty',
        (
            'reportingComponent: Invalid value: "": name part must consist of alphanumeric'
            " characters, '-', '_' or '.', and must start and end with an alphanumeric character"
            " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
            " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        ),
        "reportingInstance: Required value",
        "action: Required value",
        "reason: Required value",
    ]


@pytest.mark.parametrize(
    ("field", "wire_name", "most"),
    [
        ("reporting_instance", "reportingInstance", 128),
        ("action", "action", 128),
        ("reason", "reason", 128),
        ("note", "message", 1024),
    ],
)
def test_an_event_is_short(field: str, wire_name: str, most: int) -> None:
    fits: dict[str, Any] = {field: "x" * most}
    bursts: dict[str, Any] = {field: "x" * (most + 1)}
    assert created(event(**fits)) == []
    assert created(event(**bursts)) == [
        f'{wire_name}: Invalid value: "": can have at most {most} characters'
    ]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"type": "X"}, 'type: Invalid value: "": has invalid value: X'),
        ({"deprecated_count": 1}, 'count: Invalid value: "": needs to be unset'),
        (
            {"deprecated_source": EventSource(host="h")},
            'source: Invalid value: "": needs to be unset',
        ),
        (
            {"deprecated_first_timestamp": Time.parse("2024-01-01T00:00:00Z")},
            'firstTimestamp: Invalid value: "": needs to be unset',
        ),
        (
            {"series": events.EventSeries(count=1, last_observed_time=THEN)},
            'series.count: Invalid value: "": should be at least 2',
        ),
        ({"series": events.EventSeries(count=2)}, "series.lastObservedTime: Required value"),
    ],
)
def test_a_new_event_leaves_the_old_fields_alone(fields: dict[str, Any], text: str) -> None:
    assert created(event(**fields)) == [text]


def test_a_new_event_has_a_time() -> None:
    assert created(event(event_time=None)) == ["eventTime: Required value"]


def test_only_the_series_goes_on() -> None:
    series = events.EventSeries(count=2, last_observed_time=THEN)
    assert updated(event(series=series), event()) == []
    assert updated(event(note="new", action="Undoing"), event()) == [
        'message: Invalid value: "new": field is immutable',
        'action: Invalid value: "Undoing": field is immutable',
    ]


def test_what_an_event_is_about_is_shown_whole() -> None:
    assert updated(event(regarding=ObjectReference(namespace="default", name="b")), event()) == [
        (
            'involvedObject: Invalid value: {"Kind":"","Namespace":"default","Name":"b","UID":"",'
            '"APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable'
        )
    ]
