from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dray.server.revisions import WAIT_SECONDS
from dray.server.verbs.watch import TIMEOUT_SECONDS
from dray.server.watching.lanes import BOOKMARK_SECONDS, BUFFERED_BYTES_MAX
from tests.unit.server.harness import (
    METADATA,
    NAMESPACES,
    PODS,
    TABLE,
    Api,
    Wire,
    config_map,
    pod,
    served,
)

ZOO = f"{NAMESPACES}/zoo/secrets"


async def furnish(api: Api, *names: str) -> None:
    """A namespace without anything in it but these."""
    await api.made(NAMESPACES, {"metadata": {"name": "zoo"}})
    for name in names:
        await api.made(ZOO, config_map(name))


def labelled(**labels: str) -> Any:
    return {"metadata": {"labels": labels}}


# Where a watch begins --------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["watch=1", "watch=true&resourceVersion=0"])
@served()
async def test_without_a_revision_a_watch_begins_with_what_is_there(api: Api, query: str) -> None:
    await furnish(api, "b", "a")
    watch = await api.watch(f"{ZOO}?{query}")
    await api.made(ZOO, config_map("c"))
    assert watch.told == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert {event["object"]["kind"] for event in watch.events} == {"Secret"}


@served()
async def test_with_a_revision_a_watch_begins_after_it(api: Api) -> None:
    await furnish(api, "a", "b")
    listed = (await api.get(ZOO)).revision
    await api.patch(f"{ZOO}/a", labelled(x="1"))
    await api.delete(f"{ZOO}/b")
    watch = await api.watch(f"{ZOO}?watch=1&resourceVersion={listed}")
    await api.made(ZOO, config_map("c"))
    assert watch.told == [("MODIFIED", "a"), ("DELETED", "b"), ("ADDED", "c")]


@served()
async def test_a_list_and_a_watch_from_it_miss_nothing_and_repeat_nothing(api: Api) -> None:
    await furnish(api)
    written: list[int] = []
    for number in range(5):
        made = await api.made(ZOO, config_map(f"n{number}"))
        written.append(int(made["metadata"]["resourceVersion"]))
        if number == 1:
            listed = await api.get(ZOO)
            watch = await api.watch(f"{ZOO}?watch=1&resourceVersion={listed.revision}")
    known = [int(item["metadata"]["resourceVersion"]) for item in listed.json["items"]]
    heard = [int(event["object"]["metadata"]["resourceVersion"]) for event in watch.events]
    assert known + heard == written


@served()
async def test_a_watch_from_the_future_is_silent_until_then(api: Api) -> None:
    await furnish(api)
    watch = await api.watch(f"{ZOO}?watch=1&resourceVersion={api.store.revision + 1}")
    await api.made(ZOO, config_map("a"))
    await api.made(ZOO, config_map("b"))
    assert watch.told == [("ADDED", "b")]


@served()
async def test_history_that_is_gone_ends_a_watch_with_an_error(api: Api) -> None:
    await furnish(api, "a")
    await api.store.compact(api.store.revision)
    watch = await api.watch(f"{ZOO}?watch=1&resourceVersion=5")
    (event,) = watch.events
    assert event["type"] == "ERROR"
    status = event["object"]
    assert (status["kind"], status["reason"], status["code"]) == ("Status", "Expired", 410)
    assert status["message"] == f"too old resource version: 5 ({api.store.oldest})"
    assert watch.wire.closed


@served()
async def test_an_error_in_a_watch_of_tables_is_a_status(api: Api) -> None:
    await api.store.compact(api.store.revision)
    watch = await api.watch(f"{ZOO}?watch=1&resourceVersion=5", headers=TABLE)
    assert watch.events[0]["object"]["kind"] == "Status"


# Everything first ------------------------------------------------------------------------------

WATCH_LIST = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"


@pytest.mark.parametrize("names", [("a", "b"), ()], ids=["some", "none"])
@served()
async def test_a_bookmark_says_that_everything_was_said(api: Api, names: tuple[str, ...]) -> None:
    await furnish(api, *names)
    watch = await api.watch(f"{ZOO}?{WATCH_LIST}&allowWatchBookmarks=true")
    assert watch.told == [*(("ADDED", name) for name in names), ("BOOKMARK", "")]
    metadata = watch.events[-1]["object"]["metadata"]
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert metadata["resourceVersion"] == str(api.store.revision)


@served()
async def test_who_takes_no_bookmarks_gets_none(api: Api) -> None:
    await furnish(api, "a")
    watch = await api.watch(f"{ZOO}?{WATCH_LIST}")
    assert watch.told == [("ADDED", "a")]


@pytest.mark.parametrize("revision", ["", "&resourceVersion=0"])
@served()
async def test_a_watch_may_begin_with_nothing(api: Api, revision: str) -> None:
    await furnish(api, "a")
    query = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    watch = await api.watch(f"{ZOO}?{query}{revision}")
    await api.made(ZOO, config_map("b"))
    assert watch.told == [("ADDED", "b")]


@served()
async def test_everything_at_a_revision_to_come_is_waited_for(api: Api) -> None:
    await furnish(api)
    path = f"{ZOO}?{WATCH_LIST}&resourceVersion={api.store.revision + 1}"
    beginning = asyncio.create_task(api.watch(path))
    await api.settle()
    assert not beginning.done()
    await api.made(ZOO, config_map("a"))
    assert (await beginning).told == [("ADDED", "a")]


@served()
async def test_everything_at_a_revision_that_does_not_come_is_an_error(api: Api) -> None:
    beginning = asyncio.create_task(api.watch(f"{ZOO}?{WATCH_LIST}&resourceVersion=99999"))
    await api.settle()
    api.clock.advance(WAIT_SECONDS)
    watch = await beginning
    (event,) = watch.events
    assert (event["type"], event["object"]["code"]) == ("ERROR", 504)
    assert event["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert watch.wire.closed


# What a watch says -----------------------------------------------------------------------------


@served()
async def test_what_starts_to_match_is_added_and_what_stops_is_deleted(api: Api) -> None:
    await furnish(api, "a")
    watch = await api.watch(f"{ZOO}?watch=1&labelSelector=color%3Dred")
    await api.patch(f"{ZOO}/a", labelled(color="red"))
    await api.patch(f"{ZOO}/a", labelled(more="1"))
    last = await api.patch(f"{ZOO}/a", labelled(color="blue"))
    await api.delete(f"{ZOO}/a")
    assert watch.told == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    gone = watch.events[-1]["object"]["metadata"]
    assert gone["labels"]["color"] == "red"
    assert gone["resourceVersion"] == str(last.revision)


@served()
async def test_a_deletion_carries_the_last_content_at_its_own_revision(api: Api) -> None:
    await furnish(api, "a")
    await api.patch(f"{ZOO}/a", labelled(x="1"))
    watch = await api.watch(f"{ZOO}?watch=1&resourceVersion={api.store.revision}")
    await api.delete(f"{ZOO}/a")
    (event,) = watch.events
    assert event["type"] == "DELETED"
    assert event["object"]["metadata"]["labels"] == {"x": "1"}
    assert event["object"]["metadata"]["resourceVersion"] == str(api.store.revision)


@pytest.mark.parametrize(
    "path",
    [
        f"{ZOO}?watch=1&fieldSelector=metadata.name%3Da",
        "/api/v1/watch/namespaces/zoo/secrets/a",
    ],
    ids=["selector", "old-path"],
)
@served()
async def test_one_object_is_watched_by_name(api: Api, path: str) -> None:
    await furnish(api, "a", "b")
    watch = await api.watch(path)
    await api.patch(f"{ZOO}/b", labelled(x="1"))
    await api.patch(f"{ZOO}/a", labelled(x="1"))
    assert watch.told == [("ADDED", "a"), ("MODIFIED", "a")]


@served()
async def test_a_watch_of_a_namespace_hears_of_no_other(api: Api) -> None:
    await furnish(api)
    here, everywhere = await api.watch(f"{PODS}?watch=1"), await api.watch("/api/v1/pods?watch=1")
    await api.made(f"{NAMESPACES}/zoo/pods", pod("p"))
    assert here.told == []
    assert everywhere.told == [("ADDED", "p")]


@served()
async def test_metadata_is_watched_alone(api: Api) -> None:
    await furnish(api)
    watch = await api.watch(f"{ZOO}?watch=1&allowWatchBookmarks=1", headers=METADATA)
    await api.made(ZOO, {**config_map("a"), "data": {"x": "AAAA"}})
    bookmark, added = watch.events
    assert {bookmark["object"]["kind"], added["object"]["kind"]} == {"PartialObjectMetadata"}
    assert "data" not in added["object"]


@served(versions=lambda _group, _version: True)
async def test_a_watch_speaks_the_version_it_was_asked_in(api: Api) -> None:
    base = "/apis/resource.k8s.io/{}/namespaces/default/resourceclaims"
    watch = await api.watch(base.format("v1beta1") + "?watch=1")
    requests = [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}}
    await api.made(base.format("v1"), claim)
    (event,) = watch.events
    assert event["object"]["apiVersion"] == "resource.k8s.io/v1beta1"
    assert event["object"]["spec"]["devices"]["requests"][0]["deviceClassName"] == "gpu"


# How a watch goes on and ends ------------------------------------------------------------------


@served()
async def test_a_bookmark_says_how_far_a_quiet_watch_has_come(api: Api) -> None:
    watch = await api.watch(f"{PODS}?watch=1&allowWatchBookmarks=true&resourceVersion=1")
    await furnish(api)
    api.clock.advance(BOOKMARK_SECONDS)
    api.server.lanes.tick()
    (event,) = watch.events
    assert event["type"] == "BOOKMARK"
    assert event["object"]["metadata"] == {"resourceVersion": str(api.store.revision)}
    assert event["object"]["spec"] == {"containers": None}


@served()
async def test_a_watch_ends_when_it_said_it_would(api: Api) -> None:
    watch = await api.watch(f"{PODS}?watch=1&timeoutSeconds=5")
    api.clock.advance(4.9)
    api.server.lanes.tick()
    assert not watch.wire.closed
    api.clock.advance(0.2)
    api.server.lanes.tick()
    assert watch.wire.closed
    assert not watch.wire.aborted


@pytest.mark.parametrize("query", ["", "&timeoutSeconds=0", "&timeoutSeconds=-1"])
@served()
async def test_every_watch_ends_some_time(api: Api, query: str) -> None:
    watch = await api.watch(f"{PODS}?watch=1{query}")
    api.clock.advance(TIMEOUT_SECONDS - 1)
    api.server.lanes.tick()
    assert not watch.wire.closed
    api.clock.advance(TIMEOUT_SECONDS + 1)
    api.server.lanes.tick()
    assert watch.wire.closed


@served()
async def test_a_client_that_goes_away_is_forgotten(api: Api) -> None:
    watch = await api.watch(f"{PODS}?watch=1")
    assert len(api.server.lanes) == 1
    watch.leave()
    assert len(api.server.lanes) == 0


@served()
async def test_a_client_that_does_not_read_is_dropped(api: Api) -> None:
    watch = await api.watch(f"{PODS}?watch=1", wire=Wire(unread_bytes=BUFFERED_BYTES_MAX + 1))
    await api.made(PODS, pod("p"))
    assert watch.wire.aborted
    assert len(api.server.lanes) == 0


@pytest.mark.parametrize(
    ("query", "status"),
    [
        pytest.param("watch=1&continue=x", 422, id="page"),
        pytest.param("watch=1&sendInitialEvents=true", 422, id="no-match"),
        pytest.param("watch=1&resourceVersionMatch=Exact", 422, id="match"),
        pytest.param("watch=1&labelSelector=%3D", 400, id="selector"),
        pytest.param("watch=1&resourceVersion=x", 400, id="revision"),
    ],
)
@served()
async def test_a_watch_that_makes_no_sense_is_refused(api: Api, query: str, status: int) -> None:
    assert (await api.get(f"{PODS}?{query}")).status == status
