from __future__ import annotations

import json
from typing import Any

import pytest

from dray.server.models.events import EventsModel, from_core, to_core
from tests.unit.server.harness import Api, served
from tests.unit.server.models.builders import read
from tests.unit.server.models.builders import served as found

OLD = "/api/v1/namespaces/default/events"
NEW = "/apis/events.k8s.io/v1/namespaces/default/events"

CORE: Any = {
    "metadata": {"name": "e"},
    "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
    "reason": "Started",
    "message": "went well",
    "source": {"component": "kubelet", "host": "n"},
    "firstTimestamp": "2026-01-01T00:00:00Z",
    "lastTimestamp": "2026-01-01T00:00:05Z",
    "count": 3,
    "type": "Normal",
    "eventTime": "2026-01-01T00:00:00.000001Z",
    "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000002Z"},
    "action": "Start",
    "related": {"kind": "Node", "name": "n"},
    "reportingComponent": "kubelet",
    "reportingInstance": "n",
}


def test_both_faces_say_the_same() -> None:
    event = read("", "events", CORE)
    assert to_core(from_core(event)) == event


def test_the_newer_face_has_other_names() -> None:
    newer = from_core(read("", "events", CORE))
    assert (newer.note, newer.reporting_controller) == ("went well", "kubelet")
    assert newer.regarding.name == "p"
    assert newer.deprecated_source.component == "kubelet"
    assert newer.deprecated_count == 3


def test_what_is_stored_is_the_older_face() -> None:
    model = EventsModel()
    value = model.store(from_core(read("", "events", CORE)))
    assert json.loads(value)["involvedObject"]["name"] == "p"
    assert model.load(value, 7).note == "went well"


@pytest.mark.parametrize("typed", [True, False])
def test_a_stored_event_is_shown_by_the_newer_names(*, typed: bool) -> None:
    model = EventsModel()
    value = model.store(from_core(read("", "events", CORE)))
    shown = json.loads(model.show(value, 7, found("events.k8s.io", "events").resource, typed=typed))
    assert shown["note"] == "went well"
    assert shown["metadata"]["resourceVersion"] == "7"
    assert ("kind" in shown) is typed


@served()
async def test_an_event_is_read_by_either_name(api: Api) -> None:
    made = await api.made(OLD, CORE)
    newer = (await api.get(f"{NEW}/e")).json
    assert newer["apiVersion"] == "events.k8s.io/v1"
    assert newer["note"] == "went well"
    assert newer["metadata"]["uid"] == made["metadata"]["uid"]
    assert [item["note"] for item in (await api.get(NEW)).json["items"]] == ["went well"]


@served()
async def test_watches_of_both_names_hear_of_one_event(api: Api) -> None:
    older = await api.watch(f"{OLD}?watch=1")
    newer = await api.watch(f"{NEW}?watch=1")
    await api.made(OLD, CORE)
    await api.patch(f"{OLD}/e", {"message": "better"})
    assert [event["object"]["message"] for event in older.events] == ["went well", "better"]
    assert [event["object"]["note"] for event in newer.events] == ["went well", "better"]
    assert {event["object"]["apiVersion"] for event in newer.events} == {"events.k8s.io/v1"}


@served()
async def test_events_are_selected_by_the_names_of_their_face(api: Api) -> None:
    await api.made(OLD, CORE)
    for path, field in ((OLD, "involvedObject.name"), (NEW, "regarding.name")):
        assert (await api.get(f"{path}?fieldSelector={field}%3Dp")).names == ["e"]
        assert (await api.get(f"{path}?fieldSelector={field}%3Dq")).names == []


@served()
async def test_an_event_is_deleted_by_either_name(api: Api) -> None:
    await api.made(OLD, CORE)
    assert (await api.delete(f"{NEW}/e")).status == 200
    assert (await api.get(f"{OLD}/e")).status == 404
