from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dray.errors import Expired
from dray.server.registry import Registry, Served
from dray.server.selection import select
from dray.server.watching.lines import added_line, bookmark_line, error_line, line_of
from dray.store.store import Event, Record

KEY = "core/pods/a/p"


def pods() -> Served:
    found = Registry().find("", "v1", "pods")
    assert found is not None
    return found


def record(revision: int, color: str) -> Record:
    metadata = {"name": "p", "labels": {"color": color}}
    return Record(KEY, msgspec.json.encode({"metadata": metadata}), 3, revision)


def show(value: bytes, revision: int) -> bytes:
    return b'{"revision":%d,"value":%b}' % (revision, value)


def heard(event: Event, labels: str = "") -> tuple[str, int, str] | None:
    """What kind of event, at which revision, with which color."""
    text = line_of(event, select(pods(), "a", labels, ""), show)
    if not text:
        return None
    said: Any = json.loads(text)
    color = said["object"]["value"]["metadata"]["labels"]["color"]
    return said["type"], said["object"]["revision"], color


RED, BLUE = record(5, "red"), record(7, "blue")


@pytest.mark.parametrize(
    ("before", "after", "labels", "told"),
    [
        pytest.param(None, RED, "", ("ADDED", 9, "red"), id="created"),
        pytest.param(RED, BLUE, "", ("MODIFIED", 9, "blue"), id="changed"),
        pytest.param(BLUE, None, "", ("DELETED", 9, "blue"), id="deleted"),
        pytest.param(None, RED, "color=red", ("ADDED", 9, "red"), id="created-selected"),
        pytest.param(None, RED, "color=blue", None, id="created-elsewhere"),
        pytest.param(RED, BLUE, "color=blue", ("ADDED", 9, "blue"), id="starts-to-match"),
        pytest.param(RED, BLUE, "color=red", ("DELETED", 9, "red"), id="stops-to-match"),
        pytest.param(RED, BLUE, "color", ("MODIFIED", 9, "blue"), id="still-matches"),
        pytest.param(RED, BLUE, "color=green", None, id="never-matches"),
        pytest.param(RED, None, "color=red", ("DELETED", 9, "red"), id="deleted-selected"),
        pytest.param(RED, None, "color=blue", None, id="deleted-elsewhere"),
    ],
)
def test_a_client_hears_of_what_it_selected(
    before: Record | None, after: Record | None, labels: str, told: object
) -> None:
    assert heard(Event(9, KEY, after, before), labels) == told


def test_what_was_there_is_added_at_its_own_revision() -> None:
    said = json.loads(added_line(RED, show))
    assert (said["type"], said["object"]["revision"]) == ("ADDED", 5)


@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize(
    ("blank", "more"),
    [(b"{}", {}), (b'{"spec":{"containers":null}}', {"spec": {"containers": None}})],
    ids=["nothing", "always-written"],
)
def test_a_bookmark_is_an_object_with_little_in_it(
    blank: bytes, more: dict[str, Any], *, end: bool
) -> None:
    said = json.loads(bookmark_line("Pod", "v1", blank, 9, initial_events_end=end))
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if end else {}
    assert said == {
        "type": "BOOKMARK",
        "object": {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": "9", **annotations},
            **more,
        },
    }


def test_an_error_is_a_status() -> None:
    said = json.loads(error_line(Expired("too old")))
    assert said["type"] == "ERROR"
    assert (said["object"]["kind"], said["object"]["code"]) == ("Status", 410)


def test_an_event_is_one_line() -> None:
    text = line_of(Event(9, KEY, RED, None), select(pods(), "a", "", ""), show)
    assert text.endswith(b"}\n")
    assert text.count(b"\n") == 1
