from __future__ import annotations

from tests.unit.server.harness import CONFIG_MAPS, METADATA, TABLE, Api, config_map, served


@served()
async def test_an_object_is_shown_whole(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    shown = (await api.get(f"{CONFIG_MAPS}/a")).json
    assert (shown["kind"], shown["apiVersion"], shown["data"]) == ("ConfigMap", "v1", {"x": "1"})


@served()
async def test_an_object_is_shown_as_its_metadata(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    shown = (await api.get(f"{CONFIG_MAPS}/a", METADATA)).json
    assert (shown["kind"], shown["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert shown["metadata"]["name"] == "a"
    assert "data" not in shown


@served()
async def test_an_object_is_shown_as_a_row(api: Api) -> None:
    made = await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    shown = (await api.get(f"{CONFIG_MAPS}/a", TABLE)).json
    assert shown["kind"] == "Table"
    assert shown["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert [row["cells"][:2] for row in shown["rows"]] == [["a", 1]]
