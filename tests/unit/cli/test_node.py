"""`dray node` as an operator runs it: against a real server, until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dray.agent.root_lock import lock_root
from dray.api.core import Node
from dray.api.resource import ResourceSlice
from dray.cli import node as module
from dray.cli.node import command
from dray.client import Client, connect, load_kubeconfig
from dray.clock import Clock, SystemClock
from dray.conform.cluster import Cluster
from dray.drivers.simulated.control import SOCKET_NAME
from dray.drivers.simulated.control import command as give
from dray.entropy import SystemEntropy
from dray.errors import ConfigurationError, TransportError
from tests.unit.sdk.drivers import short_directory


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(one) for one in arguments])


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["--kubeconfig", "/nowhere/config"], "/nowhere/config", id="kubeconfig"),
        pytest.param(["--driver", "tpu"], "there is no driver tpu", id="driver"),
        pytest.param(["--driver", "host"], "say which devices there are", id="devices"),
        pytest.param(["--host", "localhost"], "must be an IP address", id="host"),
        pytest.param(["--label", "gpu"], "--label gpu: must be KEY=VALUE", id="label"),
        pytest.param(["--runtime", "docker"], "'docker' is not one of", id="runtime"),
        pytest.param(["--nodes", "10001"], "not in the range", id="nodes"),
        pytest.param([], "names no certificate authority", id="authority"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_runs(
    tmp_path: Path, arguments: list[str], told: str
) -> None:
    config = tmp_path / "config"
    config.write_text(KUBECONFIG)
    usual = ["--kubeconfig", config, "--root-dir", tmp_path / "node", "--runtime", "memory"]
    result = run(*usual, *arguments)
    assert result.exit_code == 2, result.output
    assert told in result.output


def test_settings_that_a_part_of_the_node_refuses_are_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        async with asyncio.TaskGroup() as tasks, asyncio.TaskGroup() as inner:
            inner.create_task(fail("this socket is in use"))
            tasks.create_task(fail("that one too"))

    async def fail(told: str) -> None:
        raise ConfigurationError(told)

    config = tmp_path / "config"
    config.write_text(KUBECONFIG)
    monkeypatch.setattr(module, "_node", refuse)
    result = run("--kubeconfig", config, "--root-dir", tmp_path / "node")
    assert result.exit_code == 2, result.output
    assert "that one too; this socket is in use" in result.output


def test_a_second_node_of_a_root_is_refused(tmp_path: Path) -> None:
    config, root = tmp_path / "config", tmp_path / "node"
    config.write_text(KUBECONFIG)
    root.mkdir()
    with lock_root(root):
        result = run("--kubeconfig", config, "--root-dir", root, "--runtime", "memory")
    assert result.exit_code == 2, result.output
    assert f"another node uses the root directory {root}: process {os.getpid()};" in result.output
    assert not (root / "pki").exists(), "nothing was touched"


def test_a_bug_in_a_part_of_the_node_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise ExceptionGroup("parts", [ConfigurationError("no"), ZeroDivisionError("bug")])

    config = tmp_path / "config"
    config.write_text(KUBECONFIG)
    monkeypatch.setattr(module, "_node", fail)
    result = run("--kubeconfig", config, "--root-dir", tmp_path / "node")
    assert isinstance(result.exception, ExceptionGroup)


@contextmanager
def cluster(root: Path) -> Iterator[Path]:
    """A server in a thread of its own, and the kubeconfig of its administrator."""
    ready, ended = threading.Event(), []
    made = Cluster(root, "unused", SystemClock(), SystemEntropy(), kubeconfig=None)

    async def serve() -> None:
        done = asyncio.Event()
        ended.append((asyncio.get_running_loop(), done))
        async with made:
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(30)
        yield made.kubeconfig
    finally:
        loop, done = ended[0]
        loop.call_soon_threadsafe(done.set)
        thread.join()


class Visit:
    """Looks around when the node is ready, then has the command stop as an operator would."""

    def __init__(self, kubeconfig: Path, root: Path) -> None:
        self._kubeconfig = kubeconfig
        self._root = root
        self.nodes: list[str] = []
        self.labels: dict[str, str] = {}
        self.devices: dict[str, int] = {}
        self.faults: object = None

    async def __call__(self) -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        client = connect(load_kubeconfig(self._kubeconfig), clock=SystemClock())
        try:
            await self._look(client, SystemClock())
        finally:
            await client.close()
        os.kill(os.getpid(), signal.SIGTERM)
        await stop.wait()

    async def _look(self, client: Client, clock: Clock) -> None:
        found = (await client.list(Node)).items
        self.nodes = sorted(one.metadata.name for one in found if one.metadata.name != "unused")
        self.labels = dict(
            next(one for one in found if one.metadata.name != "unused").metadata.labels
        )
        async for event in client.watch(ResourceSlice):
            if event.object.spec.node_name:
                self.devices[event.object.spec.node_name] = len(event.object.spec.devices or ())
            if set(self.devices) == set(self.nodes):
                break
        socket = self._root / "plugins" / "gpu.simulated.dev" / SOCKET_NAME
        if socket.exists():
            self.faults = (await give(socket, {"list": True}))["faults"]


@pytest.mark.slow
def test_a_node_has_its_drivers_and_ends_when_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with short_directory() as root, cluster(root / "c") as kubeconfig:
        visit = Visit(kubeconfig, root / "n")
        monkeypatch.setattr(module, "told_to_stop", visit)
        place = ["--kubeconfig", kubeconfig, "--root-dir", root / "n", "--node-name", "n1"]
        wanted = ["--runtime", "memory", "--driver", "simulated", "--label", "rack=r1"]
        result = run(*place, *wanted, "--port", "0")
        assert result.exit_code == 0, result.output
        assert f"dray node n1 ready, files in {root}/n" in result.output
        assert visit.nodes == ["n1"]
        assert visit.labels["rack"] == "r1"
        assert visit.devices == {"n1": 4}
        assert visit.faults == [], "faults are taken on command"
        left = [path for path in (root / "n").rglob("*.sock") if path.is_socket()]
        assert not left, "sockets are removed"


def test_heartbeats_have_a_client_of_their_own(tmp_path: Path) -> None:
    """Pods may keep all connections of the other busy for longer than a lease lasts."""
    config = tmp_path / "config"
    config.write_text(KUBECONFIG)

    async def body() -> None:
        async with AsyncExitStack() as stack:
            clients = module._clients(load_kubeconfig(config), stack, SystemClock())
            assert clients[0] is not clients[1]
        for client in clients:
            with pytest.raises(TransportError, match="closed"):
                await client.list(Node)

    asyncio.run(body())


@pytest.mark.slow
def test_many_nodes_are_simulated_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with short_directory() as root, cluster(root / "c") as kubeconfig:
        visit = Visit(kubeconfig, root / "n")
        monkeypatch.setattr(module, "told_to_stop", visit)
        place = ["--kubeconfig", kubeconfig, "--root-dir", root / "n", "--node-name", "sim"]
        result = run(*place, "--nodes", "3", "--driver", "simulated")
        assert result.exit_code == 0, result.output
        assert "dray node: 3 simulated nodes ready, sim-0 to sim-2" in result.output
        assert visit.nodes == ["sim-0", "sim-1", "sim-2"]
        assert visit.devices == {"sim-0": 4, "sim-1": 4, "sim-2": 4}
        assert visit.faults is None
