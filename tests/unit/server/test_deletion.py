from __future__ import annotations

from typing import Any

import pytest

from dray.store.store import Event
from tests.unit.server.harness import (
    CONFIG_MAPS,
    NAMESPACES,
    PODS,
    Api,
    config_map,
    pod,
    served,
)

PATH = f"{CONFIG_MAPS}/a"
POD = f"{PODS}/p"


def steps(events: list[Event]) -> list[str]:
    return ["gone" if event.record is None else "written" for event in events]


# Preconditions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        pytest.param(
            {"uid": "other"},
            'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) '
            "does not match the UID in record",
            id="uid",
        ),
        pytest.param(
            {"resourceVersion": "7"},
            "the ResourceVersion in the precondition (7) does not match the ResourceVersion in "
            "record",
            id="revision",
        ),
    ],
)
@served()
async def test_a_precondition_that_fails_deletes_nothing(
    api: Api, wanted: dict[str, str], told: str
) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    reply = await api.delete(PATH, {"preconditions": wanted})
    assert (reply.status, reply.json["reason"]) == (409, "Conflict")
    assert told in reply.message
    assert reply.json["details"]["kind"] == "ConfigMap"
    assert (await api.get(PATH)).status == 200


@served()
async def test_a_precondition_that_holds_deletes(api: Api) -> None:
    metadata = (await api.made(CONFIG_MAPS, config_map("a")))["metadata"]
    wanted = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    assert (await api.delete(PATH, {"preconditions": wanted})).status == 200


# Finalizers and dependents ---------------------------------------------------------------------


@served()
async def test_a_finalizer_holds_the_object(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a", finalizers=["example.com/x"]))
    reply = await api.delete(PATH)
    metadata = reply.json["metadata"]
    assert (reply.status, reply.json["kind"]) == (200, "ConfigMap")
    assert metadata["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert metadata["deletionGracePeriodSeconds"] == 0
    api.clock.advance(60)
    before = api.store.revision
    again = await api.delete(PATH)
    assert again.json == reply.json
    assert api.store.revision == before


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        pytest.param({"propagationPolicy": "Orphan"}, ["orphan"], id="orphan"),
        pytest.param({"propagationPolicy": "Foreground"}, ["foregroundDeletion"], id="foreground"),
        pytest.param({"orphanDependents": True}, ["orphan"], id="the-old-word"),
    ],
)
@served()
async def test_what_becomes_of_dependents_is_a_finalizer(
    api: Api, options: Any, finalizers: list[str]
) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    reply = await api.delete(PATH, options)
    assert reply.json["metadata"]["finalizers"] == finalizers
    assert (await api.get(PATH)).status == 200


@pytest.mark.parametrize(
    "options",
    [{}, {"propagationPolicy": "Background"}, {"orphanDependents": False}],
    ids=["default", "background", "the-old-word"],
)
@served()
async def test_in_the_background_nothing_is_waited_for(api: Api, options: Any) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    await api.delete(PATH, options)
    assert (await api.get(PATH)).status == 404


@served()
async def test_a_later_word_on_dependents_counts(api: Api) -> None:
    await api.made(CONFIG_MAPS, config_map("a"))
    await api.delete(PATH, {"propagationPolicy": "Orphan"})
    changed = await api.delete(PATH, {"propagationPolicy": "Foreground"})
    assert changed.json["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert (await api.delete(PATH)).json["metadata"]["finalizers"] == ["foregroundDeletion"]
    await api.delete(PATH, {"propagationPolicy": "Background"})
    assert (await api.get(PATH)).status == 404


@served()
async def test_events_have_no_dependents(api: Api) -> None:
    path = f"{NAMESPACES}/default/events"
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default", "name": "p"}}
    await api.made(path, event)
    await api.delete(f"{path}/e", {"propagationPolicy": "Foreground"})
    assert (await api.get(f"{path}/e")).status == 404


@served()
async def test_a_beginning_end_counts_as_a_change_where_changes_are_counted(api: Api) -> None:
    await api.made(PODS, pod("p", node="n"))
    assert (await api.delete(POD)).json["metadata"]["generation"] == 2


# Pods ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "options", "grace"),
    [
        pytest.param({}, {}, 30, id="by-default"),
        pytest.param({"terminationGracePeriodSeconds": 5}, {}, 5, id="its-own"),
        pytest.param({}, {"gracePeriodSeconds": 7}, 7, id="asked-for"),
        pytest.param({}, {"gracePeriodSeconds": -1}, 1, id="negative"),
    ],
)
@served()
async def test_a_running_pod_has_time_to_end(
    api: Api, spec: dict[str, int], options: Any, grace: int
) -> None:
    await api.made(PODS, pod("p", node="n", **spec))
    reply = await api.delete(POD, options)
    metadata = reply.json["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == grace
    assert metadata["deletionTimestamp"] == f"2026-01-01T00:00:{grace:02}Z"
    assert (await api.get(POD)).status == 200


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
@served()
async def test_a_pod_that_is_over_ends_at_once(api: Api, phase: str) -> None:
    await api.made(PODS, pod("p", node="n"))
    await api.patch(f"{POD}/status", {"status": {"phase": phase}})
    await api.delete(POD)
    assert (await api.get(POD)).status == 404


@served()
async def test_a_pod_on_no_node_ends_at_once_but_in_two_steps(api: Api) -> None:
    await api.made(PODS, pod("p"))
    before = api.store.revision
    reply = await api.delete(POD, {"gracePeriodSeconds": 100})
    assert reply.json["metadata"]["deletionGracePeriodSeconds"] == 0
    assert reply.revision == api.store.revision
    assert steps(api.events_after(before)) == ["written", "gone"]


@served()
async def test_a_second_deletion_may_only_hurry(api: Api) -> None:
    await api.made(PODS, pod("p", node="n"))
    first = await api.delete(POD, {"gracePeriodSeconds": 30})
    api.clock.advance(5)
    longer = await api.delete(POD, {"gracePeriodSeconds": 60})
    assert longer.json["metadata"] == first.json["metadata"]
    sooner = (await api.delete(POD, {"gracePeriodSeconds": 10})).json["metadata"]
    assert sooner["deletionTimestamp"] == "2026-01-01T00:00:10Z"
    assert sooner["deletionGracePeriodSeconds"] == 10


@served()
async def test_no_end_is_moved_into_the_past(api: Api) -> None:
    await api.made(PODS, pod("p", node="n"))
    await api.delete(POD, {"gracePeriodSeconds": 30})
    api.clock.advance(20)
    sooner = (await api.delete(POD, {"gracePeriodSeconds": 10})).json["metadata"]
    assert sooner["deletionTimestamp"] == "2026-01-01T00:00:20Z"


@served()
async def test_no_grace_ends_a_pod_that_is_ending(api: Api) -> None:
    await api.made(PODS, pod("p", node="n"))
    await api.delete(POD)
    before = api.store.revision
    await api.delete(POD, {"gracePeriodSeconds": 0})
    assert (await api.get(POD)).status == 404
    assert steps(api.events_after(before)) == ["written", "gone"]


@served()
async def test_a_held_pod_stays_though_it_has_no_time_left(api: Api) -> None:
    held = pod("p", node="n")
    held["metadata"]["finalizers"] = ["example.com/x"]
    await api.made(PODS, held)
    reply = await api.delete(POD, {"gracePeriodSeconds": 0})
    assert reply.json["metadata"]["deletionGracePeriodSeconds"] == 0
    assert (await api.get(POD)).status == 200
    await api.patch(POD, {"metadata": {"finalizers": None}})
    assert (await api.get(POD)).status == 404


@served()
async def test_a_pod_with_time_left_outlives_its_last_finalizer(api: Api) -> None:
    held = pod("p", node="n")
    held["metadata"]["finalizers"] = ["example.com/x"]
    await api.made(PODS, held)
    await api.delete(POD)
    await api.patch(POD, {"metadata": {"finalizers": None}})
    assert (await api.get(POD)).status == 200


# Namespaces and what cannot go -----------------------------------------------------------------


@served()
async def test_a_namespace_waits_for_its_content(api: Api) -> None:
    await api.made(NAMESPACES, {"metadata": {"name": "zoo"}})
    reply = await api.delete(f"{NAMESPACES}/zoo")
    assert reply.json["status"] == {"phase": "Terminating"}
    before = api.store.revision
    assert (await api.delete(f"{NAMESPACES}/zoo")).json == reply.json
    assert api.store.revision == before


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
@served()
async def test_some_namespaces_stay(api: Api, name: str) -> None:
    assert (await api.delete(f"{NAMESPACES}/{name}")).status == 403
    assert (await api.get(f"{NAMESPACES}/{name}")).json["status"] == {"phase": "Active"}


@served()
async def test_the_classes_of_the_system_stay(api: Api) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"
    reply = await api.delete(path)
    assert reply.status == 403
    assert "this is a system priority class and cannot be deleted" in reply.message
