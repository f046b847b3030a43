"""A node that serves its containers, and an API server that hands its clients through to it."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dray.agent.kubelet_api.api import KubeletAPI
from dray.agent.runtimes.process.runtime import ProcessRuntime
from dray.agent.runtimes.runtime import (
    ContainerConfig,
    PodIdentity,
    Runtime,
    SandboxConfig,
)
from dray.api.core import (
    Container,
    DaemonEndpoint,
    Node,
    NodeAddress,
    NodeDaemonEndpoints,
    NodeStatus,
    Pod,
    PodSpec,
)
from dray.api.meta import ObjectMeta
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.http.tls import server_context
from dray.server.pki import Authority
from dray.testing.runtime_suite import find, find_sandbox

SCRIPTS = {
    "speaker": "echo one; echo two >&2; echo three",
    "waiter": "echo waiting; exec sleep 1000",
    "typist": "read word; echo heard $word; exec sleep 1000",
}


@dataclass
class PodList:
    """The pods of a node, as a test says."""

    known: list[Pod] = field(default_factory=list)

    def pods(self) -> Sequence[Pod]:
        return self.known


def make_pod(name: str, uid: str, scripts: dict[str, str]) -> Pod:
    containers = tuple(
        Container(name=each, image="busybox", command=("sh", "-c", script), stdin=each == "typist")
        for each, script in scripts.items()
    )
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid=uid),
        spec=PodSpec(containers=containers, node_name="n"),
    )


def make_node(port: int) -> Node:
    return Node(
        metadata=ObjectMeta(name="n"),
        status=NodeStatus(
            addresses=(NodeAddress(type="InternalIP", address="127.0.0.1"),),
            daemon_endpoints=NodeDaemonEndpoints(kubelet_endpoint=DaemonEndpoint(port=port)),
        ),
    )


@asynccontextmanager
async def scratch() -> AsyncIterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="dray", dir="/tmp"))
    try:
        yield directory
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


@asynccontextmanager
async def running(directory: Path) -> AsyncIterator[ProcessRuntime]:
    """A runtime, of which nothing is left afterwards."""
    async with ProcessRuntime(
        directory / "runtime", clock=SystemClock(), entropy=SystemEntropy(), cdi_directories=()
    ) as runtime:
        try:
            yield runtime
        finally:
            for sandbox in await runtime.list_sandboxes():
                await runtime.remove_sandbox(sandbox.id)


async def run_pod(runtime: Runtime, pod: Pod, directory: Path, *, attempt: int = 0) -> list[str]:
    """Run all containers of a pod; returns their ids."""
    identity = PodIdentity(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
    sandbox_id = await runtime.run_sandbox(
        SandboxConfig(identity, 0, pod.metadata.name, str(directory / "logs"))
    )
    sandbox = await find_sandbox(runtime, sandbox_id)
    ids = []
    for container in pod.spec.containers or ():
        config = ContainerConfig(
            name=container.name,
            attempt=attempt,
            image=container.image,
            command=tuple(container.command),
            log_path=f"{container.name}/{attempt}.log",
            stdin=container.stdin,
        )
        ids.append(await runtime.create_container(sandbox, config))
        await runtime.start_container(ids[-1])
    return ids


async def ended(runtime: ProcessRuntime, container_id: str) -> None:
    """Return once a container has ended."""
    await runtime._containers[container_id].ended.wait()
    assert (await find(runtime, container_id)).finished_at


@asynccontextmanager
async def serving(
    runtime: Runtime, pods: Sequence[Pod], tls: ssl.SSLContext | None = None
) -> AsyncIterator[KubeletAPI]:
    api = KubeletAPI(
        runtime,
        PodList(list(pods)),
        clock=SystemClock(),
        port=0,
        tls=tls,
        metrics=lambda: b"kubelet_up 1\n",
    )
    await api.start()
    try:
        yield api
    finally:
        await api.stop()


def node_context(authority: Authority) -> ssl.SSLContext:
    """TLS of a node: its certificate, and the authority of those who may ask."""
    files = authority.server_certificate(["127.0.0.1", "localhost"])
    return server_context(files.certificate, files.key, client_authority=authority.certificate_file)
