"""Schedulers and controllers of which more than one is started: one schedules at a time.

Beside a whole cluster, a second scheduler waits, or refuses to work without a lease; second
controllers that work without one do no harm. Nor does a scheduler of another name, though it gives
away the same devices. Of copies that elect, the next goes on where one that was killed stopped.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from dray.api.coordination import Lease
from dray.api.core import Event, Namespace, Pod
from dray.api.meta import ObjectMeta
from dray.api.resource import ResourceClaim
from dray.api.wire import replace
from dray.cli.errors import EXIT_UNREADABLE
from dray.client import Client, connect, load_kubeconfig
from dray.clock import SystemClock
from tests.e2e.node_machine import Member
from tests.e2e.up_checks import check_settled, given_twice, inspect, view
from tests.e2e.up_machine import UpMachine
from tests.e2e.up_objects import NAMESPACE, device_class, pod, template
from tests.e2e.up_storm import UpStorm

pytestmark = pytest.mark.slow

# What each user does; `make chaos` asks for more.
STEPS = int(os.environ.get("DRAY_CHAOS_UP_STEPS", "40"))
STEPS_PER_LOOK = 10
SEED = int(os.environ.get("DRAY_CHAOS_SEED", "1"))

# A lease lapses after 15 s, and whoever waits looks every few seconds; the machine may be busy.
TAKEOVER_SECONDS = 90.0

FLEET = """
models:
  plain: {attributes: {productName: plain}}
nodes:
- devices: [{model: plain, count: 1, name: gpu}]
"""


# Beside a whole cluster ------------------------------------------------------------------------


def test_copies_that_are_started_beside_a_cluster_do_no_harm() -> None:
    in_folder(beside_a_cluster)


async def beside_a_cluster(folder: Path) -> None:
    async with UpMachine(folder) as machine, AsyncExitStack() as stack:
        to = ["--kubeconfig", str(machine.kubeconfig)]
        alone = await started(stack, folder, "alone", "scheduler", *to, "--no-leader-elect")
        await alone.ready()
        assert await alone.ended() == EXIT_UNREADABLE
        assert "dray-up is at work already" in alone.last_words()
        waiting = await started(stack, folder, "waiting", "scheduler", *to)
        second = await started(stack, folder, "second", "controllers", *to, "--no-leader-elect")
        await waiting.ready()
        await at_work(second)

        storm = UpStorm(machine, SEED)
        await storm.prepare()
        for _ in range(0, STEPS, STEPS_PER_LOOK):
            await storm.churn(STEPS_PER_LOOK)
            await inspect(storm)
        await storm.subside()
        seconds = await check_settled(storm)
        say(f"{storm.counts}; settled in {seconds:.1f} s")
        assert await holder(machine.client, "kube-scheduler") == "dray-up"
        for member in (waiting, second):
            assert await member.terminate() == 0


# Beside a scheduler ----------------------------------------------------------------------------

RIVAL = "rival"
RIVAL_NODES = 3

# How many claims of a shape fit on a node, whatever the others are.
FITTING = {"one": 4, "part": 7, "large-share": 2}

RIVAL_FLEET = f"""
models:
  plain: {{attributes: {{productName: plain}}}}
  cut:
    attributes: {{productName: cut}}
    capacity: {{memory: 80Gi}}
    partitions:
      counters: {{memory: 80Gi, slices: 7}}
      profiles:
      - {{name: 1g, count: 14, capacity: {{memory: 10Gi}}, consumes: {{memory: 10Gi, slices: 1}}}}
  shared:
    attributes: {{productName: shared, shared: true}}
    capacity: {{memory: {{value: 40Gi, minimum: 1Gi, step: 1Gi, default: 10Gi}}}}
    shared: true
nodes:
- name: sim
  count: {RIVAL_NODES}
  runtime: memory
  devices:
  - {{model: plain, count: 4, name: gpu}}
  - {{model: cut, count: 1, name: big}}
  - {{model: shared, count: 1, name: shared}}
"""


def test_schedulers_of_different_names_give_no_device_away_twice() -> None:
    in_folder(beside_a_scheduler)


async def beside_a_scheduler(folder: Path) -> None:
    async with UpMachine(folder, fleet=RIVAL_FLEET) as machine, AsyncExitStack() as stack:
        client = machine.client
        words = ["--kubeconfig", str(machine.kubeconfig), "--scheduler-name", RIVAL]
        rival = await started(stack, folder, "rival", "scheduler", *words)
        await at_work(rival)
        await client.create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
        await client.create(device_class())
        for shape in FITTING:
            await client.create(template(shape))
        shapes = [shape for shape, count in FITTING.items() for _ in range(count * RIVAL_NODES)]
        for turn in range(2):
            pods = [
                pod(f"pod-{turn}-{number}", str(folder), shapes=[shape])
                for number, shape in enumerate(shapes)
            ]
            pods[::2] = [
                replace(one, spec=replace(one.spec, scheduler_name=RIVAL)) for one in pods[::2]
            ]
            began = SystemClock().monotonic()
            await asyncio.gather(*(client.create(one) for one in pods))
            for one in pods:
                await until_running(client, one.metadata.name)
            took = SystemClock().monotonic() - began
            assert not given_twice(await view(client))
            told = (await client.list(Event, namespace=NAMESPACE)).items
            quarrels = [each for each in told if "resourceclaims.resource.k8s.io" in each.message]
            say(f"{len(pods)} pods run after {took:.1f} s; {len(quarrels)} quarrels so far")
            await client.delete_collection(Pod, namespace=NAMESPACE)
        await until_claims(client, 0)
        assert await rival.terminate() == 0


# In turns --------------------------------------------------------------------------------------


def test_the_next_copy_goes_on_when_one_is_killed() -> None:
    in_folder(in_turns)


async def in_turns(folder: Path) -> None:
    clock = SystemClock()
    kubeconfig, fleet = folder / "kubeconfig", folder / "fleet.yaml"
    fleet.write_text(FLEET)
    to = ["--kubeconfig", str(kubeconfig)]
    async with AsyncExitStack() as stack:
        data = ["--data-dir", str(folder / "data"), "--port", "0"]
        await (await started(stack, folder, "server", "server", *data, *to)).ready()
        driver = f"simulated={fleet}"
        nodes = await started(
            stack, folder, "nodes", "node", *to, "--nodes", "3", "--driver", driver
        )
        await nodes.ready()
        client = connect(load_kubeconfig(kubeconfig), clock=clock)
        stack.push_async_callback(client.close)
        await client.create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
        await client.create(device_class())
        await client.create(template("one"))

        first = [
            await started(stack, folder, f"first-{name}", name, *to)
            for name in ("scheduler", "controllers")
        ]
        for member in first:
            await at_work(member)
        second = [
            await started(stack, folder, f"second-{name}", name, *to)
            for name in ("scheduler", "controllers")
        ]
        for member in second:
            await member.ready()
        await client.create(pod("before", str(folder), shapes=["one"]))
        await until_running(client, "before")
        led_by = await holder(client, "kube-scheduler")

        for member in first:
            await member.kill()
        began = clock.monotonic()
        # What is there meanwhile waits, and no device is free that is in use.
        for number in range(2):
            await client.create(pod(f"after-{number}", str(folder), shapes=["one"]))
        await client.delete(Pod, "before", namespace=NAMESPACE)
        for member in second:
            await at_work(member)
        for number in range(2):
            await until_running(client, f"after-{number}")
        say(f"others went on after {clock.monotonic() - began:.1f} s")
        assert await holder(client, "kube-scheduler") not in ("", led_by)
        assert not given_twice(await view(client))
        await until_claims(client, 2)
        for member in (*second, nodes):
            assert await member.terminate() == 0


async def until_running(client: Client, name: str) -> None:
    async with asyncio.timeout(TAKEOVER_SECONDS):
        async for event in client.watch(Pod, namespace=NAMESPACE):
            found = event.object
            if found.metadata.name == name and found.status.phase == "Running":
                return


async def until_claims(client: Client, count: int) -> None:
    """Return once there are so many: what the pod had that is gone is the last to go."""
    found = await client.list(ResourceClaim, namespace=NAMESPACE)
    names = {one.metadata.name for one in found.items}
    if len(names) == count:
        return
    async with asyncio.timeout(TAKEOVER_SECONDS):
        async for event in client.watch(
            ResourceClaim,
            namespace=NAMESPACE,
            resource_version=found.resource_version,
            bookmarks=False,
        ):
            (names.discard if event.type.value == "DELETED" else names.add)(
                event.object.metadata.name
            )
            if len(names) == count:
                return


# Processes -------------------------------------------------------------------------------------


async def started(stack: AsyncExitStack, folder: Path, name: str, *words: str) -> Member:
    """A command of dray, which ends with the stack at the latest."""
    member = Member(name, [sys.executable, "-m", "dray", *words], folder / f"{name}.log")
    await member.start()

    async def end() -> None:
        if member.running:
            await member.kill()

    stack.push_async_callback(end)
    return member


async def at_work(member: Member) -> None:
    """Return once it has said that it is."""
    await member.ready()
    async with asyncio.timeout(TAKEOVER_SECONDS):
        while line := await member.said():
            if line.endswith(b"is at work\n"):
                return
    raise AssertionError(member.last_words())


async def holder(client: Client, lease: str) -> str:
    found = await client.get(Lease, lease, namespace="kube-system")
    return found.spec.holder_identity or ""


def in_folder(scenario: Callable[[Path], Coroutine[Any, Any, None]]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="dray-up-", dir="/tmp"))
    replay = f"DRAY_CHAOS_SEED={SEED} DRAY_CHAOS_UP_STEPS={STEPS} python -m pytest -s {__file__}"
    say(replay)
    try:
        asyncio.run(scenario(folder))
    except BaseException as error:
        error.add_note(f"{replay}; files are in {folder}")
        raise
    shutil.rmtree(folder)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
