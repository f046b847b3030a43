from __future__ import annotations

from typing import Any

import pytest

from dray.errors import RevisionConflict
from dray.store.memory import MemoryStore
from dray.store.store import Record
from tests.unit.server.harness import NAMESPACES, PODS, Api, pod, served

PATH = f"{PODS}/p/eviction"
EVICTION: Any = {"metadata": {"name": "p"}}
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


async def running(api: Api, *, ready: bool = True, phase: str = "Running") -> Any:
    wanted = pod("p", node="n")
    wanted["metadata"]["labels"] = {"app": "web"}
    await api.made(PODS, wanted)
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    status = {"status": {"phase": phase, "conditions": conditions}}
    return (await api.patch(f"{PODS}/p/status", status)).json


async def budget(api: Api, name: str = "b", *, spec: Any = None, **status: Any) -> None:
    wanted = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}, **(spec or {})}
    await api.made(BUDGETS, {"metadata": {"name": name}, "spec": wanted})
    told = {"observedGeneration": 1, "desiredHealthy": 1, "currentHealthy": 2, **status}
    reply = await api.patch(f"{BUDGETS}/{name}/status", {"status": told})
    assert reply.status == 200, reply.text


async def is_ending(api: Api) -> bool:
    return "deletionTimestamp" in (await api.get(f"{PODS}/p")).json["metadata"]


@served()
async def test_a_pod_without_a_budget_is_evicted(api: Api) -> None:
    await running(api)
    reply = await api.post(PATH, EVICTION)
    assert (reply.status, reply.json["status"]) == (201, "Success")
    ending = (await api.get(f"{PODS}/p")).json
    assert ending["metadata"]["deletionGracePeriodSeconds"] == 30
    told = {each["type"]: each for each in ending["status"]["conditions"]}["DisruptionTarget"]
    assert (told["status"], told["reason"]) == ("True", "EvictionByEvictionAPI")


@served()
async def test_a_budget_pays_for_an_eviction(api: Api) -> None:
    await running(api)
    await budget(api, disruptionsAllowed=1)
    assert (await api.post(PATH, EVICTION)).status == 201
    status = (await api.get(f"{BUDGETS}/b")).json["status"]
    assert status["disruptionsAllowed"] == 0
    assert status["disruptedPods"] == {"p": "2026-01-01T00:00:00Z"}
    assert await is_ending(api)


@served()
async def test_a_budget_that_has_nothing_left_refuses(api: Api) -> None:
    await running(api)
    await budget(api, disruptionsAllowed=0, desiredHealthy=2)
    reply = await api.post(PATH, EVICTION)
    assert (reply.status, reply.json["reason"]) == (429, "TooManyRequests")
    assert reply.message == "Cannot evict pod as it would violate the pod's disruption budget."
    assert reply.json["details"]["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget b needs 2 healthy pods and has 2 currently",
        }
    ]
    assert reply.header("retry-after") is None
    assert not await is_ending(api)


@served()
async def test_a_budget_that_was_not_counted_yet_asks_for_patience(api: Api) -> None:
    await running(api)
    await budget(api, disruptionsAllowed=1, observedGeneration=0)
    reply = await api.post(PATH, EVICTION)
    assert (reply.status, reply.header("retry-after")) == (429, "10")
    assert "is still being processed" in reply.json["details"]["causes"][0]["message"]


@served()
async def test_two_budgets_for_one_pod_are_one_too_many(api: Api) -> None:
    await running(api)
    await budget(api, "b", disruptionsAllowed=1)
    await budget(api, "c", disruptionsAllowed=1)
    reply = await api.post(PATH, EVICTION)
    assert (reply.status, "more than one PodDisruptionBudget" in reply.message) == (500, True)


@served()
async def test_a_budget_for_others_has_no_say(api: Api) -> None:
    await running(api)
    await budget(api, spec={"selector": {"matchLabels": {"app": "other"}}}, disruptionsAllowed=0)
    assert (await api.post(PATH, EVICTION)).status == 201


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
@served()
async def test_a_pod_that_does_no_work_needs_no_budget(api: Api, phase: str) -> None:
    await running(api, phase=phase)
    await budget(api, disruptionsAllowed=0)
    assert (await api.post(PATH, EVICTION)).status == 201


@served()
async def test_a_pod_that_ends_already_needs_no_budget(api: Api) -> None:
    await running(api)
    await budget(api, disruptionsAllowed=0)
    await api.delete(f"{PODS}/p")
    assert (await api.post(PATH, EVICTION)).status == 201


@pytest.mark.parametrize(
    ("spec", "status", "answer"),
    [
        pytest.param({}, {"currentHealthy": 2}, 201, id="enough-others"),
        pytest.param({}, {"currentHealthy": 0}, 429, id="too-few-others"),
        pytest.param(
            {"unhealthyPodEvictionPolicy": "AlwaysAllow"}, {"currentHealthy": 0}, 201, id="always"
        ),
    ],
)
@served()
async def test_an_unhealthy_pod_may_go_if_others_do_its_work(
    api: Api, spec: Any, status: Any, answer: int
) -> None:
    await running(api, ready=False)
    await budget(api, spec=spec, disruptionsAllowed=0, **status)
    assert (await api.post(PATH, EVICTION)).status == answer


@pytest.mark.parametrize(
    ("query", "options"),
    [("?dryRun=All", {}), ("", {"dryRun": ["All"]})],
    ids=["query", "options"],
)
@served()
async def test_a_dry_run_evicts_nothing(api: Api, query: str, options: Any) -> None:
    await running(api)
    await budget(api, disruptionsAllowed=1)
    before = api.store.revision
    assert (await api.post(PATH + query, {**EVICTION, "deleteOptions": options})).status == 201
    assert api.store.revision == before


@served()
async def test_an_eviction_deletes_as_its_options_say(api: Api) -> None:
    await running(api)
    await api.post(PATH, {**EVICTION, "deleteOptions": {"gracePeriodSeconds": 5}})
    metadata = (await api.get(f"{PODS}/p")).json["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 5


@served()
async def test_preconditions_are_about_the_pod_as_its_client_knows_it(api: Api) -> None:
    metadata = (await running(api))["metadata"]
    wanted = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    assert (
        await api.post(PATH, {**EVICTION, "deleteOptions": {"preconditions": wanted}})
    ).status == 201
    assert await is_ending(api)


@pytest.mark.parametrize("wanted", [{"uid": "other"}, {"resourceVersion": "7"}])
@served()
async def test_a_precondition_that_fails_leaves_the_pod_as_it_was(
    api: Api, wanted: dict[str, str]
) -> None:
    before = await running(api)
    reply = await api.post(PATH, {**EVICTION, "deleteOptions": {"preconditions": wanted}})
    assert (reply.status, reply.json["reason"]) == (409, "Conflict")
    assert (await api.get(f"{PODS}/p")).json == before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param({"metadata": {"name": "q"}}, 400, id="another-name"),
        pytest.param({**EVICTION, "kind": "Binding"}, 400, id="another-kind"),
    ],
)
@served()
async def test_an_eviction_that_makes_no_sense_is_refused(api: Api, body: Any, status: int) -> None:
    await running(api)
    assert (await api.post(PATH, body)).status == status
    assert not await is_ending(api)


@served()
async def test_there_must_be_such_a_pod(api: Api) -> None:
    assert (await api.post(PATH, EVICTION)).status == 404
    assert (await api.post(f"{NAMESPACES}/nowhere/pods/p/eviction", EVICTION)).status == 404


class Contested(MemoryStore):
    """A store in which somebody else is always quicker to write a budget."""

    contested = False

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> Record:
        if self.contested and key.startswith("policy/"):
            raise RevisionConflict(key, expected=expected or 0, found=99)
        return await super().put(key, value, expected=expected)


@served(store=Contested)
async def test_a_budget_that_could_not_be_charged_lets_nobody_go(api: Api) -> None:
    await running(api)
    await budget(api, disruptionsAllowed=1)
    assert isinstance(api.store, Contested)
    api.store.contested = True
    reply = await api.post(PATH, EVICTION)
    assert (reply.status, reply.header("retry-after")) == (504, "10")
    assert not await is_ending(api)
