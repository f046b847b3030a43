from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.harness import (
    CONFIG_MAPS,
    PODS,
    TABLE,
    Api,
    config_map,
    pod,
    served,
)


@pytest.mark.parametrize(
    ("query", "embedded"),
    [
        pytest.param("", "PartialObjectMetadata", id="by-default"),
        pytest.param("?includeObject=Metadata", "PartialObjectMetadata", id="metadata"),
        pytest.param("?includeObject=Object", "ConfigMap", id="object"),
        pytest.param("?includeObject=None", None, id="none"),
    ],
)
@served()
async def test_a_row_embeds_what_is_asked_for(api: Api, query: str, embedded: str | None) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    table = (await api.get(f"{CONFIG_MAPS}{query}", TABLE)).json
    found: Any = next(row for row in table["rows"] if row["cells"][0] == "a")["object"]
    assert (found and found["kind"]) == embedded


@served()
async def test_a_row_cannot_embed_anything_else(api: Api) -> None:
    reply = await api.get(f"{CONFIG_MAPS}?includeObject=Half", TABLE)
    assert reply.status == 400


@served()
async def test_rows_and_columns_are_as_many(api: Api) -> None:
    await api.made(PODS, pod("p"))
    table = (await api.get(PODS, TABLE)).json
    assert [column["name"] for column in table["columnDefinitions"]][:3] == [
        "Name",
        "Ready",
        "Status",
    ]
    assert len(table["rows"][0]["cells"]) == len(table["columnDefinitions"])


@served()
async def test_a_table_of_a_page_says_how_to_go_on(api: Api) -> None:
    for name in ("a", "b", "c"):
        await api.made(CONFIG_MAPS, config_map(name))
    metadata = (await api.get(f"{CONFIG_MAPS}?limit=1", TABLE)).json["metadata"]
    assert metadata["remainingItemCount"] == 3
    assert metadata["continue"]


@served()
async def test_a_watch_says_its_columns_once(api: Api) -> None:
    await api.made(PODS, pod("p"))
    watch = await api.watch(f"{PODS}?watch=1", headers=TABLE)
    await api.made(PODS, pod("q"))
    first, second = (event["object"] for event in watch.events)
    assert first["kind"] == second["kind"] == "Table"
    assert first["columnDefinitions"]
    assert second["columnDefinitions"] is None
    assert [table["rows"][0]["cells"][0] for table in (first, second)] == ["p", "q"]


@served()
async def test_every_watch_says_its_own_columns(api: Api) -> None:
    first = await api.watch(f"{PODS}?watch=1", headers=TABLE)
    second = await api.watch(f"{PODS}?watch=1", headers=TABLE)
    await api.made(PODS, pod("p"))
    for watch in (first, second):
        assert watch.events[0]["object"]["columnDefinitions"]


@served()
async def test_events_are_tables_by_either_name(api: Api) -> None:
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Started",
        "type": "Normal",
        "message": "went well",
    }
    await api.made("/api/v1/namespaces/default/events", event)
    for path in ("/api/v1/events", "/apis/events.k8s.io/v1/events"):
        row = (await api.get(path, TABLE)).json["rows"][0]
        assert {"Normal", "Started", "pod/p", "went well"} <= set(row["cells"][:7])
