"""`dray up` as a process of its own: pods that really run, crashes, stops, and the parts apart."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dray.api.codec import decode_builtins
from dray.api.core import Node, Pod
from dray.api.resource import DeviceClass, ResourceClaimTemplate, ResourceSlice
from dray.client import Client, EventType, connect, load_kubeconfig
from dray.clock import SystemClock
from tests.unit.sdk.drivers import short_directory

pytestmark = pytest.mark.slow

DRAY = Path(sys.executable).with_name("dray")
PATIENCE_SECONDS = 60


@contextmanager
def running(command: str, *arguments: object, ready: str) -> Iterator[subprocess.Popen[str]]:
    """A command, from the line that says it is ready; ended by force if it is still there."""
    process = subprocess.Popen(
        [DRAY, command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if ready in line:
                break
        else:
            raise AssertionError(f"dray {command} ended with {process.wait()}")
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def up(data: Path, *arguments: object) -> Any:
    return running("up", "--data-dir", data, "--port", "0", *arguments, ready="dray up ready at")


def dray(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DRAY, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def ask(kubeconfig: Path, question: Callable[[Client], Awaitable[Any]]) -> Any:
    async def body() -> Any:
        client = connect(load_kubeconfig(kubeconfig), clock=SystemClock())
        try:
            return await asyncio.wait_for(question(client), PATIENCE_SECONDS)
        finally:
            await client.close()

    return asyncio.run(body())


TEMPLATE = {
    "metadata": {"name": "gpu", "namespace": "default"},
    "spec": {
        "spec": {
            "devices": {
                "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.simulated.dev"}}]
            }
        }
    },
}
# Says what it was given, and its own number, where a test waits for it. Two dollars are one.
SCRIPT = "env > {folder}/env; echo $$$$ > {folder}/pid; exec sleep 1000"


def pod(folder: Path) -> dict[str, Any]:
    return {
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "train:1",
                    "command": ["sh", "-c", SCRIPT.format(folder=folder)],
                    "resources": {"claims": [{"name": "gpu"}]},
                }
            ],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
        },
    }


async def runs(client: Client, *, restarts: int = 0) -> Pod:
    async for event in client.watch(Pod, namespace="default"):
        if event.type is EventType.BOOKMARK:
            continue
        status = event.object.status
        counts = [one.restart_count for one in status.container_statuses if one.ready]
        if status.phase == "Running" and counts == [restarts]:
            return event.object
    raise AssertionError("the watch ended")


def train(folder: Path) -> Callable[[Client], Awaitable[Pod]]:
    async def question(client: Client) -> Pod:
        await client.create(decode_builtins(TEMPLATE, ResourceClaimTemplate).value)
        await client.create(decode_builtins(pod(folder), Pod).value)
        return await runs(client)

    return question


def pid_in(folder: Path) -> int:
    """The number of the pod's process, once it says it."""
    return int((folder / "pid").read_text())


@contextmanager
def place() -> Iterator[Path]:
    with short_directory() as root:
        os.mkfifo(root / "pid")
        try:
            yield root
        finally:
            # What pods run outlives a test that fails, too.
            if (root / "d" / "nodes").is_dir():
                dray("down", "--data-dir", root / "d", "--delete-data")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_pods_run_with_devices_survive_a_crash_and_end_with_the_cluster() -> None:
    with place() as root:
        data, kubeconfig = root / "d", root / "d" / "kubeconfig"
        with up(data) as process:
            made = ask(kubeconfig, train(root))
            assert made.spec.node_name in ("node-1", "node-2")
            first = pid_in(root)
            assert "SIMULATED_DEVICE_" in (root / "env").read_text()
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert alive(first), "pods go on without their cluster"
        assert dray("status", "--data-dir", data).returncode == 3
        assert "1 container of its pods goes on running" in dray("down", "--data-dir", data).stdout
        with up(data) as process:
            ask(kubeconfig, runs)
            assert alive(first), "the next start takes them over"
            second = dray("up", "--data-dir", data, "--port", "0")
            assert second.returncode == 2
            assert f"process {process.pid}" in second.stderr
            status = json.loads(dray("status", "--data-dir", data, "-o", "json").stdout)
            assert status["census"]["pods"] == {"Running": 1}
            assert status["census"]["devices"]["inUse"] == 1
            assert set(status["components"].values()) == {"ok"}
            told = dray("down", "--data-dir", data)
            assert f"stopped process {process.pid}" in told.stdout
            assert process.wait(PATIENCE_SECONDS) == 0
        assert not alive(first), "what pods run ends with their cluster"
        with up(data) as process:
            ask(kubeconfig, lambda client: runs(client, restarts=1))
            again = pid_in(root)
            assert again != first
            assert dray("down", "--data-dir", data, "--keep-pods").returncode == 0
        assert alive(again)
        told = dray("down", "--data-dir", data, "--delete-data")
        assert "ended 1 containers of node" in told.stdout
        assert not alive(again)
        assert not data.exists()


FLEET = """
driver: nic.example.com
models: {fast: {capacity: {bandwidth: 100G}}}
nodes:
- {name: sim, count: 3, runtime: memory, labels: {rack: r1}, devices: [{model: fast, count: 2}]}
"""


def test_a_fleet_file_says_which_nodes_there_are() -> None:
    with short_directory() as root:
        (root / "fleet.yaml").write_text(FLEET)

        async def look(client: Client) -> None:
            nodes = (await client.list(Node, label_selector="rack=r1")).items
            assert sorted(one.metadata.name for one in nodes) == ["sim-1", "sim-2", "sim-3"]
            slices = (await client.list(ResourceSlice)).items
            assert sum(len(one.spec.devices or ()) for one in slices) == 6
            await client.get(DeviceClass, "nic.example.com")

        with up(root / "d", "--fleet", root / "fleet.yaml") as process:
            ask(root / "d" / "kubeconfig", look)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 0


def test_the_parts_work_as_processes_of_their_own() -> None:
    with place() as root:
        config = root / "d" / "kubeconfig"
        ours = ("--kubeconfig", config)
        work = "is at work"
        node = ("--node-name", "n1", "--root-dir", root / "n", "--port", "0")
        with (
            running("server", "--data-dir", root / "d", "--port", "0", ready="ready at"),
            running("node", *ours, *node, "--driver", "simulated", ready="ready"),
            running("scheduler", *ours, "--port", "0", ready=work) as scheduler,
            running("controllers", *ours, ready=work) as controllers,
        ):

            async def begin(client: Client) -> Pod:
                selector = {"cel": {"expression": 'device.driver == "gpu.simulated.dev"'}}
                plain = {
                    "metadata": {"name": "gpu.simulated.dev"},
                    "spec": {"selectors": [selector]},
                }
                await client.create(decode_builtins(plain, DeviceClass).value)
                return await train(root)(client)

            assert ask(config, begin).spec.node_name == "n1"
            started = pid_in(root)
            for process in (scheduler, controllers):
                process.send_signal(signal.SIGTERM)
                assert process.wait(PATIENCE_SECONDS) == 0
            # Nobody has the leases any more, so there is nothing to wait for.
            with running("scheduler", *ours, ready=work):
                pass
        os.kill(started, signal.SIGKILL)
