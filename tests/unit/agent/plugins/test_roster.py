"""Who is called, and who hears of what."""

from __future__ import annotations

import pytest

from dray.agent.plugins.instance import Instance
from dray.agent.plugins.plugin import Change, PluginChange, PluginService
from dray.agent.plugins.roster import EndpointTaken, Roster
from dray.agent.plugins.services import Services
from dray.testing import FakeClock
from tests.unit.agent.plugins.in_process import InProcess

DRIVER = "gpu.example.com"


def instance(
    roster: Roster,
    number: int,
    *,
    driver: str = DRIVER,
    endpoint: str = "",
    link: PluginService | None = None,
) -> Instance:
    return Instance(
        driver,
        endpoint or f"/{number}.sock",
        link or InProcess(),
        Services("v1.DRAPlugin"),
        roster.announce,
        number=number,
        clock=FakeClock(),
    )


def test_instances_are_kept_in_the_order_they_came_and_drivers_by_name() -> None:
    roster = Roster()
    first, second = instance(roster, 1), instance(roster, 2)
    roster.add(first)
    roster.add(second)
    roster.add(instance(roster, 3, driver="a.example.com"))
    assert roster.instances(DRIVER) == (first, second)
    assert roster.drivers() == ("a.example.com", DRIVER)
    assert roster.instances("nobody.example.com") == ()
    assert roster.find("nobody.example.com") is None


def test_the_newest_that_is_connected_is_called_else_the_newest() -> None:
    roster = Roster()
    first, second, third = (instance(roster, number) for number in (1, 2, 3))
    for each in (first, second, third):
        roster.add(each)
    assert roster.find(DRIVER) is third
    first.set_connected(True)
    assert roster.find(DRIVER) is first
    second.set_connected(True)
    assert roster.find(DRIVER) is second
    second.set_connected(False)
    assert roster.find(DRIVER) is first


def test_an_endpoint_belongs_to_one_instance_of_a_driver() -> None:
    roster = Roster()
    first = instance(roster, 1, endpoint="/dra.sock")
    roster.add(first)
    with pytest.raises(EndpointTaken, match=r"endpoint /dra\.sock already registered for DRA"):
        roster.add(instance(roster, 2, endpoint="/dra.sock"))
    roster.add(instance(roster, 3, driver="other.example.com", endpoint="/dra.sock"))
    roster.remove(first)
    roster.add(instance(roster, 4, endpoint="/dra.sock"))
    assert len(roster.instances(DRIVER)) == 1


def test_changes_are_in_effect_when_heard_and_heard_in_order() -> None:
    roster = Roster()
    heard: list[tuple[Change, bool, int]] = []

    def listen(change: PluginChange) -> None:
        heard.append(
            (change.change, change.plugin.connected, len(roster.instances(change.plugin.driver)))
        )

    roster.listen(listen)
    only = instance(roster, 1)
    only.set_connected(True)  # nobody knows it yet
    only.set_connected(False)
    roster.add(only)
    only.set_connected(True)
    only.set_connected(True)
    only.set_connected(False)
    only.retire()
    roster.remove(only)
    roster.remove(only)
    only.set_connected(True)
    assert heard == [
        (Change.REGISTERED, False, 1),
        (Change.CONNECTED, True, 1),
        (Change.DISCONNECTED, False, 1),
        (Change.DEREGISTERED, False, 0),
    ]
    assert roster.drivers() == ()
