from __future__ import annotations

import re

import pytest

from dray.server.operations.metric_families import FAMILIES
from dray.server.user import User
from tests.unit.server.harness import CONFIG_MAPS, Api, config_map, served
from tests.unit.server.operations.operated import samples


@served()
async def test_the_page_has_every_family_once_and_the_processs_own(api: Api) -> None:
    page = (await api.get("/metrics")).text
    names = re.findall(r"^# TYPE (\S+) ", page, re.MULTILINE)
    assert len(names) == len(set(names))
    assert set(names) - set(FAMILIES) == {name for name in names if name.startswith("process_")}
    assert set(FAMILIES) <= set(names)
    assert "process_cpu_seconds_total" in names


@served()
async def test_every_line_is_a_sample_of_the_family_above_it(api: Api) -> None:
    await api.post(CONFIG_MAPS, config_map("a"))
    family = ""
    for line in (await api.get("/metrics")).text.splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ")[2]
        elif not line.startswith("#"):
            assert line.startswith(family)
            assert re.fullmatch(r"[a-z_]+(\{.*\})? [-+.0-9e]+", line), line


@served()
async def test_it_says_what_it_is_to_whoever_scrapes(api: Api) -> None:
    reply = await api.get("/metrics")
    assert reply.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8"


@pytest.mark.parametrize("path", ["/metrics", "/metrics/"])
def test_a_slash_at_the_end_is_fine(path: str) -> None:
    @served()
    async def run(api: Api) -> None:
        assert (await api.get(path)).status == 200

    run()


@served()
async def test_only_reading_is_possible(api: Api) -> None:
    assert (await api.post("/metrics", {})).status == 405


@served()
async def test_whoever_may_not_is_refused(api: Api) -> None:
    reply = await api.request("GET", "/metrics", user=User("bob"))
    assert reply.status == 403
    assert 'cannot get path \\"/metrics\\"' in reply.text


@served()
async def test_objects_are_counted_by_resource(api: Api) -> None:
    before = samples(api)['apiserver_storage_objects{resource="configmaps"}']
    await api.post(CONFIG_MAPS, config_map("a"))
    told = samples(api)
    assert told['apiserver_storage_objects{resource="configmaps"}'] == before + 1
    assert told['apiserver_resource_objects{group="",resource="configmaps"}'] == before + 1
    assert told["dray_store_revision"] == api.store.revision


@served()
async def test_admission_and_the_store_are_timed(api: Api) -> None:
    def counted() -> tuple[float, float]:
        told = samples(api)
        labels = '{type="validate",operation="CREATE",rejected="false"}'
        step = f"apiserver_admission_step_admission_duration_seconds_count{labels}"
        return told[step], told["dray_store_write_duration_seconds_count"]

    before = counted()
    await api.post(CONFIG_MAPS, config_map("a"))
    after = counted()
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)
