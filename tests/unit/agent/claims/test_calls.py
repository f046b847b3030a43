"""Calls to drivers end, and never raise."""

from __future__ import annotations

import asyncio

import pytest

from dray.agent.claims.calls import DriverCalls, not_registered
from dray.agent.claims.claim_info import ClaimName
from dray.agent.claims.failures import ErrorClass
from dray.errors import (
    DeviceFailed,
    DriverError,
    InvalidConfig,
    PermanentError,
    TransientError,
    TransportError,
)
from dray.testing import FakeClock
from tests.unit.agent.claims.world import GPU, NIC, FakeDriver, FakePlugins

A = ClaimName("ml", "a", "ua")


@pytest.mark.parametrize(
    ("error", "error_class"),
    [
        (TransportError("x"), ErrorClass.TRANSIENT),
        (TimeoutError("x"), ErrorClass.TRANSIENT),
        (TransientError("x", driver=GPU), ErrorClass.TRANSIENT),
        (DriverError("x", driver=GPU), ErrorClass.UNKNOWN),
        (PermanentError("x", driver=GPU), ErrorClass.PERMANENT),
        (InvalidConfig("x", driver=GPU), ErrorClass.INVALID_CONFIG),
        (DeviceFailed("x", driver=GPU), ErrorClass.DEVICE_FAILED),
    ],
)
def test_what_a_call_raises_decides_the_class(error: Exception, error_class: ErrorClass) -> None:
    def fault(operation: str) -> None:
        raise error

    calls = DriverCalls(FakePlugins(FakeDriver(fault=fault)), FakeClock(), timeout_seconds=1)
    [answer] = asyncio.run(calls.prepare({GPU: [A]}))
    assert [failure.error_class for failure in answer.failures] == [error_class]
    assert not answer.devices


def test_one_driver_that_hangs_does_not_hold_up_the_answer_of_another() -> None:
    async def scenario() -> None:
        hung, quick = FakeDriver(GPU, gate=asyncio.Event()), FakeDriver(NIC)
        clock = FakeClock()
        calls = DriverCalls(FakePlugins(hung, quick), clock, timeout_seconds=45)
        task = asyncio.create_task(calls.prepare({GPU: [A], NIC: [A]}))
        await hung.entered.wait()
        await quick.entered.wait()
        clock.advance(45)
        first, second = await task
        assert first.failures[0].message.startswith("NodePrepareResources: rpc error: code = Dead")
        assert "ua" in second.devices

    asyncio.run(scenario())


def test_a_driver_that_is_not_there_fails_its_claims_only() -> None:
    calls = DriverCalls(FakePlugins(FakeDriver(NIC)), FakeClock(), timeout_seconds=1)
    missing, there = asyncio.run(calls.unprepare({GPU: [A], NIC: [A]}))
    assert missing.failures == not_registered(GPU, [A])
    assert there.devices == {"ua": ()}


def test_nobody_to_call_is_no_answer() -> None:
    calls = DriverCalls(FakePlugins(), FakeClock(), timeout_seconds=1)
    assert asyncio.run(calls.prepare({})) == []
