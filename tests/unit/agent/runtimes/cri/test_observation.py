"""What is asked about sandboxes and containers, and how often."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import grpc

from dray.agent.runtimes.cri.connection import CallFailed
from dray.agent.runtimes.cri.observation import Observer, container_of
from dray.agent.runtimes.runtime import ContainerState
from dray.proto import cri_v1_pb2 as cri
from dray.testing import FakeClock

LABELS = {
    "io.kubernetes.pod.name": "pod",
    "io.kubernetes.pod.namespace": "default",
    "io.kubernetes.pod.uid": "uid",
    "io.kubernetes.container.name": "app",
}


class Runtime:
    """One sandbox and one container, and who asked for them."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.asked: list[str] = []
        self.gone: set[str] = set()
        self.sandbox = cri.PodSandboxStatus(
            id="s",
            metadata=cri.PodSandboxMetadata(name="pod", namespace="default", uid="uid"),
            network=cri.PodSandboxNetworkStatus(
                ip="10.0.0.1", additional_ips=[cri.PodIP(ip="fd00::1")]
            ),
        )
        self.container = cri.ContainerStatus(id="c", labels=LABELS, state=cri.CONTAINER_RUNNING)
        self.observer = Observer(
            self.sandbox_status,
            self.container_status,
            clock=self.clock,
            node_addresses=("192.0.2.1",),
        )

    async def sandbox_status(self, sandbox_id: str) -> cri.PodSandboxStatus:
        self.ask(sandbox_id)
        return self.sandbox

    async def container_status(self, container_id: str) -> cri.ContainerStatus:
        self.ask(container_id)
        return self.container

    def ask(self, key: str) -> None:
        self.asked.append(key)
        if key in self.gone:
            raise CallFailed("gone", grpc.StatusCode.NOT_FOUND)

    async def list_addresses(self) -> list[tuple[str, ...]]:
        item = cri.PodSandbox(id="s", metadata=self.sandbox.metadata, state=self.sandbox.state)
        nobodys = cri.PodSandbox(id="nobody's")
        return [each.addresses for each in await self.observer.sandboxes([item, nobodys])]

    async def list_reasons(self) -> list[str]:
        item = cri.Container(id="c", labels=LABELS, state=self.container.state)
        nobodys = cri.Container(id="nobody's")
        found = await self.observer.containers([item, nobodys], "containerd://")
        return [each.reason for each in found]

    def exit(self, code: int, reason: str = "") -> None:
        self.container.state, self.container.exit_code = cri.CONTAINER_EXITED, code
        self.container.reason = reason
        self.container.finished_at = int(self.clock.now().timestamp()) * 1_000_000_000


def test_what_does_not_change_is_asked_for_once() -> None:
    async def main() -> None:
        runtime = Runtime()
        for _ in range(3):
            assert await runtime.list_addresses() == [("10.0.0.1", "fd00::1")]
            assert await runtime.list_reasons() == [""]
        runtime.sandbox.state = cri.SANDBOX_NOTREADY
        runtime.exit(3)
        for _ in range(3):
            assert await runtime.list_addresses() == [()]
            assert await runtime.list_reasons() == ["Error"]
        assert sorted(runtime.asked) == ["c", "c", "s", "s"]

    asyncio.run(main())


def test_a_pod_on_the_hosts_network_has_its_addresses() -> None:
    runtime = Runtime()
    runtime.sandbox.linux.namespaces.options.network = cri.NODE
    assert asyncio.run(runtime.list_addresses()) == [("192.0.2.1",)]


def test_what_was_removed_since_it_was_listed_is_left_out() -> None:
    async def main() -> None:
        runtime = Runtime()
        runtime.gone |= {"s", "c"}
        assert await runtime.list_addresses() == []
        assert await runtime.list_reasons() == []

    asyncio.run(main())


def test_why_something_was_killed_may_be_known_later() -> None:
    async def main() -> None:
        runtime = Runtime()
        runtime.exit(137)
        assert await runtime.list_reasons() == ["Error"]
        runtime.container.reason = "OOMKilled"
        assert await runtime.list_reasons() == ["OOMKilled"]
        assert await runtime.list_reasons() == ["OOMKilled"]
        assert runtime.asked == ["c", "c"]

    asyncio.run(main())


def test_why_something_was_killed_is_not_asked_for_ever() -> None:
    async def main() -> None:
        runtime = Runtime()
        runtime.exit(137)
        await runtime.list_reasons()
        runtime.clock.advance(11)
        for _ in range(3):
            assert await runtime.list_reasons() == ["Error"]
        assert runtime.asked == ["c", "c"]

    asyncio.run(main())


def test_nothing_ends_before_it_began() -> None:
    status = cri.ContainerStatus(
        id="c", state=cri.CONTAINER_EXITED, started_at=2_000_000_000, finished_at=1_000_000_000
    )
    container = container_of(status, "s", "containerd://")
    assert (container.id, container.state) == ("containerd://c", ContainerState.EXITED)
    assert container.finished_at is not None
    assert container.started_at == container.finished_at
    assert container.finished_at.utcoffset() == timedelta(0)
    assert (container.created_at, container.reason) == (None, "Completed")
