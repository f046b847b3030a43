from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.agent.kubelet_api.forwarding import PORTS_MAX, parse_ports, serve_ports
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.memory import MemoryRuntime
from dray.agent.runtimes.runtime import ContainerConfig
from dray.errors import BadRequest
from dray.testing import FakeClock
from dray.testing.runtime_suite import find_sandbox, sandbox_config
from tests.unit.server.kubelets import FakeSocket


@pytest.mark.parametrize("ports", [("80",), ("80", "8080"), ("80,443",)])
def test_ports_may_be_asked_for_in_two_ways(ports: tuple[str, ...]) -> None:
    found = parse_ports({"port": ports})
    assert [str(port) for port in found] == ",".join(ports).split(",")


@pytest.mark.parametrize(
    "ports", [(), ("",), ("0",), ("65536",), ("-1",), ("http",), ("80",) * (PORTS_MAX + 1)]
)
def test_ports_that_are_none_are_refused(ports: tuple[str, ...]) -> None:
    with pytest.raises(BadRequest):
        parse_ports({"port": ports})


class Socket(FakeSocket):
    """Leaves when it has heard so many messages."""

    def __init__(self, count: int, *messages: bytes) -> None:
        super().__init__(*messages)
        self._count = count

    async def send(self, message: bytes) -> None:
        await super().send(message)
        if len(self.heard) == self._count:
            self.leave()


def test_each_port_has_a_channel_for_data_and_one_for_errors() -> None:
    async def main() -> None:
        runtime = MemoryRuntime(FakeClock())
        config = sandbox_config(Path("/nonexistent"))
        sandbox = await find_sandbox(runtime, await runtime.run_sandbox(config))
        container_id = await runtime.create_container(sandbox, ContainerConfig("app", 0, "image"))
        await runtime.start_container(container_id)
        socket = Socket(6, b"\x00GET", b"", b"\x07for nobody")
        await serve_ports(socket, runtime, sandbox.id, (80, 443))
        assert socket.heard[:4] == [b"\x00P\x00", b"\x01P\x00", b"\x02\xbb\x01", b"\x03\xbb\x01"]
        assert sorted(each[:10] for each in socket.heard[4:]) == [
            b"\x00HTTP/1.1 ",
            b"\x02HTTP/1.1 ",
        ]

    asyncio.run(main())


def test_a_port_where_nobody_listens_is_told_of_on_its_own_channel() -> None:
    async def main() -> None:
        runtime = MemoryRuntime(FakeClock())
        socket = Socket(3)
        await serve_ports(socket, runtime, "none", (80,))
        assert socket.heard[2].startswith(b"\x01error forwarding port 80 to pod none: ")
        with pytest.raises(RuntimeFailed):
            await runtime.connect("none", 80)

    asyncio.run(main())
