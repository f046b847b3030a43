"""The gRPC connection to a container runtime.

Calls have deadlines by the Clock. One that finds no runtime waits a little for it: runtimes are
restarted under running pods, and are back in a second or two. Answers are decoded here, not by
gRPC, which would make None of one that is not a message. Upstream counterpart: cri-client
pkg/{remote_runtime,remote_image}.go.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Final, TypeVar
from urllib.parse import quote as percent_encode

import grpc
from google.protobuf.message import DecodeError, Message

from dray.clock import Clock, within
from dray.errors import ConfigurationError, DrayError
from dray.texts import shorten

__all__ = ["CallFailed", "Connection"]

RUNTIME_SERVICE: Final = "/runtime.v1.RuntimeService/"
IMAGE_SERVICE: Final = "/runtime.v1.ImageService/"
_IMAGE_METHODS: Final = frozenset({"ImageStatus", "PullImage"})

# As the kubelet's: a list of a thousand containers with their labels is a few megabytes, and an
# answer of ExecSync may be 32.
RESPONSE_BYTES_MAX: Final = 40 * 1024 * 1024

# How long a call waits for a runtime that is not there. A restart takes a second or two.
CONNECT_SECONDS: Final = 5.0
# What containerd says until it has found its containers again, and how often to ask whether it has.
STARTING: Final = "server is not initialized yet"
STARTING_SECONDS: Final = 0.2
RECONNECT_SECONDS_MIN: Final = 0.25
RECONNECT_SECONDS_MAX: Final = 2.0

# What is left of an error's text: runtimes quote whole commands and configurations.
MESSAGE_CHARACTERS_MAX: Final = 4096

_NEVER_MS: Final = 2**31 - 1
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", RESPONSE_BYTES_MAX),
    ("grpc.max_send_message_length", -1),
    ("grpc.client_idle_timeout_ms", _NEVER_MS),
    ("grpc.initial_reconnect_backoff_ms", int(RECONNECT_SECONDS_MIN * 1000)),
    ("grpc.max_reconnect_backoff_ms", int(RECONNECT_SECONDS_MAX * 1000)),
    ("grpc.min_reconnect_backoff_ms", int(CONNECT_SECONDS * 1000)),
    ("grpc.use_local_subchannel_pool", 1),
    # The runtime is on this machine, whatever proxies the environment names.
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
)

_Answer = TypeVar("_Answer", bound=Message)


class CallFailed(DrayError):
    """A call was refused, or never answered; `code` says which."""

    def __init__(self, message: str, code: grpc.StatusCode) -> None:
        super().__init__(message)
        self.message = message
        self.code = code

    @property
    def is_unreachable(self) -> bool:
        """Whether nobody answered, so that nothing is known of what was asked for."""
        return self.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


class Connection:
    """Calls of CRI's two services at one endpoint: `unix:///path`, or a path."""

    def __init__(self, endpoint: str, *, clock: Clock) -> None:
        path = endpoint.removeprefix("unix://")
        if not path.startswith("/"):
            raise ConfigurationError(
                f"{endpoint!r} is no endpoint of a container runtime: it should be unix:///path"
            )
        self.endpoint = f"unix://{path}"
        self._target = f"unix:{percent_encode(os.fsencode(path))}"
        self._clock = clock
        self._closed = False
        # Made by the first who needs it, so that a connection never used needs no closing.
        self._opened: grpc.aio.Channel | None = None

    async def call(
        self, method: str, request: Message, answer: type[_Answer], *, seconds: float
    ) -> _Answer:
        """The answer to one call. Raises CallFailed."""
        patient_until = self._clock.monotonic() + CONNECT_SECONDS
        while True:
            try:
                return await self._call(method, request, answer, seconds)
            except CallFailed as failure:
                starting = STARTING in failure.message
                if not starting or self._clock.monotonic() >= patient_until:
                    raise
            # It answers, but remembers nothing yet; whatever was asked, nothing was done.
            await self._clock.sleep(STARTING_SECONDS)

    async def stream(
        self, method: str, request: Message, answer: type[_Answer]
    ) -> AsyncIterator[_Answer]:
        """Answers for as long as there are any. Raises CallFailed, also when it is closed."""
        channel = await self._ready_channel()
        invoke: grpc.aio.UnaryStreamMultiCallable[Message, bytes] = channel.unary_stream(
            f"{RUNTIME_SERVICE}{method}", request_serializer=_serialize
        )
        stream = invoke(request)
        try:
            async for data in stream:
                yield self._decode(answer, data)
        except grpc.aio.AioRpcError as error:
            raise self._translate(error) from error
        except asyncio.CancelledError:
            self._check_closed()
            raise
        finally:
            stream.cancel()

    async def close(self) -> None:
        """Hang up; calls under way fail."""
        self._closed = True
        if self._opened is not None:
            await self._opened.close()

    # Private --------------------------------------------------------------------------------------

    async def _call(
        self, method: str, request: Message, answer: type[_Answer], seconds: float
    ) -> _Answer:
        channel = await self._ready_channel()
        service = IMAGE_SERVICE if method in _IMAGE_METHODS else RUNTIME_SERVICE
        invoke: grpc.aio.UnaryUnaryMultiCallable[Message, bytes] = channel.unary_unary(
            f"{service}{method}", request_serializer=_serialize
        )

        async def answered() -> bytes:
            try:
                return await invoke(request)
            except asyncio.CancelledError:
                self._check_closed()
                raise

        try:
            return self._decode(answer, await within(self._clock, seconds, answered()))
        except TimeoutError:
            raise CallFailed(
                f"{method} was not answered within {seconds:g} s",
                grpc.StatusCode.DEADLINE_EXCEEDED,
            ) from None
        except grpc.aio.AioRpcError as error:
            raise self._translate(error) from error

    async def _ready_channel(self) -> grpc.aio.Channel:
        if self._closed:
            raise self._gone()
        if self._opened is None:
            self._opened = grpc.aio.insecure_channel(self._target, options=_OPTIONS)
        if self._opened.get_state() is not grpc.ChannelConnectivity.READY:
            try:
                await within(self._clock, CONNECT_SECONDS, self._connected(self._opened))
            except TimeoutError:
                raise CallFailed(
                    f"no container runtime answers at {self.endpoint}",
                    grpc.StatusCode.UNAVAILABLE,
                ) from None
        return self._opened

    async def _connected(self, channel: grpc.aio.Channel) -> None:
        state = channel.get_state(try_to_connect=True)
        while state is not grpc.ChannelConnectivity.READY:
            if self._closed or state is grpc.ChannelConnectivity.SHUTDOWN:
                raise self._gone()
            await channel.wait_for_state_change(state)
            state = channel.get_state(try_to_connect=True)

    def _check_closed(self) -> None:
        """Closing a channel cancels its calls, and only they: their callers were not cancelled."""
        task = asyncio.current_task()
        if self._closed and task is not None and not task.cancelling():
            raise self._gone()

    def _gone(self) -> CallFailed:
        return CallFailed(
            f"the connection to {self.endpoint} was closed", grpc.StatusCode.UNAVAILABLE
        )

    def _translate(self, error: grpc.aio.AioRpcError) -> CallFailed:
        message = shorten(
            error.details() or error.code().name, characters_max=MESSAGE_CHARACTERS_MAX
        )
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            message = f"the container runtime at {self.endpoint} is not there: {message}"
        return CallFailed(message, error.code())

    def _decode(self, kind: type[_Answer], data: bytes) -> _Answer:
        message = kind()
        try:
            message.ParseFromString(data)
        except DecodeError as error:
            raise CallFailed(
                f"{self.endpoint} answers with what is no {kind.__name__}: {error}",
                grpc.StatusCode.INTERNAL,
            ) from error
        return message


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()
