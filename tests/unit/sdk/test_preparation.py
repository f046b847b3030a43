"""Claims that are prepared and undone: answers, refusals, retries, guards, reboots, processes."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dray.api.resource import ResourceClaim
from dray.errors import (
    DeviceFailed,
    InvalidConfig,
    NotFound,
    PermanentError,
    TransientError,
    TransportError,
    Unavailable,
)
from dray.sdk import ClaimedDevice, DeviceNode, Edits
from dray.sdk._claims import ClaimName
from dray.sdk._failures import ClaimFailure, ErrorClass
from dray.sdk._journal import DeviceKey, Phase
from dray.sdk._preparation import Observer
from tests.unit.sdk.drivers import (
    Claims,
    Machine,
    claim,
    config,
    devices,
    in_turn,
    prepared,
    raising,
    refusal,
    result,
    unprepared,
)
from tests.unit.sdk.turns import pass_time, settle


def test_a_claim_is_answered_with_its_devices_and_their_cdi_names(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = claim("uid-1", result("gpu-0", request="big/fast"), result("gpu-1", request="small"))
        outcome = await prepared(Machine(tmp_path, one).start(), one)
        assert [
            (each.pool, each.device, each.requests, each.cdi_devices)
            for each in devices(outcome["uid-1"])
        ] == [
            ("n1", "gpu-0", ("big",), ("k8s.gpu.example.com/claim=uid-1-gpu-0",)),
            ("n1", "gpu-1", ("small",), ("k8s.gpu.example.com/claim=uid-1-gpu-1",)),
        ]

    asyncio.run(scenario())


def test_the_same_answer_comes_again_without_asking_the_author(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        first = await prepared(machine.start(), claim())
        process = machine.start()
        assert await prepared(process, claim()) == first
        assert await prepared(process, claim(), claim()) == first
        assert machine.driver.log == ["prepare gpu-0 for uid-1"]

    asyncio.run(scenario())


def test_a_cdi_file_that_was_lost_is_there_again_after_the_answer(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        process = machine.start()
        await prepared(process, claim())
        path = tmp_path / "cdi" / "k8s.gpu.example.com-claim_uid-1.json"
        before = path.read_bytes()
        path.unlink()
        await prepared(process, claim())
        assert path.read_bytes() == before

    asyncio.run(scenario())


def test_other_drivers_devices_are_not_touched(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = claim("uid-1", result("nic-0", driver="net.example.com"))
        machine = Machine(tmp_path, one)
        assert await prepared(machine.start(), one) == {"uid-1": ()}
        assert machine.driver.log == []
        assert machine.cdi_files() == []

    asyncio.run(scenario())


def test_devices_that_skip_preparation_are_left_out(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = claim("uid-1", result("gpu-0", skip_node_operations=("*",)), result("gpu-1"))
        outcome = await prepared(Machine(tmp_path, one).start(), one)
        assert [each.device for each in devices(outcome["uid-1"])] == ["gpu-1"]

    asyncio.run(scenario())


def test_one_device_for_two_requests_is_prepared_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = claim(
            "uid-1",
            result("gpu-0", request="a", admin_access=True),
            result("gpu-0", request="b", admin_access=True),
        )
        machine = Machine(tmp_path, one)
        outcome = await prepared(machine.start(), one)
        assert [each.requests for each in devices(outcome["uid-1"])] == [("a", "b")]
        assert machine.driver.log == ["prepare gpu-0 for uid-1"]

    asyncio.run(scenario())


def test_shares_of_one_device_have_cdi_names_of_their_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = claim("uid-1", result(share_id="s-1"), result(share_id="s-2"))
        outcome = await prepared(Machine(tmp_path, one).start(), one)
        assert [(each.share_id, each.cdi_devices) for each in devices(outcome["uid-1"])] == [
            ("s-1", ("k8s.gpu.example.com/claim=uid-1-gpu-0-s-1",)),
            ("s-2", ("k8s.gpu.example.com/claim=uid-1-gpu-0-s-2",)),
        ]

    asyncio.run(scenario())


def test_a_device_without_edits_has_no_cdi_names_and_a_claim_without_any_no_file(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        machine.driver.script["gpu-0"] = lambda _: None
        outcome = await prepared(machine.start(), claim())
        assert devices(outcome["uid-1"])[0].cdi_devices == ()
        assert machine.cdi_files() == []

    asyncio.run(scenario())


# Refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "asked", "text"),
    [
        (
            None,
            claim(),
            'retrieve claim default/claim-of-uid-1: claims "claim-of-uid-1" not found',
        ),
        (
            claim("uid-2", name="claim-of-uid-1"),
            claim(),
            "claim default/claim-of-uid-1 got replaced",
        ),
        (
            claim(allocated=False),
            claim(),
            "claim default/claim-of-uid-1 not allocated",
        ),
        (
            None,
            claim("../../etc"),
            'claim default/claim-of-../../etc: "../../etc" cannot be its UID',
        ),
        (None, claim(""), 'claim default/claim-of-: "" cannot be its UID'),
    ],
)
def test_a_claim_that_cannot_be_used_fails_alone(
    tmp_path: Path, stored: ResourceClaim | None, asked: ResourceClaim, text: str
) -> None:
    async def scenario() -> None:
        other = claim("uid-9", result("gpu-1"))
        machine = Machine(tmp_path, other, *(() if stored is None else (stored,)))
        outcome = await prepared(machine.start(), asked, other)
        assert refusal(outcome[asked.metadata.uid]) == ClaimFailure(text)
        assert devices(outcome["uid-9"])

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("error", "error_class", "message"),
    [
        (PermanentError("no such mode"), ErrorClass.PERMANENT, "no such mode"),
        (DeviceFailed("fell off the bus"), ErrorClass.DEVICE_FAILED, "fell off the bus"),
        (InvalidConfig("bad"), ErrorClass.INVALID_CONFIG, "bad"),
        (ValueError("oops"), ErrorClass.UNKNOWN, "unexpected ValueError: oops"),
        (asyncio.CancelledError(), ErrorClass.TRANSIENT, "the call was cancelled"),
    ],
)
def test_errors_have_a_class_and_undo_the_whole_claim(
    tmp_path: Path, error: Any, error_class: ErrorClass, message: str
) -> None:
    async def scenario() -> None:
        one = claim("uid-1", result("gpu-0"), result("gpu-1"))
        machine = Machine(tmp_path, one)
        machine.driver.script["gpu-1"] = raising(error)
        process = machine.start()
        working = asyncio.create_task(prepared(process, one))
        await pass_time(machine.clock, 40)
        failure = refusal((await working)["uid-1"])
        assert failure.error_class is error_class
        assert failure.message.startswith(f"device n1/gpu-1: {message}")
        assert [each.key for each in failure.devices] == [DeviceKey("n1", "gpu-1")]
        assert machine.driver.held == {}
        assert machine.driver.log[-2:] == [
            "unprepare gpu-1 for uid-1",
            "unprepare gpu-0 for uid-1",
        ]
        assert process.entries() == ()
        assert machine.cdi_files() == []

    asyncio.run(scenario())


def test_all_failing_devices_are_named_and_the_gravest_class_is_the_claims(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = claim("uid-1", result("gpu-0"), result("gpu-1"), result("gpu-2"))
        machine = Machine(tmp_path, one)
        machine.driver.script["gpu-0"] = raising(PermanentError("no"))
        machine.driver.script["gpu-2"] = raising(DeviceFailed("dead"))
        failure = refusal((await prepared(machine.start(), one))["uid-1"])
        assert failure.message == "device n1/gpu-0: no; device n1/gpu-2: dead"
        assert failure.error_class is ErrorClass.DEVICE_FAILED
        assert [each.error_class for each in failure.devices] == [
            ErrorClass.PERMANENT,
            ErrorClass.DEVICE_FAILED,
        ]

    asyncio.run(scenario())


def test_edits_that_break_rules_of_cdi_are_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        machine.driver.script["gpu-0"] = lambda _: Edits(device_nodes=(DeviceNode(path=""),))
        failure = refusal((await prepared(machine.start(), claim()))["uid-1"])
        assert failure.error_class is ErrorClass.PERMANENT
        assert "devices[0].containerEdits.deviceNodes[0].path: Required value" in failure.message
        assert machine.cdi_files() == []
        assert machine.driver.held == {}

    asyncio.run(scenario())


def test_an_answer_that_is_no_edits_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        machine.driver.script["gpu-0"] = lambda _: {"env": []}
        failure = refusal((await prepared(machine.start(), claim()))["uid-1"])
        assert "prepare returned dict instead of Edits or None" in failure.message

    asyncio.run(scenario())


class Wrong(msgspec.Struct):
    replicas: int


def test_wrong_configuration_names_its_source_its_request_and_the_place(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = claim(configs=(config({"replicas": "two"}, requests=("gpu",)),))
        machine = Machine(tmp_path, one)
        machine.driver.script["gpu-0"] = lambda device: device.configured(Wrong, Wrong(1))
        failure = refusal((await prepared(machine.start(), one))["uid-1"])
        assert failure.error_class is ErrorClass.INVALID_CONFIG
        assert failure.message == (
            "device n1/gpu-0: opaque configuration FromClaim for request gpu:"
            " Expected `int`, got `str` - at `$.replicas`"
        )

    asyncio.run(scenario())


# Trying again ----------------------------------------------------------------------------------


def test_a_transient_error_is_tried_again_before_the_node_hears_of_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        machine.driver.script["gpu-0"] = in_turn(
            TransientError("busy"), TransientError("busy"), Edits(env=("A=b",))
        )
        working = asyncio.create_task(prepared(machine.start(), claim()))
        await pass_time(machine.clock, 5)
        assert devices((await working)["uid-1"])
        assert machine.driver.log == ["prepare gpu-0 for uid-1"] * 3

    asyncio.run(scenario())


def test_an_error_that_stays_transient_is_told_within_thirty_seconds(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        machine.driver.script["gpu-0"] = raising(TransientError("busy"))
        working = asyncio.create_task(prepared(machine.start(), claim()))
        await pass_time(machine.clock, 30.5, step=0.5)
        assert working.done()
        failure = refusal((await working)["uid-1"])
        assert failure.error_class is ErrorClass.TRANSIENT
        assert failure.message.startswith("device n1/gpu-0: busy (after ")

    asyncio.run(scenario())


def test_a_call_that_hangs_ends_at_the_deadline_and_is_undone(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        machine.driver.script["gpu-0"] = lambda _: asyncio.Event().wait()
        process = machine.start()
        working = asyncio.create_task(prepared(process, claim()))
        await pass_time(machine.clock, 31)
        failure = refusal((await working)["uid-1"])
        assert failure.error_class is ErrorClass.TRANSIENT
        assert failure.message == "device n1/gpu-0: not done after 30 s"
        assert machine.driver.held == {}

    asyncio.run(scenario())


@pytest.mark.parametrize("error", [TransportError("no route"), Unavailable("starting")])
def test_an_api_server_that_cannot_be_reached_is_asked_again(
    tmp_path: Path, error: Exception
) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        machine.claims.failures = [error, error]
        working = asyncio.create_task(prepared(machine.start(), claim()))
        await pass_time(machine.clock, 3, step=0.5)
        assert devices((await working)["uid-1"])

    asyncio.run(scenario())


def test_an_api_server_that_stays_away_is_a_transient_error(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        machine.claims.failures = [TransportError("no route")] * 99
        working = asyncio.create_task(prepared(machine.start(), claim()))
        await pass_time(machine.clock, 15)
        failure = refusal((await working)["uid-1"])
        assert failure.error_class is ErrorClass.TRANSIENT
        assert failure.message == "retrieve claim default/claim-of-uid-1: no route"

    asyncio.run(scenario())


def test_what_another_process_prepared_is_answered_too_when_the_api_server_is_away(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        old, new = machine.start(), machine.start()
        await new.recover()
        first = await prepared(old, claim())
        machine.claims.failures = [TransportError("no route")]
        assert await prepared(new, claim()) == first

    asyncio.run(scenario())


def test_an_api_server_that_does_not_answer_is_not_waited_for_longer_than_the_node_waits(
    tmp_path: Path,
) -> None:
    class Silent(Claims):
        async def get(self, *_: Any, **__: Any) -> ResourceClaim:
            await asyncio.Event().wait()
            raise AssertionError("nobody answers")

    async def scenario() -> None:
        machine = Machine(tmp_path)
        machine.claims = Silent()
        working = asyncio.create_task(prepared(machine.start(), claim()))
        await pass_time(machine.clock, 30)
        failure = refusal((await working)["uid-1"])
        assert failure.error_class is ErrorClass.TRANSIENT
        assert failure.message == ("retrieve claim default/claim-of-uid-1: not done after 10 s")

    asyncio.run(scenario())


def test_a_claim_that_hangs_is_in_nobodys_way(tmp_path: Path) -> None:
    async def scenario() -> None:
        names = [f"gpu-{n}" for n in range(40)]
        stuck, other = claim("uid-1", *map(result, names)), claim("uid-2", result("other"))
        machine = Machine(tmp_path, stuck, other)
        machine.driver.script = dict.fromkeys(names, lambda _: asyncio.Event().wait())
        process = machine.start()
        hanging = asyncio.create_task(prepared(process, stuck))
        await settle()
        assert devices((await prepared(process, other))["uid-2"])
        await pass_time(machine.clock, 45)
        assert refusal((await hanging)["uid-1"]).error_class is ErrorClass.TRANSIENT

    asyncio.run(scenario())


def test_what_is_prepared_is_answered_even_when_the_api_server_is_away(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        process = machine.start()
        first = await prepared(process, claim())
        machine.claims.failures = [TransportError("no route")]
        assert await prepared(process, claim()) == first

    asyncio.run(scenario())


# The last guard --------------------------------------------------------------------------------


def test_a_device_that_another_claim_has_is_refused_and_the_claim_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        first, second = claim("uid-1"), claim("uid-2")
        machine = Machine(tmp_path, first, second)
        process = machine.start()
        await prepared(process, first)
        failure = refusal((await prepared(machine.start(), second))["uid-2"])
        assert failure.message == (
            "device n1/gpu-0: is prepared for claim default/claim-of-uid-1 (uid-1),"
            " which has not been unprepared"
        )
        assert failure.error_class is ErrorClass.TRANSIENT
        assert machine.driver.held == {"gpu-0": "uid-1"}
        process = machine.start()
        await unprepared(process, first)
        assert devices((await prepared(process, second))["uid-2"])

    asyncio.run(scenario())


def test_two_claims_for_one_device_in_one_request_do_not_both_get_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        first, second = claim("uid-1"), claim("uid-2")
        machine = Machine(tmp_path, first, second)
        outcome = await prepared(machine.start(), first, second)
        failed = [uid for uid, each in outcome.items() if isinstance(each, ClaimFailure)]
        assert len(failed) == 1
        assert "prepared for claim" in refusal(outcome[failed[0]]).message

    asyncio.run(scenario())


def test_a_device_that_is_taken_while_another_is_waited_for_is_noticed(tmp_path: Path) -> None:
    async def scenario() -> None:
        stuck = claim("uid-0", result("gpu-1"))
        both = claim("uid-1", result("gpu-0"), result("gpu-1"))
        quick = claim("uid-2", result("gpu-0"))
        machine = Machine(tmp_path, stuck, both, quick)
        gate = asyncio.Event()
        machine.driver.script["gpu-1"] = in_turn(PermanentError("no"), Edits(env=("A=b",)))
        machine.driver.undo_script["gpu-1"] = in_turn(PermanentError("stuck"), gate.wait())
        process = machine.start()
        await prepared(process, stuck)
        slow = asyncio.create_task(prepared(process, both))
        await settle()
        assert devices((await prepared(process, quick))["uid-2"])
        gate.set()
        failure = refusal((await slow)["uid-1"])
        assert "is prepared for claim default/claim-of-uid-2" in failure.message
        assert machine.driver.held == {"gpu-0": "uid-2"}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (result(admin_access=True), result()),
        (result(), result(admin_access=True)),
        (result(share_id="a"), result(share_id="b")),
        (result(pool="p1"), result(pool="p2")),
    ],
    ids=["admin first", "admin second", "shares", "pools"],
)
def test_what_does_not_exclude_each_other_is_prepared_side_by_side(
    tmp_path: Path, first: Any, second: Any
) -> None:
    async def scenario() -> None:
        one, two = claim("uid-1", first), claim("uid-2", second)
        outcome = await prepared(Machine(tmp_path, one, two).start(), one, two)
        assert devices(outcome["uid-1"])
        assert devices(outcome["uid-2"])

    asyncio.run(scenario())


def test_a_claim_that_was_given_other_devices_gives_back_the_first(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim("uid-1", result("gpu-0")))
        process = machine.start()
        await prepared(process, claim("uid-1"))
        machine.claims.add(claim("uid-1", result("gpu-1")))
        await prepared(process, claim("uid-1"))
        assert machine.driver.held == {"gpu-1": "uid-1"}

    asyncio.run(scenario())


# Boots, and what authors remember ---------------------------------------------------------------


def test_after_a_reboot_everything_is_done_again_with_what_was_remembered(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        seen: list[Any] = []

        async def act(device: ClaimedDevice) -> Edits:
            seen.append(device.state)
            await device.remember({"partition": 7})
            return Edits(env=(f"BOOT={machine.boot_id}",))

        machine.driver.script["gpu-0"] = act
        await prepared(machine.start(), claim())
        machine.reboot()
        process = machine.start()
        await process.recover()
        assert machine.cdi_files() == []
        assert devices((await prepared(process, claim()))["uid-1"])
        assert seen == [None, {"partition": 7}]
        [path] = (tmp_path / "cdi").iterdir()
        assert "BOOT=boot-1'" in path.read_text()

    asyncio.run(scenario())


def test_a_device_prepared_before_the_reboot_does_not_keep_others_out(tmp_path: Path) -> None:
    async def scenario() -> None:
        first, second = claim("uid-1"), claim("uid-2")
        machine = Machine(tmp_path, first, second)
        await prepared(machine.start(), first)
        machine.reboot()
        process = machine.start()
        assert devices((await prepared(process, second))["uid-2"])
        assert [entry.uid for entry in process.entries()] == ["uid-2"]
        assert machine.driver.log[1:] == ["unprepare gpu-0 for uid-1", "prepare gpu-0 for uid-2"]

    asyncio.run(scenario())


def test_what_was_remembered_before_a_crash_is_there_for_undoing(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        told: list[Any] = []

        async def act(device: ClaimedDevice) -> None:
            await device.remember({"partition": 7})
            await asyncio.Event().wait()

        machine.driver.script["gpu-0"] = act
        machine.driver.undo_script["gpu-0"] = lambda device: told.append(device.state)
        killed = machine.start()
        working = asyncio.create_task(prepared(killed, claim()))
        await settle()
        for task in tuple(killed._operations._tasks):
            task.cancel()
        await asyncio.wait((working,))
        await machine.start().recover()
        assert told == [{"partition": 7}]

    asyncio.run(scenario())


@pytest.mark.parametrize("state", [object(), "x" * 70_000], ids=["no JSON", "too large"])
def test_state_that_cannot_be_kept_is_refused(tmp_path: Path, state: Any) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        machine.driver.script["gpu-0"] = lambda device: device.remember(state)
        failure = refusal((await prepared(machine.start(), claim()))["uid-1"])
        assert "state to remember" in failure.message
        assert failure.error_class is ErrorClass.PERMANENT

    asyncio.run(scenario())


# Undoing ----------------------------------------------------------------------------------------


def test_a_claim_nobody_knows_is_undone_already(tmp_path: Path) -> None:
    async def scenario() -> None:
        process = Machine(tmp_path).start()
        names = [
            ClaimName("a", "b", "uid-7"),
            ClaimName("", "", ""),
            ClaimName("..", "/", "../../x"),
        ]
        assert await process.unprepare(names) == {"uid-7": None, "": None, "../../x": None}
        assert await process.unprepare([]) == {}
        assert await process.prepare([]) == {}

    asyncio.run(scenario())


def test_undoing_needs_the_uid_alone_and_goes_backwards(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = claim("uid-1", result("gpu-0"), result("gpu-1"))
        machine = Machine(tmp_path, one)
        process = machine.start()
        await prepared(process, one)
        machine.claims.remove(one)
        assert await process.unprepare([ClaimName("", "", "uid-1")]) == {"uid-1": None}
        assert machine.driver.log[2:] == ["unprepare gpu-1 for uid-1", "unprepare gpu-0 for uid-1"]
        assert machine.cdi_files() == []

    asyncio.run(scenario())


def test_undoing_that_fails_is_told_and_tried_again_by_the_next_call(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        process = machine.start()
        await prepared(process, claim())
        machine.driver.undo_script["gpu-0"] = in_turn(PermanentError("stuck"), None)
        failure = refusal((await unprepared(process, claim()))["uid-1"])
        assert failure.message == "device n1/gpu-0: stuck"
        assert [entry.uid for entry in process.entries()] == ["uid-1"]
        assert await unprepared(process, claim()) == {"uid-1": None}
        assert process.entries() == ()

    asyncio.run(scenario())


def test_a_claim_that_could_not_be_undone_is_prepared_anew_if_it_comes_back(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        process = machine.start()
        await prepared(process, claim())
        machine.driver.undo_script["gpu-0"] = raising(PermanentError("stuck"))
        await unprepared(process, claim())
        assert devices((await prepared(process, claim()))["uid-1"])
        assert machine.driver.log.count("prepare gpu-0 for uid-1") == 2

    asyncio.run(scenario())


# Side by side -----------------------------------------------------------------------------------


def test_preparing_and_undoing_one_claim_take_turns(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        gate = asyncio.Event()

        async def act(_: ClaimedDevice) -> None:
            await gate.wait()
            machine.driver.log.append("done")

        machine.driver.script["gpu-0"] = act
        process = machine.start()
        first = asyncio.create_task(prepared(process, claim()))
        second = asyncio.create_task(prepared(process, claim()))
        await settle()
        third = asyncio.create_task(unprepared(process, claim()))
        await settle()
        gate.set()
        await asyncio.gather(first, second, third)
        assert machine.driver.log == [
            "prepare gpu-0 for uid-1",
            "done",
            "unprepare gpu-0 for uid-1",
        ]

    asyncio.run(scenario())


@pytest.mark.parametrize(("serialize", "most"), [(False, 3), (True, 1)])
def test_claims_are_worked_on_together_unless_the_author_says_otherwise(
    tmp_path: Path, serialize: bool, most: int
) -> None:
    async def scenario() -> None:
        claims = [claim(f"uid-{n}", result(f"gpu-{n}")) for n in range(3)]
        machine = Machine(tmp_path, *claims)
        machine.driver.serialize = serialize
        running, seen = 0, []

        async def act(_: ClaimedDevice) -> None:
            nonlocal running
            running += 1
            seen.append(running)
            await settle(5)
            running -= 1

        machine.driver.script = {f"gpu-{n}": act for n in range(3)}
        await prepared(machine.start(), *claims)
        assert max(seen) == most

    asyncio.run(scenario())


def test_work_goes_on_when_whoever_asked_is_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        gate = asyncio.Event()
        machine.driver.script["gpu-0"] = lambda _: _edits_after(gate)
        process = machine.start()
        asking = asyncio.create_task(prepared(process, claim()))
        await settle()
        asking.cancel()
        await asyncio.wait((asking,))
        gate.set()
        await process.close()
        assert [entry.phase.value for entry in process.entries()] == ["Committed"]

    async def _edits_after(gate: asyncio.Event) -> Edits:
        await gate.wait()
        return Edits(env=("A=b",))

    asyncio.run(scenario())


def test_two_processes_share_what_they_prepared(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        old, new = machine.start(), machine.start()
        await old.recover()
        await new.recover()
        first = await prepared(old, claim())
        assert await prepared(new, claim()) == first
        await unprepared(new, claim())
        assert machine.driver.log == ["prepare gpu-0 for uid-1", "unprepare gpu-0 for uid-1"]
        await prepared(old, claim())
        assert machine.driver.log[2:] == ["prepare gpu-0 for uid-1"]

    asyncio.run(scenario())


def test_a_process_that_hangs_in_an_operation_keeps_others_out_only_so_long(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        one, two = claim("uid-1"), claim("uid-2", result("gpu-1"))
        machine = Machine(tmp_path, one, two)
        gate = asyncio.Event()

        async def act(_: ClaimedDevice) -> None:
            await gate.wait()

        machine.driver.script["gpu-0"] = act
        old, new = machine.start(), machine.start()
        hanging = asyncio.create_task(prepared(old, one))
        await settle()
        working = asyncio.create_task(prepared(new, two))
        await pass_time(machine.clock, 11)
        failure = refusal((await working)["uid-2"])
        assert failure.error_class is ErrorClass.TRANSIENT
        assert "another instance of the driver has held" in failure.message
        gate.set()
        await hanging
        assert devices((await prepared(new, two))["uid-2"])

    asyncio.run(scenario())


def test_a_call_that_does_not_end_is_answered_and_its_intent_stays_until_it_has(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim(), claim("uid-2"))
        gate = asyncio.Event()

        async def stubborn(_: ClaimedDevice) -> None:
            while not gate.is_set():
                with suppress(asyncio.CancelledError):
                    await gate.wait()

        machine.driver.script["gpu-0"] = stubborn
        process = machine.start()
        working = asyncio.create_task(prepared(process, claim()))
        await pass_time(machine.clock, 44)
        assert working.done()
        assert refusal((await working)["uid-1"]).error_class is ErrorClass.TRANSIENT
        assert [entry.phase for entry in process.entries()] == [Phase.INTENT]
        other = refusal((await prepared(process, claim("uid-2")))["uid-2"])
        assert other.error_class is ErrorClass.TRANSIENT
        assert machine.driver.log == ["prepare gpu-0 for uid-1"]
        gate.set()
        await settle()
        machine.driver.script.clear()
        assert devices((await prepared(process, claim("uid-2")))["uid-2"])
        assert machine.driver.held == {"gpu-0": "uid-2"}

    asyncio.run(scenario())


# What was lost ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"version":0,"driver":"gpu.example.com","checksum":0,"data":""}',
        b'{"version":1,"driver":"other.example.com","checksum":0,"data":""}',
        b'{"version":1,"driver":"gpu.example.com","checksum":1,"data":"{}"}',
    ],
)
def test_a_journal_that_cannot_be_read_is_kept_aside_and_cdi_files_in_use_stay(
    tmp_path: Path, content: bytes
) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        await prepared(machine.start(), claim())
        machine.journal_path.write_bytes(content)
        process = machine.start()
        await process.recover()
        assert len(machine.problems) == 1
        assert (tmp_path / "journal.json.damaged-0").read_bytes() == content
        assert machine.cdi_files() == ["k8s.gpu.example.com-claim_uid-1.json"]
        await machine.start().recover()
        assert machine.cdi_files() == ["k8s.gpu.example.com-claim_uid-1.json"]
        assert await unprepared(machine.start(), claim()) == {"uid-1": None}
        assert machine.cdi_files() == []

    asyncio.run(scenario())


def test_a_process_killed_after_a_journal_was_set_aside_leaves_cdi_files_in_use(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        claims = [claim(f"uid-{n}", result(f"gpu-{n}")) for n in range(3)]
        machine = Machine(tmp_path, *claims)
        await prepared(machine.start(), *claims)
        in_use = machine.cdi_files()
        machine.journal_path.write_bytes(b"?")
        machine.start()._journal.refresh()
        assert not machine.journal_path.exists()
        process = machine.start()
        await process.recover()
        assert machine.cdi_files() == in_use
        assert [entry.phase for entry in process.entries()] == [Phase.FOUND] * 3

    asyncio.run(scenario())


def test_a_journal_that_vanishes_meanwhile_takes_no_device_from_its_claim(tmp_path: Path) -> None:
    async def scenario() -> None:
        one, two = claim("uid-1"), claim("uid-2")
        machine = Machine(tmp_path, one, two)
        process = machine.start()
        await prepared(process, one)
        machine.journal_path.unlink()
        assert "uid-1" in refusal((await prepared(process, two))["uid-2"]).message
        assert await unprepared(machine.start(), one) == {"uid-1": None}
        assert machine.driver.held == {}

    asyncio.run(scenario())


def test_a_journal_of_a_later_version_is_left_to_whoever_wrote_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        machine.journal_path.write_bytes(b'{"version":2,"claims":[]}')
        failure = refusal((await prepared(machine.start(), claim()))["uid-1"])
        assert failure.error_class is ErrorClass.TRANSIENT
        assert "is of version 2, known is 1" in failure.message
        assert machine.journal_path.read_bytes() == b'{"version":2,"claims":[]}'
        assert machine.driver.log == []

    asyncio.run(scenario())


def test_a_claim_whose_entry_was_lost_is_prepared_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        first = await prepared(machine.start(), claim())
        machine.journal_path.write_bytes(b"?")
        assert await prepared(machine.start(), claim()) == first

    asyncio.run(scenario())


def test_files_of_no_claim_are_removed_and_others_left_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        process = machine.start()
        await prepared(process, claim())
        await unprepared(process, claim())
        folder = tmp_path / "cdi"
        ours = ["k8s.gpu.example.com-claim_uid-9.json", ".k8s.gpu.example.com-claim_x.json.77.tmp"]
        foreign = ["k8s.net.example.com-claim_uid-9.json", "vendor.json", ".hidden"]
        for name in ours + foreign:
            (folder / name).write_text("{}")
        await machine.start().recover()
        assert machine.cdi_files() == sorted(foreign)

    asyncio.run(scenario())


def test_a_full_disk_is_a_transient_error_and_nothing_is_lost(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        process = machine.start()
        await process.recover()
        # A directory in the file's place: it cannot be replaced by a file.
        machine.journal_path.mkdir()
        process._journal._seen = None
        journal = process._journal
        journal.refresh = lambda: None  # type: ignore[method-assign]  # it would find a directory
        failure = refusal((await prepared(process, claim()))["uid-1"])
        assert failure.error_class is ErrorClass.TRANSIENT
        assert failure.message.startswith("cannot keep the driver's state: ")
        assert process.entries() == ()
        assert machine.driver.log == []
        machine.journal_path.rmdir()
        assert devices((await prepared(process, claim()))["uid-1"])

    asyncio.run(scenario())


def test_an_api_that_is_not_served_makes_no_claim_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        process = machine.start()
        await prepared(process, claim())
        unserved = NotFound("the server could not find the requested resource")
        machine.claims.failures = [unserved, unserved]
        assert await process.collect() == ()
        assert await process.collect() == ()
        assert machine.driver.held == {"gpu-0": "uid-1"}

    asyncio.run(scenario())


def test_claims_that_are_gone_are_released_when_they_stay_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        gone, replaced, there = (
            claim("uid-1"),
            claim("uid-2", result("gpu-1")),
            claim("uid-3", result("gpu-2")),
        )
        machine = Machine(tmp_path, gone, replaced, there)
        process = machine.start()
        await prepared(process, gone, replaced, there)
        machine.claims.remove(gone)
        machine.claims.add(claim("uid-4", name="claim-of-uid-2"))
        assert await process.collect() == ()
        assert sorted(await process.collect()) == ["uid-1", "uid-2"]
        assert [entry.uid for entry in process.entries()] == ["uid-3"]
        assert machine.driver.held == {"gpu-2": "uid-3"}

    asyncio.run(scenario())


def test_claims_that_may_be_gone_are_not_released(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        process = machine.start()
        await prepared(process, claim())
        machine.claims.failures = [TransportError("no route"), Unavailable("busy")]
        assert await process.collect() == ()
        assert await process.collect() == ()
        assert await process.collect() == ()
        assert [entry.uid for entry in process.entries()] == ["uid-1"]

    asyncio.run(scenario())


def test_an_interrupted_claim_that_is_gone_is_released_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        process = machine.start()
        machine.driver.script["gpu-0"] = raising(PermanentError("no"))
        machine.driver.undo_script["gpu-0"] = in_turn(PermanentError("stuck"), None)
        await prepared(process, claim())
        assert [entry.phase.value for entry in process.entries()] == ["Intent"]
        machine.claims.remove(claim())
        assert await process.collect() == ("uid-1",)

    asyncio.run(scenario())


# Who else hears of it ---------------------------------------------------------------------------


class Noting(Observer):
    def __init__(self) -> None:
        self.heard: list[str] = []

    async def device_failed(self, key: DeviceKey, message: str) -> None:
        self.heard.append(f"broken {key}: {message}")

    def prepared(self, claim: ResourceClaim, devices: Any, *, anew: bool) -> None:
        self.heard.append(f"prepared {claim.metadata.uid}{' anew' if anew else ''}")

    def failed(self, claim: ResourceClaim, failure: ClaimFailure) -> None:
        self.heard.append(f"failed {claim.metadata.uid}: {failure.error_class.name}")


def test_a_broken_device_is_made_known_before_the_node_hears_of_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = claim("uid-1", result("gpu-0"), result("gpu-1"))
        machine = Machine(tmp_path, one)
        machine.observer = noting = Noting()
        machine.driver.script["gpu-1"] = in_turn(DeviceFailed("dead"), Edits(env=("A=b",)))
        process = machine.start()
        await prepared(process, one)
        assert noting.heard == ["broken n1/gpu-1: dead", "failed uid-1: DEVICE_FAILED"]
        await prepared(process, one)
        await prepared(process, one)
        assert noting.heard[2:] == ["prepared uid-1 anew", "prepared uid-1"]

    asyncio.run(scenario())


def test_many_broken_devices_are_made_known_at_once(tmp_path: Path) -> None:
    class Slow(Noting):
        async def device_failed(self, key: DeviceKey, message: str) -> None:
            await machine.clock.sleep(3)
            await super().device_failed(key, message)

    machine = Machine(tmp_path)

    async def scenario() -> None:
        names = [f"gpu-{n}" for n in range(20)]
        one = claim("uid-1", *map(result, names))
        machine.claims.add(one)
        machine.observer = noting = Slow()
        machine.driver.script = dict.fromkeys(names, raising(DeviceFailed("dead")))
        working = asyncio.create_task(prepared(machine.start(), one))
        await settle(1000)
        await pass_time(machine.clock, 4)
        await working
        assert len(noting.heard) == 21

    asyncio.run(scenario())


def test_a_device_that_breaks_while_it_is_given_back_is_made_known(tmp_path: Path) -> None:
    async def scenario() -> None:
        machine = Machine(tmp_path, claim())
        machine.observer = noting = Noting()
        machine.driver.undo_script["gpu-0"] = raising(DeviceFailed("dead"))
        process = machine.start()
        await prepared(process, claim())
        await unprepared(process, claim())
        assert noting.heard[1:] == ["broken n1/gpu-0: dead"]

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_hundred_pods_at_once_are_all_served(tmp_path: Path) -> None:
    async def scenario() -> None:
        claims = [
            claim(f"uid-{n}", *(result(f"gpu-{n}-{k}") for k in range(10))) for n in range(100)
        ]
        machine = Machine(tmp_path, *claims)
        process = machine.start()
        outcomes = await asyncio.gather(*(prepared(process, each) for each in claims))
        assert all(len(devices(one)) == 10 for each in outcomes for one in each.values())
        assert len(machine.cdi_files()) == 100
        document = json.loads(machine.journal_path.read_bytes())
        assert len(json.loads(document["data"])["claims"]) == 100
        await unprepared(process, *claims)
        assert machine.cdi_files() == []

    asyncio.run(scenario())
