"""Lines of a watch, however they arrive."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.core import Pod
from dray.client import _watch
from dray.client._resources import resource_of
from dray.client._transport import Call
from dray.client._watch import Events, EventType
from dray.errors import Expired, TransportError

PODS = resource_of(Pod)


def events() -> Events:
    return Events(PODS, PODS.hub, Call("GET", "/watch"))


def line(type_: str, name: str) -> bytes:
    return json.dumps({"type": type_, "object": {"metadata": {"name": name}}}).encode() + b"\n"


LINES = line("ADDED", "a") + b"\n" + line("MODIFIED", "b\u00fc") + b" \n" + line("DELETED", "c")


@given(cuts=st.sets(st.integers(1, len(LINES) - 1)))
def test_events_are_the_same_however_the_bytes_are_cut(cuts: set[int]) -> None:
    places = [0, *sorted(cuts), len(LINES)]
    reader, found = events(), []
    for start, end in itertools.pairwise(places):
        found += [(e.type, e.object.metadata.name) for e in reader.feed(LINES[start:end])]
    reader.finish()
    assert found == [
        (EventType.ADDED, "a"),
        (EventType.MODIFIED, "b\u00fc"),
        (EventType.DELETED, "c"),
    ]


def test_an_end_within_an_event_is_an_error() -> None:
    reader = events()
    assert not list(reader.feed(LINES[:20]))
    with pytest.raises(TransportError, match="GET /watch: the watch ended in the middle"):
        reader.finish()


def test_what_came_before_an_error_is_delivered() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    data = line("ADDED", "a") + json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"
    found = events().feed(data)
    assert next(found).object.metadata.name == "a"
    with pytest.raises(Expired, match="too old"):
        next(found)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"<html>\n", "is no event"),
        (b"{}\n", "is no event"),
        (b"\xff\n", "is no event"),
        (b'{"type":"GONE","object":{}}\n', "unknown type 'GONE'"),
        (b'{"type":"ADDED","object":[]}\n', "no Pod"),
        (b'{"type":"ADDED","object":{"kind":"Node"}}\n', "a Node where Pod was expected"),
        (b'{"type":"ERROR","object":5}\n', "no Status"),
    ],
)
def test_what_is_no_event_is_an_error(data: bytes, complaint: str) -> None:
    with pytest.raises(TransportError, match=complaint):
        list(events().feed(data))


def test_a_line_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_watch, "LINE_BYTES_MAX", 1000)
    reader = events()
    assert not list(reader.feed(b"x" * 1000))
    with pytest.raises(TransportError, match="more than 1000 bytes"):
        list(reader.feed(b"x"))
    with pytest.raises(TransportError, match="more than 1000 bytes"):
        list(events().feed(b"x" * 1001 + b"\n"))


@pytest.mark.parametrize(
    "written",
    [
        b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}',
        b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\r',
        b'{"type":"ADDED","object":{"metadata":{"name":"a"}},"more":{"x":1}}',
        b'{"type":"ADDED","object":{"metadata":{"name":"b"}},"object":{"metadata":{"name":"a"}}}',
        b'{"object":{"metadata":{"name":"a"}},"type":"ADDED"}',
        b' { "type" : "ADDED", "object" : {"metadata":{"name":"a"}} }',
        b'{"type":"ADDED","object":{"metadata":{"name":"a"},"later":{"than":"we"}}}',
    ],
    ids=["plain", "return", "more", "twice", "turned", "spaced", "unknown-field"],
)
def test_an_event_is_the_same_however_it_is_written(written: bytes) -> None:
    (event,) = events().feed(written + b"\n")
    assert (event.type, event.object.metadata.name) == (EventType.ADDED, "a")


@pytest.mark.parametrize(
    "broken",
    [
        b'{"type":"ADDED","object":{"metadata":{"name":"a"}}]',
        b'{"type":"ADDED","object":{"metadata":{"name":"a"}}',
        b'{"type":"ADDED","object":}',
        b'{"type":"ADDED","object":',
        b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}}',
        b'{"type":"ADDED","object":{"kind":"Node"}}',
    ],
)
def test_what_only_begins_like_an_event_is_an_error(broken: bytes) -> None:
    with pytest.raises(TransportError, match="GET /watch"):
        list(events().feed(broken + b"\n"))
