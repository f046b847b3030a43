from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dray.api.meta import ManagedFieldsEntry
from dray.api.wire import Time
from dray.server.field_managers import differ_in_time_only
from tests.unit.server.harness import APPLY, CONFIG_MAPS, PODS, Api, config_map, pod, served

PATH = f"{CONFIG_MAPS}/a"


def owners(shown: Any) -> dict[str, Any]:
    return {
        entry["manager"]: entry["fieldsV1"] for entry in shown["metadata"].get("managedFields", [])
    }


@served()
async def test_who_changes_a_field_owns_it_from_then_on(api: Api) -> None:
    await api.made(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", {"x": "1", "y": "1"}))
    changed = await api.patch(f"{PATH}?fieldManager=two", {"data": {"x": "2"}})
    assert owners(changed.json) == {
        "one": {"f:data": {".": {}, "f:y": {}}},
        "two": {"f:data": {"f:x": {}}},
    }


@served()
async def test_who_takes_everything_leaves_nothing_to_others(api: Api) -> None:
    await api.made(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", {"x": "1"}))
    changed = await api.put(f"{PATH}?fieldManager=two", config_map("a", {"x": "2"}))
    assert owners(changed.json)["two"] == {"f:data": {"f:x": {}}}


@served()
async def test_the_time_is_that_of_the_last_change(api: Api) -> None:
    await api.made(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", {"x": "1"}))
    api.clock.advance(60)
    changed = await api.patch(f"{PATH}?fieldManager=two", {"data": {"y": "1"}})
    times = {each["manager"]: each["time"] for each in changed.json["metadata"]["managedFields"]}
    assert times == {"one": "2026-01-01T00:00:00Z", "two": "2026-01-01T00:01:00Z"}


@served()
async def test_what_admission_adds_nobody_owns_and_defaults_somebody_does(api: Api) -> None:
    made = await api.made(PODS, pod("p"))
    (spec,) = [fields["f:spec"] for fields in owners(made).values()]
    assert "f:restartPolicy" in spec
    assert "f:serviceAccountName" not in spec
    assert "f:tolerations" not in spec


@served()
async def test_ownership_can_be_given_up_by_all(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    cleared = await api.patch(PATH, {"metadata": {"managedFields": [{}]}})
    assert owners(cleared.json) == {}
    again = await api.patch(PATH, {"data": {"x": "2"}})
    assert owners(again.json) == {}


def in_another_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: in_another_order(value[name]) for name in sorted(value, reverse=True)}
    return [in_another_order(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "say",
    [
        pytest.param(lambda _known: [], id="nothing"),
        pytest.param(lambda known: known, id="the same"),
        pytest.param(in_another_order, id="the same in another order"),
    ],
)
@served()
async def test_a_client_may_repeat_who_owns_what(api: Api, say: Callable[[Any], Any]) -> None:
    await api.made(f"{CONFIG_MAPS}?fieldManager=one", config_map("a", {"x": "1", "y": "1"}))
    api.clock.advance(60)
    shown = (await api.patch(f"{PATH}?fieldManager=two", {"data": {"x": "2"}})).json
    api.clock.advance(60)
    body = config_map("a", {"x": "2", "y": "3"})
    said = say(shown["metadata"]["managedFields"])
    metadata = {**body["metadata"], **({"managedFields": said} if said else {})}
    changed = await api.put(f"{PATH}?fieldManager=three", {**body, "metadata": metadata})
    assert [
        (each["manager"], each["time"], each["fieldsV1"])
        for each in changed.json["metadata"]["managedFields"]
    ] == [
        ("one", "2026-01-01T00:00:00Z", {"f:data": {}}),
        ("two", "2026-01-01T00:01:00Z", {"f:data": {"f:x": {}}}),
        ("three", "2026-01-01T00:02:00Z", {"f:data": {"f:y": {}}}),
    ]


@served()
async def test_an_object_nobody_owned_was_there_before(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", {"x": "1"}))
    await api.patch(PATH, {"metadata": {"managedFields": [{}]}})
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"y": "1"}}
    applied = await api.patch(f"{PATH}?fieldManager=me", body, APPLY)
    assert set(owners(applied.json)) == {"me", "before-first-apply"}


@served(versions=lambda _group, _version: True)
async def test_owners_remember_the_version_they_wrote_in(api: Api) -> None:
    base = "/apis/resource.k8s.io/{}/namespaces/default/resourceclaims"
    requests = [{"name": "r", "deviceClassName": "gpu"}]
    body = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}}
    await api.made(base.format("v1beta1"), body)
    shown = (await api.get(base.format("v1") + "/c")).json
    (entry,) = shown["metadata"]["managedFields"]
    assert entry["apiVersion"] == "resource.k8s.io/v1beta1"
    assert entry["fieldsV1"] == {"f:spec": {"f:devices": {"f:requests": {}}}}


def entry(manager: str, time: str) -> ManagedFieldsEntry:
    return ManagedFieldsEntry(manager=manager, operation="Update", time=Time.parse(time))


@pytest.mark.parametrize(
    ("new", "differs_in_time_only"),
    [
        pytest.param([entry("a", "2026-01-01T00:00:00Z")], True, id="same"),
        pytest.param([entry("a", "2026-01-02T00:00:00Z")], True, id="later"),
        pytest.param([entry("b", "2026-01-01T00:00:00Z")], False, id="another"),
        pytest.param([], False, id="nobody"),
    ],
)
def test_a_later_time_alone_is_no_difference(
    new: list[ManagedFieldsEntry], *, differs_in_time_only: bool
) -> None:
    old = (entry("a", "2026-01-01T00:00:00Z"),)
    assert differ_in_time_only(tuple(new), old) is differs_in_time_only
