"""`kubectl rollout` and `kubectl wait` against the real server and controllers.

Nodes are played: whatever is made gets ready or, if it is to end, ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dray.api.core import Node, Pod
from dray.api.meta import ObjectMeta
from dray.api.wire import Time
from dray.client import Client, Informers, connect, load_kubeconfig
from dray.clock import SystemClock, within
from dray.controllers.controllers import Controllers
from dray.entropy import SystemEntropy
from dray.errors import Conflict, NotFound

pytestmark = pytest.mark.slow

DRAY = Path(sys.executable).with_name("dray")
PATIENCE_SECONDS = 60.0
NAMES = (
    "deployment-controller",
    "replicaset-controller",
    "daemonset-controller",
    "job-controller",
)
DAEMON_SET = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: main, image: "registry.example/agent:1"}]}
"""


class Nodes:
    """Does to pods what nodes do."""

    def __init__(self, client: Client, informers: Informers) -> None:
        self._client = client
        self._arrived: asyncio.Queue[Pod] = asyncio.Queue()
        informers.of(Pod).listen(self._hear)

    async def run(self) -> None:
        while True:
            pod = await self._arrived.get()
            metadata = pod.metadata
            try:
                if metadata.deletion_timestamp is not None:
                    await self._client.delete(
                        Pod,
                        metadata.name,
                        namespace=metadata.namespace,
                        uid=metadata.uid,
                        grace_period_seconds=0,
                    )
                elif pod.status.phase == "Pending":
                    await self._client.patch(
                        Pod,
                        metadata.name,
                        {"status": _outcome(pod)},
                        namespace=metadata.namespace,
                        subresource="status",
                    )
            except (Conflict, NotFound):
                continue  # it went meanwhile

    def _hear(self, _old: Pod | None, new: Pod | None) -> None:
        if new is not None:
            self._arrived.put_nowait(new)


def _outcome(pod: Pod) -> dict[str, object]:
    if pod.spec.restart_policy == "Never":
        return {"phase": "Succeeded"}
    now = str(Time(SystemClock().now()))
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
    return {"phase": "Running", "conditions": [ready]}


class Kubectl:
    def __init__(self, kubeconfig: Path) -> None:
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}

    async def __call__(self, command: str, data: str = "") -> str:
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            *command.split(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment,
        )
        output, _ = await process.communicate(data.encode())
        text = output.decode()
        assert process.returncode == 0, f"kubectl {command}: {text}"
        return text


def play(folder: Path, act: Callable[[Kubectl, Client], Awaitable[None]]) -> None:
    """With a server, controllers and nodes at work."""

    async def run() -> None:
        server = await asyncio.create_subprocess_exec(
            DRAY,
            *("server", "--data-dir", folder, "--port", "0"),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert server.stdout is not None
            assert b"ready at" in await server.stdout.readline()
            await _beside(folder / "kubeconfig", act)
        finally:
            server.terminate()
            await server.wait()

    asyncio.run(within(SystemClock(), PATIENCE_SECONDS, run()))


async def _beside(kubeconfig: Path, act: Callable[[Kubectl, Client], Awaitable[None]]) -> None:
    clock, entropy = SystemClock(), SystemEntropy()
    client = connect(load_kubeconfig(kubeconfig), clock=clock)
    informers = Informers(client, clock=clock, entropy=entropy)
    controllers = Controllers(
        client, informers=informers, clock=clock, entropy=entropy, names=NAMES
    )
    nodes = Nodes(client, informers)
    work = [
        asyncio.ensure_future(each) for each in (informers.run(), controllers.run(), nodes.run())
    ]
    try:
        await controllers.ready()
        await act(Kubectl(kubeconfig), client)
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await client.close()


def test_a_deployment_is_rolled_out_undone_and_restarted(tmp_path: Path) -> None:
    async def act(kubectl: Kubectl, _client: Client) -> None:
        async def rolled_out() -> None:
            text = await kubectl("rollout status deployment/web")
            assert 'deployment "web" successfully rolled out' in text

        async def image() -> str:
            path = "{.items[*].spec.containers[0].image}"
            return " ".join(sorted(set((await kubectl(f"get pods -o jsonpath={path}")).split())))

        await kubectl("create deployment web --image=registry.example/web:1 --replicas=3")
        await rolled_out()
        await kubectl("set image deployment/web web=registry.example/web:2")
        await rolled_out()
        await kubectl("wait --for=jsonpath={.status.terminatingReplicas}=0 deployment/web")
        assert await image() == "registry.example/web:2"
        history = await kubectl("rollout history deployment/web")
        assert [line.split()[0] for line in history.splitlines()[2:4]] == ["1", "2"]
        await kubectl("rollout undo deployment/web")
        await rolled_out()
        await kubectl("rollout restart deployment/web")
        await rolled_out()
        await kubectl("wait --for=jsonpath={.status.terminatingReplicas}=0 deployment/web")
        assert await image() == "registry.example/web:1"
        history = await kubectl("rollout history deployment/web")
        assert [line.split()[0] for line in history.splitlines()[2:5]] == ["2", "3", "4"]
        await kubectl("rollout undo deployment/web --to-revision=2")
        await rolled_out()
        await kubectl("scale deployment/web --replicas=1")
        await rolled_out()

    play(tmp_path, act)


def test_a_daemon_set_is_rolled_out_undone_and_restarted(tmp_path: Path) -> None:
    async def act(kubectl: Kubectl, client: Client) -> None:
        async def rolled_out() -> None:
            text = await kubectl("rollout status daemonset/agent")
            assert 'daemon set "agent" successfully rolled out' in text

        async def history() -> list[str]:
            text = await kubectl("rollout history daemonset/agent")
            return [line.split()[0] for line in text.splitlines()[2:] if line]

        async def image() -> str:
            path = "{.items[*].spec.containers[0].image}"
            return " ".join(sorted(set((await kubectl(f"get pods -o jsonpath={path}")).split())))

        for name in ("n1", "n2"):
            await client.create(Node(metadata=ObjectMeta(name=name)))
            await client.patch(Node, name, {"spec": {"taints": None}})
        await kubectl("apply -f -", DAEMON_SET)
        await rolled_out()
        for number in (2, 3):
            await kubectl(f"set image daemonset/agent main=registry.example/agent:{number}")
            await rolled_out()
        assert await history() == ["1", "2", "3"]
        second = await kubectl("rollout history daemonset/agent --revision=2")
        assert "registry.example/agent:2" in second
        await kubectl("rollout undo daemonset/agent")
        await rolled_out()
        assert (await history(), await image()) == (["1", "3", "4"], "registry.example/agent:2")
        await kubectl("rollout undo daemonset/agent --to-revision=1")
        await rolled_out()
        assert (await history(), await image()) == (["3", "4", "5"], "registry.example/agent:1")
        shown = (await kubectl("get controllerrevisions")).splitlines()
        assert [line.split()[1] for line in shown[1:]] == ["daemonset.apps/agent"] * 3
        await kubectl("rollout restart daemonset/agent")
        await rolled_out()
        assert await history() == ["3", "4", "5", "6"]
        path = "{.status.numberAvailable}"
        assert await kubectl(f"get daemonset agent -o jsonpath={path}") == "2"

    play(tmp_path, act)


def test_a_job_is_waited_for(tmp_path: Path) -> None:
    async def act(kubectl: Kubectl, _client: Client) -> None:
        await kubectl("create job once --image=registry.example/job:1")
        text = await kubectl("wait --for=condition=complete job/once")
        assert "condition met" in text
        shown = (await kubectl("get job once")).splitlines()[1].split()
        assert shown[1:3] == ["Complete", "1/1"]

    play(tmp_path, act)
