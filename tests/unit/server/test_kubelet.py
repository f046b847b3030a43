from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

import pytest
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong, RejectConnection, TextMessage

from dray.api.core import Node
from dray.errors import APIError, Unavailable
from dray.server.kubelet import Kubelet, NodePath, Pieces
from tests.unit.server.kubelets import FakeKubelet, FakeSocket, Visit, client_context, node

LOGS = NodePath("containerLogs", ("default", "p", "c"), (("follow", "true"), ("tailLines", "5")))
EXEC = NodePath("exec", ("default", "p", "c"), (("command", "ls"), ("command", "-l a&b")))


async def whole(pieces: Pieces) -> bytes:
    return b"".join([piece async for piece in pieces])


async def asked(node_: Node, path: NodePath = LOGS) -> bytes:
    return await whole(await Kubelet(client_context()).read(node_, path))


async def joined(kubelet: FakeKubelet, client: FakeSocket, *protocols: str) -> str:
    """Join a client to the node until one of them closes."""
    protocol, join = await Kubelet(client_context()).session(kubelet.node, EXEC, protocols)
    await cast("Coroutine[Any, Any, None]", join(client))
    return protocol


# Plain answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "target"),
    [
        pytest.param(LOGS, "/containerLogs/default/p/c?follow=true&tailLines=5", id="options"),
        pytest.param(EXEC, "/exec/default/p/c?command=ls&command=-l+a%26b", id="encoded"),
        pytest.param(NodePath("attach", ("a", "b/c")), "/attach/a/b%2Fc", id="no-options"),
    ],
)
def test_a_path_says_what_is_asked_for(path: NodePath, target: str) -> None:
    assert path.target == target


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nsome\nlines\n", b"some\nlines\n", id="to-the-end"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"4\r\nsome\r\n7;x=y\r\n\nlines\n\r\n0\r\n\r\n",
            b"some\nlines\n",
            id="in-chunks",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", b"", id="nothing"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nsome", b"some", id="broken"
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-9\r\nsome", b"", id="below-none"
        ),
    ],
)
def test_what_a_node_says_is_handed_on(answer: bytes, body: bytes) -> None:
    async def main() -> None:
        async def behave(visit: Visit) -> None:
            visit.answer(answer)

        async with FakeKubelet(behave) as kubelet:
            assert await asked(kubelet.node) == body
            assert kubelet.targets == [LOGS.target]

    asyncio.run(main())


def test_a_long_answer_is_handed_on_while_it_comes() -> None:
    async def main() -> None:
        more = asyncio.Event()

        async def behave(visit: Visit) -> None:
            visit.answer(b"HTTP/1.1 200 OK\r\n\r\nfirst")
            await more.wait()
            visit.answer(b"second")

        async with FakeKubelet(behave) as kubelet:
            pieces = await Kubelet(client_context()).read(kubelet.node, LOGS)
            reading = aiter(pieces)
            assert await anext(reading) == b"first"
            more.set()
            assert await anext(reading) == b"second"
            with pytest.raises(StopAsyncIteration):
                await anext(reading)

    asyncio.run(main())


def test_what_nobody_wants_is_let_go_though_nothing_was_read() -> None:
    async def main() -> None:
        async def behave(visit: Visit) -> None:
            visit.answer(b"HTTP/1.1 200 OK\r\n\r\nfirst")
            await visit.gone()

        async with FakeKubelet(behave) as kubelet:
            pieces = await Kubelet(client_context()).read(kubelet.node, LOGS)
            pieces.close()
            pieces.close()

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["read", "session"])
def test_a_node_that_is_silent_is_let_go_with_its_client(kind: str) -> None:
    async def main() -> None:
        arrived = asyncio.Event()

        async def behave(visit: Visit) -> None:
            arrived.set()
            await visit.gone()

        async with FakeKubelet(behave) as kubelet:
            nodes = Kubelet(client_context())
            waiting: asyncio.Future[object] = asyncio.ensure_future(
                nodes.read(kubelet.node, LOGS)
                if kind == "read"
                else nodes.session(kubelet.node, EXEC, ())
            )
            await arrived.wait()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "text", "reason", "message"),
    [
        pytest.param(404, b"no such container\n", "NotFound", "no such container", id="not-found"),
        pytest.param(400, b"bad", "BadRequest", "bad", id="bad"),
        pytest.param(500, b"", "", "the node answered 500", id="wordless"),
    ],
)
def test_a_refusal_of_the_node_is_ours(status: int, text: bytes, reason: str, message: str) -> None:
    async def main() -> None:
        async def behave(visit: Visit) -> None:
            visit.answer(b"HTTP/1.1 %d X\r\n\r\n%b" % (status, text))

        async with FakeKubelet(behave) as kubelet:
            with pytest.raises(APIError) as caught:
                await asked(kubelet.node)
        assert (caught.value.code, caught.value.reason) == (status, reason)
        assert str(caught.value) == message

    asyncio.run(main())


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0\r\n\r\n", b"HTTP/1.1 200"])
def test_a_node_that_does_not_speak_http_is_unavailable(answer: bytes) -> None:
    async def main() -> None:
        async def behave(visit: Visit) -> None:
            visit.answer(answer)

        async with FakeKubelet(behave) as kubelet:
            with pytest.raises(Unavailable, match="node n cannot be reached"):
                await asked(kubelet.node)

    asyncio.run(main())


def test_a_node_that_is_down_is_unavailable() -> None:
    async def main() -> None:
        async def behave(visit: Visit) -> None:
            del visit

        async with FakeKubelet(behave) as kubelet:
            port = kubelet.port
        with pytest.raises(Unavailable, match="node n cannot be reached"):
            await asked(node(port, ("InternalIP", "127.0.0.1")))

    asyncio.run(main())


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param([("Hostname", "nowhere.invalid"), ("InternalIP", "127.0.0.1")], id="internal"),
        pytest.param([("ExternalDNS", "nowhere.invalid"), ("ExternalIP", "127.0.0.1")], id="ip"),
        pytest.param([("InternalIP", "127.0.0.1"), ("InternalIP", "nowhere.invalid")], id="first"),
    ],
)
def test_the_best_address_is_tried(addresses: list[tuple[str, str]]) -> None:
    async def main() -> None:
        async def behave(visit: Visit) -> None:
            visit.answer(b"HTTP/1.1 200 OK\r\n\r\nhere")

        async with FakeKubelet(behave) as kubelet:
            assert await asked(node(kubelet.port, *addresses)) == b"here"

    asyncio.run(main())


def test_a_node_without_an_address_cannot_be_asked() -> None:
    with pytest.raises(APIError, match="no preferred addresses found"):
        asyncio.run(asked(node(10250, ("Elsewhere", "127.0.0.1"))))


# Sessions --------------------------------------------------------------------------------------


def test_messages_go_both_ways_and_the_node_ends_it() -> None:
    async def main() -> None:
        heard: list[bytes] = []

        async def behave(visit: Visit) -> None:
            assert visit.protocols == ["v5.channel.k8s.io", "v4.channel.k8s.io"]
            visit.accept("v4.channel.k8s.io")
            while len(heard) < 2:
                event = await visit.receive()
                assert isinstance(event, BytesMessage)
                heard.append(bytes(event.data))
            visit.send(BytesMessage(data=b"\x01out", message_finished=False))
            visit.send(BytesMessage(data=b"put"))
            visit.send(TextMessage(data="\x03{}"))
            await visit.close_properly(1000, "done")

        client = FakeSocket(b"\x00one", b"\x00two")
        async with FakeKubelet(behave) as kubelet:
            protocol = await joined(kubelet, client, "v5.channel.k8s.io", "v4.channel.k8s.io")
        assert kubelet.targets == [EXEC.target]
        assert protocol == "v4.channel.k8s.io"
        assert heard == [b"\x00one", b"\x00two"]
        assert client.heard == [b"\x01output", b"\x03{}"]
        assert client.closed == (1000, "done")

    asyncio.run(main())


def test_what_comes_with_the_consent_is_not_lost() -> None:
    async def main() -> None:
        async def behave(visit: Visit) -> None:
            visit.accept(None, b"\x01first", b"\x01second")
            await visit.close_properly()

        client = FakeSocket()
        async with FakeKubelet(behave) as kubelet:
            assert await joined(kubelet, client) == ""
        assert client.heard == [b"\x01first", b"\x01second"]

    asyncio.run(main())


def test_a_client_that_leaves_takes_the_session_with_it() -> None:
    async def main() -> None:
        ends: list[object] = []

        async def behave(visit: Visit) -> None:
            visit.accept(None)
            ends.append(await visit.receive())
            await visit.gone()

        client = FakeSocket()
        client.leave()
        async with FakeKubelet(behave) as kubelet:
            await joined(kubelet, client)
        assert [type(event) for event in ends] == [CloseConnection]

    asyncio.run(main())


def test_a_node_that_vanishes_ends_the_session() -> None:
    async def main() -> None:
        async def behave(visit: Visit) -> None:
            visit.accept(None, b"\x01some")

        client = FakeSocket()
        async with FakeKubelet(behave) as kubelet:
            await joined(kubelet, client)
        assert client.heard == [b"\x01some"]

    asyncio.run(main())


def test_a_node_that_asks_whether_we_live_is_answered() -> None:
    async def main() -> None:
        answers: list[object] = []

        async def behave(visit: Visit) -> None:
            visit.accept(None)
            visit.send(Ping(payload=b"?"))
            answers.append(await visit.receive())
            await visit.close_properly()

        async with FakeKubelet(behave) as kubelet:
            await joined(kubelet, FakeSocket())
        assert answers == [Pong(payload=b"?")]

    asyncio.run(main())


def test_a_message_of_the_node_that_does_not_end_is_given_up() -> None:
    async def main() -> None:
        ends: list[object] = []

        async def behave(visit: Visit) -> None:
            visit.accept(None)
            visit.send(BytesMessage(data=b"\x01" * 100))
            for _ in range(3):
                visit.send(BytesMessage(data=b"\x01" * 50, message_finished=False))
            ends.append(await visit.receive())

        client = FakeSocket()
        async with FakeKubelet(behave) as kubelet:
            nodes = Kubelet(client_context(), message_bytes_max=100)
            _, join = await nodes.session(kubelet.node, EXEC, ())
            await cast("Coroutine[Any, Any, None]", join(client))
        assert client.heard == [b"\x01" * 100]
        assert client.closed == (1009, "the limit is 100 bytes")
        assert ends == [CloseConnection(code=1009, reason="the limit is 100 bytes")]

    asyncio.run(main())


def test_a_session_that_the_node_refuses_is_unavailable() -> None:
    async def main() -> None:
        async def behave(visit: Visit) -> None:
            visit.send(RejectConnection(status_code=403))

        async with FakeKubelet(behave) as kubelet:
            with pytest.raises(Unavailable, match="refused the session with 403"):
                await joined(kubelet, FakeSocket())

    asyncio.run(main())


def test_a_session_with_a_node_that_hangs_up_is_unavailable() -> None:
    async def main() -> None:
        async def behave(visit: Visit) -> None:
            del visit

        async with FakeKubelet(behave) as kubelet:
            with pytest.raises(Unavailable, match="node n cannot be reached"):
                await joined(kubelet, FakeSocket())

    asyncio.run(main())
