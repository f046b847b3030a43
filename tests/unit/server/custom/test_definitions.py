from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dray.api.apiextensions import CUSTOM_RESOURCE_CLEANUP_FINALIZER
from dray.errors import InternalError, StoreUnavailable
from dray.server.custom.definitions import DefinitionKeeper
from dray.store.memory import MemoryStore
from tests.unit.server.custom.definitions import (
    DEFINITIONS,
    SIZE,
    WIDGETS,
    definition,
    spec_of,
    version,
    widget,
)
from tests.unit.server.harness import APPLY, TABLE, Api, served, start

NAME = f"{DEFINITIONS}/widgets.example.com"


@asynccontextmanager
async def kept(api: Api) -> AsyncIterator[None]:
    """While what keeps definitions in order runs."""
    keeper = DefinitionKeeper(api.server.services, changed=api.server.lanes.finish_all)
    task = asyncio.create_task(keeper.run())
    await api.settle()
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def conditions(document: Any) -> dict[str, tuple[str, str]]:
    found = document["status"]["conditions"] or ()
    return {each["type"]: (each["status"], each["reason"]) for each in found}


@served()
async def test_whoever_creates_a_definition_can_use_it_next(api: Api) -> None:
    await api.made(DEFINITIONS, definition())
    assert (await api.made(WIDGETS, widget(spec={"size": 3})))["spec"] == {"size": 3}
    assert conditions((await api.get(NAME)).json) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }


@served()
async def test_a_kind_is_discovered_under_its_names(api: Api) -> None:
    names = {"shortNames": ["wd"], "listKind": "WidgetCollection"}
    await api.made(DEFINITIONS, definition(names=names))
    (entry,) = (await api.get("/apis/example.com/v1")).json["resources"]
    assert (entry["name"], entry["kind"], entry["shortNames"]) == ("widgets", "Widget", ["wd"])
    assert (await api.get(WIDGETS)).json["kind"] == "WidgetCollection"


@served()
async def test_a_loser_of_names_is_not_served_until_they_are_free(api: Api) -> None:
    async with kept(api):
        await api.made(DEFINITIONS, definition())
        await api.made(DEFINITIONS, definition(plural="others"))
        loser = f"{DEFINITIONS}/others.example.com"
        others = WIDGETS.replace("widgets", "others")
        assert conditions((await api.get(loser)).json)["NamesAccepted"][0] == "False"
        assert (await api.get(others)).status == 404
        await api.delete(NAME)
        await api.settle()
        assert conditions((await api.get(loser)).json)["Established"][0] == "True"
        assert (await api.get(others)).status == 200


@served()
async def test_a_changed_schema_holds_from_then_on(api: Api) -> None:
    async with kept(api):
        await api.made(DEFINITIONS, definition())
        await api.made(WIDGETS, widget("old", spec={"size": 1, "note": "n"}))
        stored = (await api.get(NAME)).json
        extra = {"type": "string", "default": "d"}
        stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = spec_of(
            size={"type": "integer", "minimum": 5}, extra=extra
        )
        assert (await api.put(NAME, stored)).status == 200
        await api.settle()
        assert (await api.get(f"{WIDGETS}/old")).json["spec"] == {"size": 1, "extra": "d"}
        assert (await api.post(WIDGETS, widget("new", spec={"size": 1}))).status == 422
        labelled = await api.patch(f"{WIDGETS}/old", {"metadata": {"labels": {"a": "b"}}})
        assert labelled.status == 200, labelled.text


@served()
async def test_watches_end_when_the_kind_changes(api: Api) -> None:
    async with kept(api):
        await api.made(DEFINITIONS, definition())
        watch = await api.watch(f"{WIDGETS}?watch=true")
        stored = (await api.get(NAME)).json
        column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
        stored["spec"]["versions"][0]["additionalPrinterColumns"] = [column]
        await api.put(NAME, stored)
        await api.settle()
        assert watch.wire.closed
        table = (await api.get(WIDGETS, TABLE)).json
        assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Size"]


@served()
async def test_a_deleted_definition_takes_its_objects_along(api: Api) -> None:
    async with kept(api):
        await api.made(DEFINITIONS, definition())
        await api.made(WIDGETS, widget())
        ending = (await api.delete(NAME)).json
        assert ending["metadata"]["finalizers"] == [CUSTOM_RESOURCE_CLEANUP_FINALIZER]
        assert conditions(ending)["Terminating"] == ("True", "InstanceDeletionPending")
        await api.settle()
        assert (await api.get(NAME)).status == 404
        assert (await api.get(WIDGETS)).status == 404
        assert api.store.range("example.com/").records == []


@served()
async def test_a_definition_waits_for_objects_that_have_to_wait(api: Api) -> None:
    async with kept(api):
        await api.made(DEFINITIONS, definition())
        held = widget() | {"metadata": {"name": "w", "finalizers": ["example.com/hold"]}}
        await api.made(WIDGETS, held)
        await api.delete(NAME)
        await api.settle()
        waiting = (await api.get(NAME)).json
        assert conditions(waiting)["Terminating"] == ("True", "InstanceDeletionInProgress")
        refused = await api.post(WIDGETS, widget("more"))
        assert refused.status == 403
        assert (
            "create not allowed while custom resource definition is terminating" in refused.message
        )
        await api.patch(f"{WIDGETS}/w", {"metadata": {"finalizers": None}})
        await api.settle()
        assert (await api.get(NAME)).status == 404


@served()
async def test_a_definition_that_never_was_goes_at_once(api: Api) -> None:
    async with kept(api):
        await api.made(DEFINITIONS, definition())
        await api.made(DEFINITIONS, definition(plural="others"))
        await api.delete(f"{DEFINITIONS}/others.example.com")
        await api.settle()
        assert (await api.get(f"{DEFINITIONS}/others.example.com")).status == 404
        assert (await api.get(WIDGETS)).status == 200


def test_a_server_that_starts_again_serves_what_it_did() -> None:
    async def main() -> None:
        first = await start()
        await first.made(DEFINITIONS, definition())
        await first.made(WIDGETS, widget(spec={"size": 3}))
        await first.server.stop()
        again = await start(store=first.store)
        DefinitionKeeper(again.server.services).load()
        assert (await again.get(f"{WIDGETS}/w")).json["spec"] == {"size": 3}
        await again.server.stop()

    asyncio.run(main())


@served()
async def test_versions_come_and_go(api: Api) -> None:
    async with kept(api):
        await api.made(DEFINITIONS, definition(versions=[version("v1"), version("v2")]))
        await api.made(WIDGETS, widget(spec={"size": 3}))
        second = WIDGETS.replace("/v1/", "/v2/")
        assert (await api.get(f"{second}/w")).json["apiVersion"] == "example.com/v2"
        stored = (await api.get(NAME)).json
        stored["spec"]["versions"][1]["served"] = False
        await api.put(NAME, stored)
        await api.settle()
        assert (await api.get(f"{second}/w")).status == 404


@served()
async def test_objects_are_applied_selected_and_scaled(api: Api) -> None:
    status = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = {**SIZE, "properties": {**SIZE["properties"], "status": status}}
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    body = definition(
        schema,
        subresources={"status": {}, "scale": paths},
        selectableFields=[{"jsonPath": ".spec.note"}],
    )
    await api.made(DEFINITIONS, body)
    applied = await api.patch(
        f"{WIDGETS}/w?fieldManager=me", widget(spec={"size": 1, "note": "n"}), APPLY
    )
    assert applied.status == 201, applied.text
    assert (await api.get(f"{WIDGETS}?fieldSelector=spec.note%3Dn")).names == ["w"]
    assert (await api.get(f"{WIDGETS}?fieldSelector=spec.note%3Dm")).names == []
    assert (await api.get(f"{WIDGETS}?fieldSelector=spec.size%3D1")).status == 400
    scaled = await api.patch(f"{WIDGETS}/w/scale", {"spec": {"replicas": 4}})
    assert scaled.json["spec"] == {"replicas": 4}
    assert (await api.get(f"{WIDGETS}/w")).json["spec"]["size"] == 4
    reported = await api.patch(f"{WIDGETS}/w/status", {"status": {"size": 2}})
    assert reported.status == 200, reported.text
    assert (await api.get(f"{WIDGETS}/w/scale")).json["status"] == {"replicas": 2}
    assert (await api.get(f"{WIDGETS}/w/log")).status == 404


@served()
async def test_watches_hear_of_the_last_object_before_they_end(api: Api) -> None:
    async with kept(api):
        await api.made(DEFINITIONS, definition())
        await api.made(WIDGETS, widget())
        watch = await api.watch(f"{WIDGETS}?watch=true")
        await api.delete(NAME)
        await api.settle()
        assert watch.told == [("ADDED", "w"), ("DELETED", "w")]
        assert watch.wire.closed


def test_a_stored_definition_that_cannot_be_read_is_not_served() -> None:
    async def main() -> None:
        api = await start()
        await api.made(DEFINITIONS, definition())
        (record,) = api.store.range("apiextensions.k8s.io/customresourcedefinitions/").records
        broken = record.value.replace(b'"type":"integer"', b'"type":5')
        await api.store.put(record.key, broken, expected=record.revision)
        await api.server.stop()
        again = await start(store=api.store)
        DefinitionKeeper(again.server.services).load()
        assert (await again.get(WIDGETS)).status == 404
        await again.server.stop()

    asyncio.run(main())


@served()
async def test_a_definition_nobody_is_served_goes_with_what_is_stored_of_it(api: Api) -> None:
    async with kept(api):
        await api.made(DEFINITIONS, definition())
        await api.made(WIDGETS, widget())
        stored = (await api.get(NAME)).json
        stored["spec"]["versions"][0]["served"] = False
        assert (await api.put(NAME, stored)).status == 200
        await api.settle()
        assert (await api.get(WIDGETS)).status == 404
        await api.delete(NAME)
        await api.settle()
        assert (await api.get(NAME)).status == 404
        assert api.store.range("example.com/").records == []


@served()
async def test_a_definition_that_was_never_served_can_be_deleted(api: Api) -> None:
    async with kept(api):
        await api.made(DEFINITIONS, definition(served=False))
        await api.delete(NAME)
        await api.settle()
        assert (await api.get(NAME)).status == 404


class Refusing(MemoryStore):
    """A store that has trouble with one key, of which everything was expected but this."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None

    async def delete(self, key: str, *, expected: int | None = None) -> int | None:
        if self.error is not None and key.startswith("example.com/widgets/"):
            raise self.error
        return await super().delete(key, expected=expected)


@pytest.mark.parametrize(
    "error", [InternalError("a bug"), ZeroDivisionError(), StoreUnavailable("the disk is full")]
)
@served(store=Refusing)
async def test_a_definition_in_trouble_holds_up_no_other(api: Api, error: Exception) -> None:
    assert isinstance(api.store, Refusing)
    async with kept(api):
        await api.made(DEFINITIONS, definition())
        await api.made(DEFINITIONS, definition(plural="others", kind="Other"))
        await api.made(WIDGETS, widget())
        api.store.error = error
        await api.delete(NAME)
        await api.settle()
        await api.delete(f"{DEFINITIONS}/others.example.com")
        await api.settle()
        assert (await api.get(f"{DEFINITIONS}/others.example.com")).status == 404
        assert (await api.get(NAME)).status == 200
        api.store.error = None
        api.clock.advance(60)
        await api.settle()
        assert (await api.get(NAME)).status == 404
