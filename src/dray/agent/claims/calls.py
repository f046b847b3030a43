"""Calls to drivers: all at once, one per driver, each within its time.

Whatever goes wrong with a call becomes failures of the claims in it; nothing is raised. Which
instance of a driver is called is decided when the call is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeVar

from dray.agent.claims.claim_info import PREPARE, UNPREPARE, ClaimName
from dray.agent.claims.failures import ClaimFailure, ErrorClass
from dray.agent.claims.responses import (
    ERROR_CHARACTERS_MAX,
    Answer,
    read_prepared,
    read_unprepared,
)
from dray.agent.plugins.plugin import Plugins, PluginService
from dray.clock import Clock, within
from dray.errors import (
    DeviceFailed,
    DrayError,
    InvalidConfig,
    PermanentError,
    TransientError,
    TransportError,
    shorten,
)
from dray.proto.dra_v1_pb2 import (
    Claim,
    NodePrepareResourcesRequest,
    NodeUnprepareResourcesRequest,
)

__all__ = ["Batches", "DriverCalls", "not_registered"]

# The claims to name in the call to each driver.
Batches = Mapping[str, Sequence[ClaimName]]

# What gRPC says, and so events of a kubelet.
_DEADLINE_EXCEEDED: Final = "rpc error: code = DeadlineExceeded desc = context deadline exceeded"

# The more specific first.
_CLASSES: Final = (
    (InvalidConfig, ErrorClass.INVALID_CONFIG),
    (DeviceFailed, ErrorClass.DEVICE_FAILED),
    (PermanentError, ErrorClass.PERMANENT),
    (TransientError, ErrorClass.TRANSIENT),
    (TransportError, ErrorClass.TRANSIENT),
)

_R = TypeVar("_R")


class DriverCalls:
    """Has drivers prepare and unprepare."""

    def __init__(self, plugins: Plugins, clock: Clock, *, timeout_seconds: float) -> None:
        self._plugins = plugins
        self._clock = clock
        self._timeout_seconds = timeout_seconds

    def is_registered(self, driver: str) -> bool:
        return self._plugins.find(driver) is not None

    async def prepare(self, batches: Batches) -> Sequence[Answer]:
        """Prepare these; the answers are in the order of the drivers given."""
        return await _all_at_once(self._prepare, batches)

    async def unprepare(self, batches: Batches) -> Sequence[Answer]:
        """Unprepare these; the answers are in the order of the drivers given."""
        return await _all_at_once(self._unprepare, batches)

    async def _prepare(self, driver: str, claims: Sequence[ClaimName]) -> Answer:
        request = NodePrepareResourcesRequest(claims=_messages(claims))
        answered = await self._call(
            PREPARE, driver, claims, lambda service: service.prepare(request)
        )
        if isinstance(answered, Answer):
            return answered
        return read_prepared(driver, claims, answered)

    async def _unprepare(self, driver: str, claims: Sequence[ClaimName]) -> Answer:
        request = NodeUnprepareResourcesRequest(claims=_messages(claims))
        answered = await self._call(
            UNPREPARE, driver, claims, lambda service: service.unprepare(request)
        )
        if isinstance(answered, Answer):
            return answered
        return read_unprepared(driver, claims, answered)

    async def _call(
        self,
        operation: str,
        driver: str,
        claims: Sequence[ClaimName],
        call: Callable[[PluginService], Awaitable[_R]],
    ) -> _R | Answer:
        plugin = self._plugins.find(driver)
        if plugin is None:
            return Answer(driver, failures=not_registered(driver, claims))
        try:
            return await within(self._clock, self._timeout_seconds, call(plugin.service))
        except TimeoutError:
            text, error_class = _DEADLINE_EXCEEDED, ErrorClass.TRANSIENT
        except DrayError as error:
            text = shorten(str(error), characters_max=ERROR_CHARACTERS_MAX)
            error_class = _class_of(error)
        message = f"{operation}: {text}"
        return Answer(
            driver,
            failures=tuple(ClaimFailure(claim, message, driver, error_class) for claim in claims),
        )


def not_registered(driver: str, claims: Sequence[ClaimName]) -> tuple[ClaimFailure, ...]:
    """The failures of claims whose driver is not there; it may come."""
    message = f"DRA driver {driver} is not registered"
    return tuple(ClaimFailure(claim, message, driver, ErrorClass.TRANSIENT) for claim in claims)


async def _all_at_once(
    call: Callable[[str, Sequence[ClaimName]], Awaitable[Answer]], batches: Batches
) -> Sequence[Answer]:
    async def answer(driver: str, claims: Sequence[ClaimName]) -> Answer:
        return await call(driver, claims)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(answer(driver, claims)) for driver, claims in batches.items()]
    return [task.result() for task in tasks]


def _messages(claims: Sequence[ClaimName]) -> list[Claim]:
    return [Claim(namespace=claim.namespace, uid=claim.uid, name=claim.name) for claim in claims]


def _class_of(error: Exception) -> ErrorClass:
    return next((found for kind, found in _CLASSES if isinstance(error, kind)), ErrorClass.UNKNOWN)
