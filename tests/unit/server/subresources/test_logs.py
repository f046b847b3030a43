from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dray.errors import BadRequest, Invalid, NotFound, Unavailable
from dray.http.messages import Answer, Response, Stream
from dray.server.subresources.logs import log_verb
from tests.unit.server.harness import PODS, Api, Wire, served
from tests.unit.server.kubelets import FakeKubelet, Visit
from tests.unit.server.subresources.nodes import FakeNodes, FakePieces, placed_pod


async def logs(api: Api, nodes: FakeNodes, query: str = "") -> Answer:
    return await log_verb(nodes)(api.call("GET", f"{PODS}/p/log{query}"))


async def read(api: Api, nodes: FakeNodes, query: str = "") -> Wire:
    answer = await logs(api, nodes, query)
    assert isinstance(answer, Stream)
    wire = Wire()
    answer.start(wire)
    await api.settle()
    return wire


@served()
async def test_logs_are_handed_through(api: Api) -> None:
    await placed_pod(api)
    nodes = FakeNodes(FakePieces(b"one\n", b"two\n"))
    wire = await read(api, nodes)
    assert bytes(wire.data) == b"one\ntwo\n"
    assert wire.closed
    assert nodes.asked == [("n", "/containerLogs/default/p/a")]


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        pytest.param("follow=true&previous=false", "follow=true", id="switches"),
        pytest.param("timestamps=1", "timestamps=true", id="a-switch"),
        pytest.param("tailLines=0", "tailLines=0", id="no-lines"),
        pytest.param("limitBytes=9&sinceSeconds=3", "sinceSeconds=3&limitBytes=9", id="numbers"),
        pytest.param(
            "sinceTime=2026-01-01T01%3A00%3A00%2B01%3A00",
            "sinceTime=2026-01-01T00%3A00%3A00Z",
            id="time",
        ),
    ],
)
@served()
async def test_options_are_handed_through(api: Api, query: str, asked: str) -> None:
    await placed_pod(api)
    nodes = FakeNodes()
    await read(api, nodes, f"?{query}")
    assert nodes.asked == [("n", f"/containerLogs/default/p/a?{asked}")]


@pytest.mark.parametrize(
    "query",
    [
        "sinceTime=2026-01-01T00%3A00%3A00Z&sinceSeconds=3",
        "tailLines=-1",
        "limitBytes=0",
        "sinceSeconds=0",
    ],
)
@served()
async def test_options_that_break_a_rule_are_refused(api: Api, query: str) -> None:
    await placed_pod(api)
    with pytest.raises(Invalid, match="PodLogOptions"):
        await logs(api, FakeNodes(), f"?{query}")


@pytest.mark.parametrize("query", ["tailLines=x", "sinceTime=yesterday"])
@served()
async def test_options_that_mean_nothing_are_refused(api: Api, query: str) -> None:
    await placed_pod(api)
    with pytest.raises(BadRequest):
        await logs(api, FakeNodes(), f"?{query}")


@served()
async def test_one_of_several_containers_must_be_named(api: Api) -> None:
    await placed_pod(api, "a", "b", initContainers=[{"name": "i", "image": "i:1"}])
    with pytest.raises(BadRequest) as caught:
        await logs(api, FakeNodes())
    assert str(caught.value) == (
        "a container name must be specified for pod p, choose one of: [a b] or one of the init "
        "containers: [i]"
    )


@pytest.mark.parametrize("name", ["b", "i"])
@served()
async def test_a_container_is_named(api: Api, name: str) -> None:
    await placed_pod(api, "a", "b", initContainers=[{"name": "i", "image": "i:1"}])
    nodes = FakeNodes()
    await logs(api, nodes, f"?container={name}")
    assert nodes.asked == [("n", f"/containerLogs/default/p/{name}")]


@served()
async def test_a_container_must_be_the_pods(api: Api) -> None:
    await placed_pod(api)
    with pytest.raises(BadRequest, match="container zz is not valid for pod p"):
        await logs(api, FakeNodes(), "?container=zz")


@served()
async def test_a_pod_that_is_nowhere_has_said_nothing(api: Api) -> None:
    await placed_pod(api, node="")
    assert await logs(api, FakeNodes()) == Response(204)


@served()
async def test_there_must_be_such_a_pod(api: Api) -> None:
    with pytest.raises(NotFound, match='pods "p" not found'):
        await logs(api, FakeNodes())


@served()
async def test_a_node_that_is_gone_is_not_found(api: Api) -> None:
    await placed_pod(api)
    await api.delete("/api/v1/nodes/n")
    with pytest.raises(NotFound, match='nodes "n" not found'):
        await logs(api, FakeNodes())


@served()
async def test_a_simulated_node_is_not_asked(api: Api) -> None:
    await placed_pod(api, runtime="memory://1")
    nodes = FakeNodes()
    with pytest.raises(BadRequest, match=r"^node n is simulated \(runtime memory\): .* of pod p"):
        await logs(api, nodes)
    assert nodes.asked == []


@served()
async def test_a_client_that_leaves_frees_the_node(api: Api) -> None:
    await placed_pod(api)
    nodes = FakeNodes(FakePieces(b"one\n"))
    answer = await logs(api, nodes)
    assert isinstance(answer, Stream)
    answer.ended()  # before anything was read
    assert nodes.pieces.closed


@served()
async def test_a_node_that_fails_in_the_middle_is_seen_to(api: Api) -> None:
    await placed_pod(api)
    wire = await read(api, FakeNodes(FakePieces(b"one\n", error=Unavailable("gone"))))
    assert bytes(wire.data) == b"one\n"
    assert wire.aborted
    assert not wire.closed


@served()
async def test_a_client_that_does_not_read_is_waited_for(api: Api) -> None:
    await placed_pod(api)
    answer = await logs(api, FakeNodes(FakePieces(b"one\n", b"two\n")))
    assert isinstance(answer, Stream)
    wire = Wire(unread_bytes=10 * 1024 * 1024)
    answer.start(wire)
    await api.settle()
    assert bytes(wire.data) == b"one\n"
    wire.unread_bytes = 0
    api.clock.advance(1)
    await api.settle()
    assert bytes(wire.data) == b"one\ntwo\n"
    assert wire.closed


@served()
async def test_logs_come_from_the_node_of_the_pod(api: Api) -> None:
    async def behave(visit: Visit) -> None:
        visit.answer(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhi\n\r\n0\r\n\r\n")

    await placed_pod(api)
    async with FakeKubelet(behave) as kubelet:
        status: Any = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
        }
        await api.patch("/api/v1/nodes/n/status", {"status": status})
        answer = await api.answer("GET", f"{PODS}/p/log")
        assert isinstance(answer, Stream)
        ended = asyncio.Event()

        class Ending(Wire):
            def close(self) -> None:
                super().close()
                ended.set()

        wire = Ending()
        answer.start(wire)
        await ended.wait()
        assert bytes(wire.data) == b"hi\n"
        assert kubelet.targets == ["/containerLogs/default/p/a"]
