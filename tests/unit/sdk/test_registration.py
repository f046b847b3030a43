"""What a node is told of a driver, and what it says."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.proto import registration_v1_pb2 as wire
from dray.sdk._registration import Registration, RegistrationStatus
from dray.testing import FakeClock
from tests.unit.sdk.turns import settle


class Context:
    """Ends a call as gRPC's does."""

    async def abort(self, code: object, details: str) -> None:
        raise ConnectionAbortedError(f"{code}: {details}")


def registration(heard: list[RegistrationStatus]) -> Registration:
    return Registration(
        driver="d.example.com",
        endpoint=Path("/plugins/d/dra.sock"),
        services=("v1.DRAPlugin",),
        clock=FakeClock(),
        on_status=heard.append,
    )


def test_a_node_learns_who_where_and_what() -> None:
    async def scenario() -> None:
        made = registration([])
        assert made.asked_at is None
        info = await made.GetInfo(wire.InfoRequest(), Context())
        assert info == wire.PluginInfo(
            type="DRAPlugin",
            name="d.example.com",
            endpoint="/plugins/d/dra.sock",
            supported_versions=["v1.DRAPlugin"],
        )
        assert made.asked_at is not None

    asyncio.run(scenario())


def test_acceptance_and_refusal_are_kept_and_passed_on() -> None:
    async def scenario() -> None:
        heard: list[RegistrationStatus] = []
        made = registration(heard)
        waiting = asyncio.create_task(made.registered())
        with pytest.raises(ConnectionAbortedError, match="failed registration process: no handler"):
            await made.NotifyRegistrationStatus(
                wire.RegistrationStatus(error="no handler"), Context()
            )
        await settle()
        assert not waiting.done()
        await made.NotifyRegistrationStatus(
            wire.RegistrationStatus(plugin_registered=True), Context()
        )
        await waiting
        assert [(each.registered, each.error) for each in heard] == [
            (False, "no handler"),
            (True, ""),
        ]
        assert made.status == heard[-1]

    asyncio.run(scenario())
