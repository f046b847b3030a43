from __future__ import annotations

import asyncio

import pytest

from dray.server.continuation import ANY_REVISION, Continuation
from dray.server.revisions import WAIT_SECONDS
from tests.unit.server.harness import NAMESPACES, Api, Reply, config_map, served

ZOO = f"{NAMESPACES}/zoo/secrets"
NAMES = ["a", "b", "c", "d", "e"]


async def furnish(api: Api) -> None:
    await api.made(NAMESPACES, {"metadata": {"name": "zoo"}})
    for number, name in enumerate(NAMES):
        await api.made(ZOO, config_map(name, labels={"odd": str(number % 2)}))


async def pages(api: Api, path: str, limit: int) -> list[Reply]:
    found = [await api.get(f"{path}limit={limit}")]
    while token := found[-1].json["metadata"].get("continue"):
        found.append(await api.get(f"{path}limit={limit}&continue={token}"))
    return found


# Pages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 9])
@served()
async def test_pages_together_are_the_list(api: Api, limit: int) -> None:
    await furnish(api)
    found = await pages(api, f"{ZOO}?", limit)
    assert [name for page in found for name in page.names] == NAMES
    assert all(len(page.names) <= limit for page in found)


@served()
async def test_a_page_says_how_many_are_left(api: Api) -> None:
    await furnish(api)
    left = [
        page.json["metadata"].get("remainingItemCount") for page in await pages(api, f"{ZOO}?", 2)
    ]
    assert left == [3, 1, None]


@served()
async def test_pages_show_the_state_of_the_first(api: Api) -> None:
    await furnish(api)
    first = await api.get(f"{ZOO}?limit=2")
    await api.delete(f"{ZOO}/c")
    await api.made(ZOO, config_map("bb"))
    await api.patch(f"{ZOO}/d", {"metadata": {"labels": {"odd": "changed"}}})
    second = await api.get(f"{ZOO}?continue={first.json['metadata']['continue']}")
    assert second.names == ["c", "d", "e"]
    assert second.revision == first.revision
    assert second.json["items"][1]["metadata"]["labels"] == {"odd": "1"}


@served()
async def test_pages_may_show_a_state_of_the_past(api: Api) -> None:
    await furnish(api)
    then = api.store.revision
    await api.delete(f"{ZOO}/c")
    first = await api.get(f"{ZOO}?limit=2&resourceVersion={then}")
    second = await api.get(f"{ZOO}?limit=2&continue={first.json['metadata']['continue']}")
    assert first.names + second.names == ["a", "b", "c", "d"]
    assert (first.revision, second.revision) == (then, then)


@served()
async def test_pages_of_selected_objects_are_complete_and_uncounted(api: Api) -> None:
    await furnish(api)
    found = await pages(api, f"{ZOO}?labelSelector=odd%3D0&", 1)
    assert [name for page in found for name in page.names] == ["a", "c", "e"]
    assert all("remainingItemCount" not in page.json["metadata"] for page in found)
    assert len({page.revision for page in found}) == 1


@served()
async def test_pages_across_namespaces_go_on_in_the_next(api: Api) -> None:
    await furnish(api)
    found = await pages(api, "/api/v1/configmaps?", 2)
    places = [item["metadata"]["namespace"] for page in found for item in page.json["items"]]
    assert places == ["default", "kube-node-lease", "kube-public", "kube-system", "zoo"]


@pytest.mark.parametrize("query", ["", "labelSelector=odd&"], ids=["all", "selected"])
@served()
async def test_a_state_that_is_gone_offers_another_way_on(api: Api, query: str) -> None:
    await furnish(api)
    first = await api.get(f"{ZOO}?{query}limit=2")
    await api.delete(f"{ZOO}/c")
    await api.store.compact(api.store.revision)
    reply = await api.get(f"{ZOO}?{query}limit=2&continue={first.json['metadata']['continue']}")
    assert (reply.status, reply.json["reason"]) == (410, "Expired")
    assert "too old to display a consistent list result" in reply.message
    token = reply.json["metadata"]["continue"]
    assert Continuation.decode(token) == Continuation(ANY_REVISION, "b")
    rest = await api.get(f"{ZOO}?{query}limit=5&continue={token}")
    assert (rest.status, rest.names) == (200, ["d", "e"])
    assert rest.revision == api.store.revision


@pytest.mark.parametrize(
    ("query", "told"),
    [
        pytest.param("continue=!!!", "continue key is not valid", id="garbage"),
        pytest.param(
            f"continue={Continuation(10**9, 'b').encode()}",
            "continue key is not valid",
            id="another-store",
        ),
        pytest.param(
            f"resourceVersion=5&continue={Continuation(5, 'b').encode()}",
            "specifying resource version is not allowed when using continue",
            id="two-states",
        ),
    ],
)
@served()
async def test_a_token_that_leads_nowhere_is_refused(api: Api, query: str, told: str) -> None:
    reply = await api.get(f"{ZOO}?{query}")
    assert (reply.status, told in reply.message) == (400, True)


@served()
async def test_any_state_will_do_without_pages(api: Api) -> None:
    await furnish(api)
    reply = await api.get(f"{ZOO}?limit=2&resourceVersion=0")
    assert reply.names == NAMES
    assert "continue" not in reply.json["metadata"]


@pytest.mark.parametrize("limit", ["-1", "0"])
@served()
async def test_no_limit_is_no_limit(api: Api, limit: str) -> None:
    await furnish(api)
    assert (await api.get(f"{ZOO}?limit={limit}")).names == NAMES


# Which state -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "is_old"),
    [
        pytest.param("resourceVersion={}", False, id="at-least"),
        pytest.param("resourceVersion={}&resourceVersionMatch=NotOlderThan", False, id="said-so"),
        pytest.param(
            "resourceVersion={}&resourceVersionMatch=NotOlderThan&limit=9", False, id="in-pages"
        ),
        pytest.param("resourceVersion={}&resourceVersionMatch=Exact", True, id="exactly"),
        pytest.param("resourceVersion={}&limit=9", True, id="exactly-by-pages"),
        pytest.param(
            "resourceVersion={}&resourceVersionMatch=Exact&labelSelector=odd", True, id="selected"
        ),
        pytest.param(
            "resourceVersion={}&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Da",
            True,
            id="one-by-name",
        ),
    ],
)
@served()
async def test_a_revision_is_a_lower_bound_or_exact(api: Api, query: str, *, is_old: bool) -> None:
    await furnish(api)
    then = api.store.revision
    await api.delete(f"{ZOO}/a")
    reply = await api.get(f"{ZOO}?{query.format(then)}")
    assert ("a" in reply.names) is is_old
    assert reply.revision == (then if is_old else api.store.revision)


@served()
async def test_an_exact_state_that_is_gone_is_expired(api: Api) -> None:
    await furnish(api)
    then = api.store.revision - 1
    await api.store.compact(api.store.revision)
    reply = await api.get(f"{ZOO}?resourceVersion={then}&resourceVersionMatch=Exact")
    assert (reply.status, reply.json["reason"]) == (410, "Expired")
    assert reply.message == "The resourceVersion for the provided list is too old."
    assert "continue" not in reply.json["metadata"]


@served()
async def test_a_state_to_come_is_waited_for(api: Api) -> None:
    await furnish(api)
    wait = asyncio.create_task(api.get(f"{ZOO}?resourceVersion={api.store.revision + 1}"))
    await api.settle()
    assert not wait.done()
    await api.made(ZOO, config_map("f"))
    assert (await wait).names == [*NAMES, "f"]


@served()
async def test_a_state_that_does_not_come_is_a_timeout(api: Api) -> None:
    wait = asyncio.create_task(api.get(f"{ZOO}?resourceVersion=99999"))
    await api.settle()
    api.clock.advance(WAIT_SECONDS)
    reply = await wait
    assert (reply.status, reply.json["reason"]) == (504, "Timeout")
    assert reply.json["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert reply.header("retry-after") == "1"


# Which objects, and how ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("fieldSelector=metadata.name%3Dc", ["c"], id="name"),
        pytest.param("fieldSelector=metadata.name%21%3Dc", ["a", "b", "d", "e"], id="not-name"),
        pytest.param("fieldSelector=metadata.name%3Dc&labelSelector=odd%3D1", [], id="both"),
        pytest.param("labelSelector=odd%20in%20(1)", ["b", "d"], id="labels"),
        pytest.param("fieldSelector=metadata.name%3Dnobody", [], id="nobody"),
        pytest.param("fieldSelector=type%3DOpaque", NAMES, id="own-field"),
    ],
)
@served()
async def test_selectors_choose(api: Api, query: str, names: list[str]) -> None:
    await furnish(api)
    assert (await api.get(f"{ZOO}?{query}")).names == names


@served()
async def test_metadata_alone_is_listed_with_its_kind(api: Api) -> None:
    await furnish(api)
    headers = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    listed = (await api.get(ZOO, headers)).json
    assert (listed["kind"], listed["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert {item["kind"] for item in listed["items"]} == {"PartialObjectMetadata"}
    assert all("type" not in item for item in listed["items"])
