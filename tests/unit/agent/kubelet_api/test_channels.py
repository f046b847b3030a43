from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any

import pytest

from dray.agent.kubelet_api.channels import choose_protocol, serve_session
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.runtime import Session, SessionConfig
from tests.unit.server.kubelets import FakeSocket

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
COMMAND = SessionConfig(command=("run", "me"), stdin=True, tty=False)


class FakeSession:
    """Says these pieces, once it was told to if it is to wait, and remembers what it is given."""

    def __init__(self, *pieces: tuple[int, bytes], code: int = 0, waits: bool = False) -> None:
        self._pieces = deque(pieces)
        self._code = code
        self._go = asyncio.Event()
        if not waits:
            self._go.set()
        self.given: list[Any] = []
        self.is_closed = False

    async def read(self) -> tuple[int, bytes]:
        await self._go.wait()
        return self._pieces.popleft() if self._pieces else (0, b"")

    async def write(self, data: bytes) -> None:
        self.given.append(data)
        if data == b"":
            self._go.set()

    def resize(self, width: int, height: int) -> None:
        self.given.append((width, height))

    async def wait(self) -> int:
        return self._code

    async def close(self) -> None:
        self.is_closed = True


def serve(
    session: FakeSession,
    socket: FakeSocket,
    config: SessionConfig = COMMAND,
    protocol: str = V5,
) -> None:
    async def open_session() -> Session:
        return session

    asyncio.run(serve_session(socket, open_session, config, protocol=protocol))
    assert session.is_closed


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(f"{V4}, {V5}", V5), (V4, V4), ("", ""), ("channel.k8s.io, v4.base64.channel.k8s.io", "")],
)
def test_the_best_protocol_of_both_is_spoken(offered: str, chosen: str) -> None:
    assert choose_protocol(offered) == chosen


def test_output_and_success_are_told_each_on_its_channel() -> None:
    async def build() -> tuple[FakeSession, FakeSocket]:
        return FakeSession((1, b"out"), (2, b"bad")), FakeSocket()

    session, socket = asyncio.run(build())
    serve(session, socket)
    assert socket.heard[:3] == [b"\x01", b"\x01out", b"\x02bad"]
    assert socket.heard[3][:1] == b"\x03"
    assert json.loads(socket.heard[3][1:]) == {"metadata": {}, "status": "Success"}
    assert socket.closed == (1000, "")


def test_an_exit_code_is_told_as_a_status() -> None:
    session, socket = FakeSession(code=3), FakeSocket()
    serve(session, socket)
    status = json.loads(socket.heard[-1][1:])
    assert (status["status"], status["reason"]) == ("Failure", "NonZeroExitCode")
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]


def test_who_attached_is_not_told_the_containers_code() -> None:
    session, socket = FakeSession(code=3), FakeSocket()
    serve(session, socket, SessionConfig(stdin=True))
    assert json.loads(socket.heard[-1][1:])["status"] == "Success"


def test_input_sizes_and_the_end_of_input_are_handed_on() -> None:
    size = b'\x04{"Width":80,"Height":24}'
    messages = (b"\x00in", b"", b"\x04rubbish", size, b"\x09what", b"\xff\x00")
    session, socket = FakeSession((1, b"x"), waits=True), FakeSocket(*messages)
    config = SessionConfig(command=("sh",), stdin=True, tty=True)
    serve(session, socket, config)
    assert session.given == [b"in", (80, 24), b""]


def test_in_the_older_protocol_nothing_ends_but_the_session() -> None:
    session, socket = FakeSession(waits=True), FakeSocket(b"\xff\x00", b"\x00in")
    socket.leave()
    serve(session, socket, protocol=V4)
    assert session.given == [b"in"]


def test_a_client_that_leaves_ends_its_session() -> None:
    session, socket = FakeSession(waits=True), FakeSocket()
    socket.leave()
    serve(session, socket)
    assert socket.closed is None


def test_a_session_that_cannot_be_opened_is_told_of() -> None:
    async def refuse() -> Session:
        raise RuntimeFailed("container x is not running", reason="ExecFailed")

    socket = FakeSocket()
    asyncio.run(serve_session(socket, refuse, COMMAND, protocol=V5))
    status = json.loads(socket.heard[-1][1:])
    assert status["message"] == "error executing command in container: container x is not running"
    assert (status["status"], status["code"]) == ("Failure", 500)
    assert socket.closed == (1000, "")
