"""The gRPC connection to one instance of a driver.

A channel to the socket of the endpoint, and a watch on its state: whether somebody is at the other
end is known without a call, and known to have changed within milliseconds. A lost connection is
made anew for as long as the instance is registered; gRPC would wait up to two minutes between
tries, here it is two seconds, because a unix socket answers at once or not at all. The channel
never goes idle. Upstream counterpart: kubelet cm/dra/plugin/{dra_plugin,dra_plugin_manager}.go.

Answers are decoded here, not by gRPC, which would make None of one that is not a message.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from dray.agent.plugins.failures import RefusedCall, gone, translate, unreadable
from dray.agent.plugins.plugin import HealthUnsupported
from dray.agent.plugins.services import Services, target
from dray.proto.dra_v1_pb2 import (
    NodePrepareResourcesRequest,
    NodePrepareResourcesResponse,
    NodeUnprepareResourcesRequest,
    NodeUnprepareResourcesResponse,
)
from dray.proto.health_v1_pb2 import NodeWatchResourcesRequest, NodeWatchResourcesResponse

__all__ = ["CALL_TIMEOUT_SECONDS", "Connection"]

# As the kubelet's, which is half of the shortest time between two of its tries.
CALL_TIMEOUT_SECONDS: Final = 45.0

# The largest honest answer is a health report on 16,384 devices, each with a text of up to a
# kilobyte. Whoever sends more than this gets an error, not this process' memory.
RESPONSE_BYTES_MAX: Final = 24 * 1024 * 1024

RECONNECT_SECONDS_MIN: Final = 0.5
RECONNECT_SECONDS_MAX: Final = 2.0
# How long somebody who accepts may take to speak HTTP/2.
CONNECT_TIMEOUT_SECONDS: Final = 5.0

# Only for a peer whose kernel keeps the socket while nobody reads it, during a stream: death closes
# a unix socket, and calls have deadlines. Go's servers hang up on clients that ping more often than
# every five minutes, or outside of calls.
KEEPALIVE_SECONDS: Final = 360
KEEPALIVE_TIMEOUT_SECONDS: Final = 20

_NEVER_MS: Final = 2**31 - 1

_OPTIONS: Final = (
    ("grpc.max_receive_message_length", RESPONSE_BYTES_MAX),
    ("grpc.max_send_message_length", -1),
    ("grpc.client_idle_timeout_ms", _NEVER_MS),
    ("grpc.initial_reconnect_backoff_ms", int(RECONNECT_SECONDS_MIN * 1000)),
    ("grpc.max_reconnect_backoff_ms", int(RECONNECT_SECONDS_MAX * 1000)),
    ("grpc.min_reconnect_backoff_ms", int(CONNECT_TIMEOUT_SECONDS * 1000)),
    ("grpc.keepalive_time_ms", KEEPALIVE_SECONDS * 1000),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_SECONDS * 1000),
    ("grpc.keepalive_permit_without_calls", 0),
    # An instance's failures to connect must not count against another's.
    ("grpc.use_local_subchannel_pool", 1),
    # Everything is on this machine, whatever proxies the environment names.
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
)

_Answer = TypeVar("_Answer", bound=Message)


class Connection:
    """A PluginService over gRPC."""

    def __init__(
        self,
        driver: str,
        endpoint: str,
        services: Services,
        *,
        call_timeout_seconds: float = CALL_TIMEOUT_SECONDS,
    ) -> None:
        self._driver = driver
        self._services = services
        self._call_timeout_seconds = call_timeout_seconds
        self._closed = False
        self._target = target(endpoint)
        # Made by the first who needs it, so that a connection never used needs no closing.
        self._opened: grpc.aio.Channel | None = None

    async def prepare(self, request: NodePrepareResourcesRequest) -> NodePrepareResourcesResponse:
        return await self._call(
            self._services.prepare_method, request, NodePrepareResourcesResponse
        )

    async def unprepare(
        self, request: NodeUnprepareResourcesRequest
    ) -> NodeUnprepareResourcesResponse:
        return await self._call(
            self._services.unprepare_method, request, NodeUnprepareResourcesResponse
        )

    async def watch_health(self) -> AsyncIterator[NodeWatchResourcesResponse]:
        watch: grpc.aio.UnaryStreamMultiCallable[Message, bytes] = self._channel().unary_stream(
            self._services.health_method, request_serializer=_serialize
        )
        stream = watch(NodeWatchResourcesRequest())
        try:
            async for answer in stream:
                yield self._decode(NodeWatchResourcesResponse, answer)
        except grpc.aio.AioRpcError as error:
            failure = translate(error, self._driver)
            if isinstance(failure, RefusedCall) and failure.code == "Unimplemented":
                raise HealthUnsupported(failure.message, driver=self._driver) from error
            raise failure from error
        except asyncio.CancelledError:
            raise self._cancelled() from None
        finally:
            stream.cancel()

    async def watch(self, report: Callable[[bool], None]) -> None:
        """Connect, stay connected, and tell whether it is so on every change, until cancelled."""
        channel = self._channel()
        state = channel.get_state(try_to_connect=True)
        connected = False
        while state is not grpc.ChannelConnectivity.SHUTDOWN:
            ready = state is grpc.ChannelConnectivity.READY
            if ready and connected:
                # It was lost and found again before anybody looked. Calls were lost with it.
                report(False)
            if ready or connected:
                report(ready)
            connected = ready
            await channel.wait_for_state_change(state)
            state = channel.get_state(try_to_connect=True)

    async def close(self) -> None:
        """Hang up. Calls under way end with TransportError; `watch` must have ended before."""
        self._closed = True
        if self._opened is not None:
            await self._opened.close()

    def _channel(self) -> grpc.aio.Channel:
        if self._closed:
            raise gone(self._driver)
        if self._opened is None:
            self._opened = grpc.aio.insecure_channel(self._target, options=_OPTIONS)
        return self._opened

    async def _call(self, method: str, request: Message, answer: type[_Answer]) -> _Answer:
        call: grpc.aio.UnaryUnaryMultiCallable[Message, bytes] = self._channel().unary_unary(
            method, request_serializer=_serialize
        )
        try:
            return self._decode(answer, await call(request, timeout=self._call_timeout_seconds))
        except grpc.aio.AioRpcError as error:
            raise translate(error, self._driver) from error
        except asyncio.CancelledError:
            raise self._cancelled() from None

    def _cancelled(self) -> BaseException:
        """Closing a channel cancels its calls, and only they: their callers were not cancelled."""
        task = asyncio.current_task()
        if self._closed and task is not None and not task.cancelling():
            return gone(self._driver)
        return asyncio.CancelledError()

    def _decode(self, kind: type[_Answer], answer: bytes) -> _Answer:
        message = kind()
        try:
            message.ParseFromString(answer)
        except DecodeError as error:
            raise unreadable(self._driver, str(error)) from error
        return message


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()
