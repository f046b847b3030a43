"""How a socket in the registration directory becomes a registered driver.

The agent is the client: it asks who is there, checks the answer, registers, and says how it went.
Whatever fails is tried again, later each time, for as long as it is the same socket; one that was
re-created starts afresh. A socket at which nobody listens, as a killed driver leaves it behind, is
recognised at once and costs next to nothing, so it is tried every few seconds: it may be one that
is bound and about to listen. Texts are upstream's, whose counterpart is kubelet
pluginmanager/operationexecutor.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

import grpc
from google.protobuf.message import DecodeError

from dray.agent.plugins.failures import status_text
from dray.agent.plugins.instance import Instance
from dray.agent.plugins.roster import EndpointTaken
from dray.agent.plugins.services import (
    Services,
    ServicesUnusable,
    check_driver_name,
    check_endpoint,
    choose_services,
    target,
)
from dray.agent.plugins.sockets import RegistrationSocket, connect_problem
from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.errors import DrayError, ParseError
from dray.proto.registration_v1_pb2 import InfoRequest, PluginInfo, RegistrationStatus
from dray.texts import shorten

__all__ = ["Registrar", "Registration", "RegistrationFailed"]

PLUGIN_TYPE: Final = "DRAPlugin"

DIAL_TIMEOUT_SECONDS: Final = 10.0
INFO_TIMEOUT_SECONDS: Final = 1.0
NOTIFY_TIMEOUT_SECONDS: Final = 5.0

RETRY_SECONDS_MIN: Final = 0.5
RETRY_SECONDS_MAX: Final = 122.0
# Where nobody listens, an attempt is one system call.
REFUSED_RETRY_SECONDS_MIN: Final = 0.25
REFUSED_RETRY_SECONDS_MAX: Final = 5.0

# A socket outlives a process that was killed; usually its heir is about to listen at it.
REFUSED_SECONDS_MAX: Final = 5.0

# A name, a path and four short words. More is not read.
ANSWER_BYTES_MAX: Final = 64 * 1024
# What is told to a driver about what it said, and written into the log.
REASON_CHARACTERS_MAX: Final = 1024

_SERVICE: Final = "/pluginregistration.Registration/"

_OPTIONS: Final = (
    ("grpc.max_receive_message_length", ANSWER_BYTES_MAX),
    ("grpc.min_reconnect_backoff_ms", int(DIAL_TIMEOUT_SECONDS * 1000)),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
)

_log = logging.getLogger(__name__)


class RegistrationFailed(DrayError):
    """A socket's driver could not be registered this time. `refused`: nobody listens there."""

    def __init__(self, reason: str, *, refused: bool = False) -> None:
        # Names of files need not be text; what is told and logged must be.
        text = reason.encode(errors="backslashreplace").decode()
        super().__init__(
            f"RegisterPlugin error -- {shorten(text, characters_max=REASON_CHARACTERS_MAX)}"
        )
        self.refused = refused


class Registrar(Protocol):
    """Who keeps what is registered."""

    def register(
        self, source: RegistrationSocket, driver: str, endpoint: str, services: Services
    ) -> Instance:
        """Take the driver on; EndpointTaken if it has this endpoint already."""
        ...

    def deregister(self, instance: Instance) -> None: ...


class Registration:
    """The registration of the driver behind one socket."""

    def __init__(
        self, source: RegistrationSocket, registrar: Registrar, *, clock: Clock, entropy: Entropy
    ) -> None:
        self._source = source
        self._registrar = registrar
        self._clock = clock
        self._entropy = entropy
        self._hurried = asyncio.Event()
        self._last_reason = ""
        self._refused_at: float | None = None  # first, since somebody was there

    def hurry(self) -> None:
        """Something changed that may have been in the way: do not wait for the next attempt."""
        self._hurried.set()

    async def run(self) -> Instance:
        """Try until it is registered."""
        retry = _Delays(RETRY_SECONDS_MIN, RETRY_SECONDS_MAX)
        refused_retry = _Delays(REFUSED_RETRY_SECONDS_MIN, REFUSED_RETRY_SECONDS_MAX)
        while True:
            self._hurried.clear()
            try:
                return await self._attempt()
            except RegistrationFailed as error:
                self._report(error)
                seconds = (refused_retry if error.refused else retry).next()
            # Sockets that fail together need not be tried together.
            seconds *= self._entropy.uniform(0.9, 1.0)
            with suppress(TimeoutError):
                await within(self._clock, seconds, self._hurried.wait())

    async def _attempt(self) -> Instance:
        path = self._source.path
        channel = grpc.aio.insecure_channel(target(path), options=_OPTIONS)
        try:
            try:
                await within(self._clock, DIAL_TIMEOUT_SECONDS, _dial(channel, path))
            except TimeoutError as error:
                raise _dial_failed(path, "context deadline exceeded") from error
            info = await self._ask(channel)
            return await self._answer(channel, info)
        finally:
            await channel.close()

    async def _ask(self, channel: grpc.aio.Channel) -> PluginInfo:
        asking = f"failed to get plugin info using RPC GetInfo at socket {self._source.path}, err: "
        call: grpc.aio.UnaryUnaryMultiCallable[InfoRequest, bytes] = channel.unary_unary(
            _SERVICE + "GetInfo", request_serializer=InfoRequest.SerializeToString
        )
        try:
            answer = await within(
                self._clock,
                INFO_TIMEOUT_SECONDS,
                call(InfoRequest(), timeout=INFO_TIMEOUT_SECONDS),
            )
            return PluginInfo.FromString(answer)
        except grpc.aio.AioRpcError as error:
            raise RegistrationFailed(asking + status_text(error)) from error
        except TimeoutError as error:
            raise RegistrationFailed(asking + _DEADLINE) from error
        except DecodeError as error:
            raise RegistrationFailed(f"{asking}the answer cannot be read: {error}") from error

    async def _answer(self, channel: grpc.aio.Channel, info: PluginInfo) -> Instance:
        path = self._source.path
        if info.type != PLUGIN_TYPE:
            raise await self._refuse(
                channel, f"no handler registered for plugin type: {info.type} at socket {path}"
            )
        endpoint = info.endpoint or path
        try:
            services = _check(info.name, endpoint, info.supported_versions)
        except ParseError as error:
            raise await self._refuse(
                channel, f"plugin validation failed with err: {error}"
            ) from error
        try:
            instance = self._registrar.register(self._source, info.name, endpoint, services)
        except EndpointTaken as error:
            raise await self._refuse(
                channel, f"plugin registration failed with err: {error.message}"
            ) from error
        try:
            await self._notify(channel, RegistrationStatus(plugin_registered=True))
        except RegistrationFailed as error:
            self._registrar.deregister(instance)
            raise RegistrationFailed(
                f"failed to send registration status at socket {path}, err: {error}"
            ) from error
        return instance

    async def _refuse(self, channel: grpc.aio.Channel, reason: str) -> RegistrationFailed:
        """Tell the driver why not. It may be unable to hear it; the reason stays the same."""
        failure = RegistrationFailed(reason)
        with suppress(RegistrationFailed):
            await self._notify(
                channel, RegistrationStatus(plugin_registered=False, error=str(failure))
            )
        return failure

    async def _notify(self, channel: grpc.aio.Channel, status: RegistrationStatus) -> None:
        call: grpc.aio.UnaryUnaryMultiCallable[RegistrationStatus, bytes] = channel.unary_unary(
            _SERVICE + "NotifyRegistrationStatus",
            request_serializer=RegistrationStatus.SerializeToString,
        )
        try:
            await within(
                self._clock, NOTIFY_TIMEOUT_SECONDS, call(status, timeout=NOTIFY_TIMEOUT_SECONDS)
            )
        except grpc.aio.AioRpcError as error:
            raise RegistrationFailed(status_text(error)) from error
        except TimeoutError as error:
            raise RegistrationFailed(_DEADLINE) from error

    def _report(self, failure: RegistrationFailed) -> None:
        """Once for each thing that is wrong, however often it is tried."""
        if not failure.refused:
            self._refused_at = None
        elif self._is_early():
            _log.debug("%s", failure)
            return
        reason = str(failure)
        level = logging.DEBUG if reason == self._last_reason else logging.WARNING
        self._last_reason = reason
        _log.log(level, "%s", reason)

    def _is_early(self) -> bool:
        """Whether whoever is to listen may still be starting."""
        now = self._clock.monotonic()
        if self._refused_at is None:
            self._refused_at = now
        return now - self._refused_at < REFUSED_SECONDS_MAX


_DEADLINE: Final = "rpc error: code = DeadlineExceeded desc = context deadline exceeded"


class _Delays:
    def __init__(self, seconds: float, seconds_max: float) -> None:
        self._seconds = seconds
        self._seconds_max = seconds_max

    def next(self) -> float:
        seconds = self._seconds
        self._seconds = min(seconds * 2, self._seconds_max)
        return seconds


def _check(driver: str, endpoint: str, offered: Sequence[str]) -> Services:
    check_driver_name(driver)
    check_endpoint(endpoint)
    try:
        return choose_services(offered)
    except ServicesUnusable as error:
        raise ServicesUnusable(
            f"invalid supported gRPC versions of DRA driver plugin {driver}"
            f" at endpoint {endpoint}: {error}"
        ) from error


async def _dial(channel: grpc.aio.Channel, path: str) -> None:
    """Wait until somebody speaks gRPC at the other end; fail as soon as it is clear that not."""
    state = channel.get_state(try_to_connect=True)
    while state is not grpc.ChannelConnectivity.READY:
        if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
            raise _why_not(path)
        await channel.wait_for_state_change(state)
        state = channel.get_state(try_to_connect=True)


def _why_not(path: str) -> RegistrationFailed:
    """Why nobody was reached: gRPC tells no reasons apart, a connection of our own does."""
    problem = connect_problem(path)
    if problem is None:
        return _dial_failed(path, "whoever listens there does not speak gRPC")
    if isinstance(problem, ConnectionRefusedError):
        return _dial_failed(path, "connection refused: nobody listens", refused=True)
    return _dial_failed(path, problem.strerror or str(problem))


def _dial_failed(path: str, reason: str, *, refused: bool = False) -> RegistrationFailed:
    return RegistrationFailed(f"dial failed at socket {path}, err: {reason}", refused=refused)
