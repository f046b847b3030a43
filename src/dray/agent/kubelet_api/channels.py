"""The streams of a session over one websocket: a byte that says which, then what it carries.

Subprotocols v4.channel.k8s.io and v5.channel.k8s.io, of which the second can say that a stream has
ended. How the command ended is told on its own channel as a Status. Upstream counterpart:
apimachinery's remotecommand and cri-streaming's websocket half of it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.runtime import Session, SessionConfig
from dray.errors import TransportError
from dray.http.messages import WebSocket

__all__ = ["PROTOCOLS", "choose_protocol", "serve_session"]

# What we speak, the best first.
PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
ERROR: Final = 3
RESIZE: Final = 4
CLOSE: Final = 255

_SUCCESS: Final[dict[str, Any]] = {"metadata": {}, "status": "Success"}


def choose_protocol(offered: str) -> str:
    """The best of those a client offers in its header, or nothing."""
    names = {name.strip() for name in offered.split(",")}
    return next((name for name in PROTOCOLS if name in names), "")


async def serve_session(
    socket: WebSocket,
    open_session: Callable[[], Awaitable[Session]],
    config: SessionConfig,
    *,
    protocol: str,
) -> None:
    """Join a websocket and a session until either ends, and say how the session did."""
    try:
        session = await open_session()
    except RuntimeFailed as failure:
        await _tell(socket, _failure(str(failure)))
        return
    receiving = asyncio.ensure_future(_receive(socket, session, config, protocol))
    sending = asyncio.ensure_future(_send(socket, session, config))
    try:
        await asyncio.wait((receiving, sending), return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()
            await _finish(socket, session, config)
    except TransportError:
        pass  # the client left; so does its command
    finally:
        for task in (receiving, sending):
            task.cancel()
        await asyncio.gather(receiving, sending, return_exceptions=True)
        await session.close()


async def _receive(
    socket: WebSocket, session: Session, config: SessionConfig, protocol: str
) -> None:
    """Hand on what the client sends, until it leaves."""
    while (message := await socket.receive()) is not None:
        if not message:
            continue
        channel, payload = message[0], message[1:]
        if channel == STDIN and config.stdin and payload:
            await session.write(payload)
        elif channel == RESIZE and config.tty:
            _resize(session, payload)
        elif channel == CLOSE and protocol == PROTOCOLS[0] and payload == bytes([STDIN]):
            await session.write(b"")


async def _send(socket: WebSocket, session: Session, config: SessionConfig) -> None:
    """Hand on what the session says, until it has ended."""
    # Says that the streams are there, before anything is in them.
    first = STDOUT if config.stdout else STDERR if config.stderr and not config.tty else ERROR
    await socket.send(bytes([first]))
    while (piece := await session.read())[0]:
        stream, data = piece
        await socket.send(bytes([stream]) + data)


async def _finish(socket: WebSocket, session: Session, config: SessionConfig) -> None:
    """Tell how it ended, and close."""
    try:
        code = await session.wait()
    except RuntimeFailed as failure:
        status = _failure(str(failure))
    else:
        # Whoever attached is told of the stream's end alone: the container's end has its own place.
        status = _exit_status(config, code) if code and config.command else _SUCCESS
    await _tell(socket, status)


async def _tell(socket: WebSocket, status: dict[str, Any]) -> None:
    """The last that is said."""
    with suppress(TransportError):
        await socket.send(bytes([ERROR]) + json.dumps(status).encode())
        await socket.close(1000)


def _exit_status(config: SessionConfig, code: int) -> dict[str, Any]:
    words = " ".join(config.command)
    return {
        "metadata": {},
        "status": "Failure",
        "message": "command terminated with non-zero exit code: error executing command "
        f"[{words}], exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _failure(message: str) -> dict[str, Any]:
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"error executing command in container: {message}",
        "reason": "InternalError",
        "code": 500,
    }


def _resize(session: Session, payload: bytes) -> None:
    try:
        size = json.loads(payload)
        width, height = size["Width"], size["Height"]
    except (ValueError, TypeError, KeyError):
        return
    if isinstance(width, int) and isinstance(height, int):
        session.resize(min(max(width, 0), 0xFFFF), min(max(height, 0), 0xFFFF))
