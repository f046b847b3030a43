"""Drivers come, crash, hang and leave; the manager always knows whom to call."""

from __future__ import annotations

from pathlib import Path

from dray.agent.plugins.plugin import Change, Plugins
from dray.proto.dra_v1_pb2 import Claim, NodePrepareResourcesRequest
from tests.unit.agent.plugins.drivers import DRIVER, TestDriver, running, scenario

REQUEST = NodePrepareResourcesRequest(claims=[Claim(namespace="default", name="c", uid="1")])


def test_a_driver_that_appears_is_registered_connected_and_told() -> None:
    async def body(root: Path) -> None:
        driver = TestDriver(root)
        async with running(root) as (manager, changes):
            plugins: Plugins = manager
            assert plugins.find(DRIVER) is None
            await driver.start()
            change = await changes.until(Change.CONNECTED)
            assert (await driver.statuses.get()).plugin_registered
            plugin = plugins.find(DRIVER)
            assert plugin is change.plugin
            assert plugin.connected
            assert plugin.offers_health
            answer = await plugin.service.prepare(REQUEST)
            assert list(answer.claims) == ["1"]
            await driver.stop()
            await changes.until(Change.DEREGISTERED)
            assert plugins.drivers() == ()

    scenario(body)
