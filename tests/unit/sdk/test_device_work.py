"""What authors are told of devices, and what of it is remembered."""

from __future__ import annotations

import asyncio

from dray.api.quantity import Quantity
from dray.api.resource import Device
from dray.entropy import SeededEntropy
from dray.sdk import ClaimedDevice, PreparedDevice
from dray.sdk._calls import Calls
from dray.sdk._claims import results_of
from dray.sdk._device_work import DEVICES_AT_ONCE, DeviceWork
from dray.sdk._journal import DeviceKey, Entry, Journal, JournalDevice
from dray.sdk._steps import pass_by
from dray.testing import FakeClock
from tests.unit.sdk.drivers import DRIVER, Gpus, claim, config, result
from tests.unit.sdk.turns import settle


def work(driver: Gpus, journal: Journal) -> DeviceWork:
    return DeviceWork(
        driver,
        journal,
        calls=Calls(clock=FakeClock(), entropy=SeededEntropy(1)),
        published=lambda _, device: Device(name=device) if device == "gpu-0" else None,
        on_step=pass_by,
    )


def test_an_author_is_told_everything_about_a_claimed_device() -> None:
    async def scenario() -> None:
        one = claim(
            "uid-1",
            result(
                request="big/fast",
                share_id="s",
                admin_access=True,
                consumed_capacity={"memory": Quantity.parse("4Gi")},
            ),
            result("gpu-1"),
            configs=(config(1), config(2, requests=("other",)), config(3, requests=("big",))),
        )
        seen: list[ClaimedDevice] = []
        driver = Gpus()
        driver.script["gpu-0"] = driver.script["gpu-1"] = seen.append
        results = results_of(one, driver=DRIVER)
        key = DeviceKey("n1", "gpu-0", "s")
        journal = Journal(None, driver=DRIVER)
        await work(driver, journal).prepare(one, results, {key: "before"}, deadline=9.0)
        first, second = seen
        assert (first.driver, first.pool, first.device) == (DRIVER, "n1", "gpu-0")
        assert (first.request, first.requests) == ("big/fast", ("big",))
        assert (first.share_id, first.admin_access, first.state) == ("s", True, "before")
        assert str(first.consumed_capacity["memory"]) == "4Gi"
        assert [bytes(each.parameters) for each in first.config] == [b"1", b"3"]
        assert [bytes(each.parameters) for each in second.config] == [b"1"]
        assert first.published == Device(name="gpu-0")
        assert second.published is None
        assert first.siblings == (("n1", "gpu-0"), ("n1", "gpu-1"))
        assert first.claim is one

    asyncio.run(scenario())


def test_what_is_given_back_is_told_by_the_journal_alone() -> None:
    async def scenario() -> None:
        seen: list[PreparedDevice] = []
        driver = Gpus()
        driver.undo_script["gpu-0"] = seen.append
        held = JournalDevice(
            pool="n1", device="gpu-0", share_id="s", requests=("a",), state={"n": 1}
        )
        entry = Entry(uid="u", namespace="ns", name="c", devices=(held,))
        journal = Journal(None, driver=DRIVER)
        outcome = await work(driver, journal).unprepare(entry, held, deadline=9.0)
        assert not outcome.failed
        assert seen == [
            PreparedDevice(
                driver=DRIVER,
                pool="n1",
                device="gpu-0",
                claim_uid="u",
                claim_namespace="ns",
                claim_name="c",
                share_id="s",
                requests=("a",),
                state={"n": 1},
            )
        ]

    asyncio.run(scenario())


def test_many_devices_are_prepared_together_but_not_all_at_once() -> None:
    async def scenario() -> None:
        names = [f"d-{n}" for n in range(3 * DEVICES_AT_ONCE)]
        one = claim("uid-1", *map(result, names))
        driver = Gpus()
        running, most = 0, 0

        async def act(_: ClaimedDevice) -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await settle(3)
            running -= 1

        driver.script = dict.fromkeys(names, act)
        journal = Journal(None, driver=DRIVER)
        done = await work(driver, journal).prepare(
            one, results_of(one, driver=DRIVER), {}, deadline=9.0
        )
        assert len(done) == len(names)
        assert most == DEVICES_AT_ONCE

    asyncio.run(scenario())


def test_devices_of_one_claim_that_remember_at_once_do_not_forget_each_other() -> None:
    async def scenario() -> None:
        one = claim("uid-1", result("gpu-0"), result("gpu-1"))
        driver = Gpus()
        for name in ("gpu-0", "gpu-1"):
            driver.script[name] = lambda device: device.remember(device.device)
        journal = Journal(None, driver=DRIVER)
        held = tuple(JournalDevice(pool="n1", device=name) for name in ("gpu-0", "gpu-1"))
        await journal.put(Entry(uid="uid-1", devices=held))
        await work(driver, journal).prepare(one, results_of(one, driver=DRIVER), {}, deadline=9.0)
        [entry] = journal.entries()
        assert [device.state for device in entry.devices] == ["gpu-0", "gpu-1"]

    asyncio.run(scenario())


def test_what_is_remembered_is_at_once_what_a_later_process_reads() -> None:
    async def scenario() -> None:
        async def act(device: ClaimedDevice) -> None:
            await device.remember({1: (2, 3)})

        driver = Gpus()
        driver.script["gpu-0"] = act
        journal = Journal(None, driver=DRIVER)
        held = JournalDevice(pool="n1", device="gpu-0")
        await journal.put(Entry(uid="uid-1", devices=(held,)))
        results = results_of(claim(), driver=DRIVER)
        await work(driver, journal).prepare(claim(), results, {}, deadline=9.0)
        assert [each.state for each in journal.entries()[0].devices] == [{"1": [2, 3]}]

    asyncio.run(scenario())
