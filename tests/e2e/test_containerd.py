"""Pods on a real containerd: the runtimes' suite, devices, crashes.

Needs root, and what `tests/e2e/containerds.py` names.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from dray.agent.runtimes.cri.runtime import CRIRuntime
from dray.agent.runtimes.failures import IMAGE_PULL_ERROR, RuntimeFailed, UnresolvedDevices
from dray.agent.runtimes.runtime import (
    ContainerConfig,
    ContainerState,
    Runtime,
    Sandbox,
    SessionConfig,
    Sink,
)
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.testing.runtime_suite import (
    NEVER_SECONDS,
    POD,
    RuntimeSuite,
    failing,
    find,
    find_sandbox,
    sandbox_config,
)
from tests.e2e.containerds import IMAGE, MISSING, Containerd

Resolver = Literal["auto", "runtime", "agent"]

LISTENING = ("sh", "-c", "trap 'exit 5' TERM; sleep 1000 & wait")

# An agent that finds the pod's sandbox, starts a container in it, and is killed.
DYING_AGENT = """
import asyncio, os, signal, sys
from dray.agent.runtimes.cri.runtime import CRIRuntime
from dray.agent.runtimes.runtime import ContainerConfig
from dray.clock import SystemClock
from dray.entropy import SystemEntropy

async def main():
    runtime = CRIRuntime(sys.argv[1], clock=SystemClock(), entropy=SystemEntropy())
    (sandbox,) = await runtime.list_sandboxes()
    config = ContainerConfig(
        name="orphan",
        attempt=2,
        image=sys.argv[2],
        command=("sh", "-c", "trap 'exit 5' TERM; sleep 1000 & wait"),
        log_path="orphan/2.log",
    )
    await runtime.start_container(await runtime.create_container(sandbox, config))
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"containerd cannot be run here without {MISSING}"),
]


@pytest.fixture(scope="module", autouse=True)
def daemon() -> Iterator[Containerd]:
    containerd = Containerd()
    TestContainerd.daemon = containerd
    try:
        asyncio.run(containerd.start())
        yield containerd
    finally:
        containerd.close()


def connect(containerd: Containerd, cdi: Resolver = "auto") -> CRIRuntime:
    return CRIRuntime(
        containerd.endpoint,
        clock=SystemClock(),
        entropy=SystemEntropy(),
        cdi=cdi,
        cdi_directories=(containerd.cdi,),
    )


class TestContainerd(RuntimeSuite):
    daemon: ClassVar[Containerd]
    image = IMAGE

    def config(self, *command: str, name: str = "app", attempt: int = 0) -> ContainerConfig:
        # The first process of a container hears no signal that it does not listen for.
        return super().config(*(command or LISTENING), name=name, attempt=attempt)

    @asynccontextmanager
    async def open_runtime(self, directory: Path) -> AsyncIterator[Runtime]:
        async with connect(self.daemon) as runtime:
            yield runtime

    # Devices --------------------------------------------------------------------------------------

    @pytest.mark.parametrize("cdi", ["auto", "agent"])
    def test_a_device_of_a_driver_is_really_inside(self, cdi: Resolver) -> None:
        """Whoever resolves it: variables, a device node, a mount."""

        async def steps(_: Runtime, sandbox: Sandbox) -> None:
            name = self.write_device()
            script = 'echo "$GPU" "$OWN"; stat -c "%t:%T %F" /dev/gpu0; cat /opt/gpu/model; '
            script += "head -c 4 /dev/gpu0 | cat -A; touch /opt/gpu/new"
            config = replace(
                self.config("sh", "-c", script),
                cdi_devices=(name,),
                environment=(("GPU", "overridden"), ("OWN", "kept")),
            )
            async with self.connect(cdi=cdi) as runtime:
                container = await self.finish(runtime, sandbox, config)
            log = Path(container.log_path).read_text()
            lines = [line.split(" ", 3)[1:] for line in log.splitlines()]
            assert ["stdout", "F", "gpu-0 kept"] in lines
            assert ["stdout", "F", "1:5 character special file"] in lines
            assert ["stdout", "F", "simulated"] in lines
            assert "^@^@^@^@" in log  # what /dev/zero gives, by the name the specification says
            assert "Read-only file system" in log

        self.run(steps)

    def test_devices_nobody_defines_are_named_by_the_agent_too(self) -> None:
        async def steps(_: Runtime, sandbox: Sandbox) -> None:
            names = (self.write_device(), "vendor.example.com/none=none")
            async with self.connect(cdi="agent") as runtime:
                config = replace(self.config(), cdi_devices=names)
                failure = await failing(runtime.create_container(sandbox, config))
            assert isinstance(failure, UnresolvedDevices)
            assert failure.devices == names[1:]

        self.run(steps)

    # Restarts -------------------------------------------------------------------------------------

    def test_an_agent_that_is_killed_leaves_everything_to_the_next(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            # Its agent makes the sandbox's container in another process, and dies of SIGKILL.
            agent = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                DYING_AGENT,
                self.daemon.endpoint,
                IMAGE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
            assert await agent.wait() == -signal.SIGKILL
            (container,) = await runtime.list_containers()
            assert (container.name, container.attempt, container.pod) == ("orphan", 2, POD)
            assert (container.state, container.sandbox_id) == (ContainerState.RUNNING, sandbox.id)
            # It is ours in every way: the same again is the same, it is stopped and removed.
            config = self.config(name="orphan", attempt=2)
            assert await runtime.create_container(sandbox, config) == container.id
            result = await runtime.execute(container.id, ("echo", "yes"), timeout_seconds=60)
            assert result.output == b"yes\n"
            assert await runtime.run_sandbox(sandbox_config(Path("/nonexistent"))) == sandbox.id
            # More can be made in a sandbox whose configuration only the runtime knows.
            another = await self.start(runtime, sandbox, self.config(name="another"))
            log = Path((await find(runtime, another)).log_path)
            assert log.exists()
            await runtime.stop_container(container.id, NEVER_SECONDS)
            assert (await find(runtime, container.id)).exit_code == 5
            await runtime.remove_container(another)
            assert not log.exists()

        self.run(steps)

    def test_containers_outlive_their_runtime(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            changes = runtime.changes()
            heard = asyncio.ensure_future(anext(changes))
            script = "trap 'exit 5' TERM; while ! test -e /tmp/end; do sleep 0.1; done; exit 3"
            ending = await self.start(runtime, sandbox, self.config("sh", "-c", script, name="a"))
            going_on = await self.start(runtime, sandbox, self.config(name="b"))
            root = Path(f"/proc/{self.pid_of(ending)}/root")
            await heard
            self.daemon.kill()
            # It ends while nobody is there to see it.
            (root / "tmp" / "end").touch()
            await self.daemon.start()
            # The first call waits for the runtime; nothing else has to.
            await self._until(runtime, changes, ending, ContainerState.EXITED)
            # containerd learns how it ended, or only that it did, as its shim finds the time.
            ended = await find(runtime, ending)
            assert (ended.exit_code, ended.reason) in {(3, "Error"), (255, "Unknown")}
            assert (await find(runtime, going_on)).state is ContainerState.RUNNING
            assert (await find_sandbox(runtime, sandbox.id)) == sandbox
            await runtime.stop_container(going_on, NEVER_SECONDS)
            assert (await find(runtime, going_on)).exit_code == 5

        self.run(steps)

    def test_a_runtime_that_is_gone_is_named(self) -> None:
        async def main() -> None:
            endpoint = f"unix://{self.daemon.directory}/nobody"
            async with CRIRuntime(endpoint, clock=SystemClock(), entropy=SystemEntropy()) as gone:
                failure = await failing(gone.list_sandboxes())
            assert f"no container runtime answers at {endpoint}" in str(failure)

        asyncio.run(main())

    # Streams --------------------------------------------------------------------------------------

    def test_somebody_attached_sees_what_it_writes_and_how_it_ends(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            config = replace(
                self.config("sh", "-c", "read word; echo got $word; exit 6"), stdin=True
            )
            container_id = await self.start(runtime, sandbox, config)
            session = await runtime.open_session(container_id, SessionConfig(stdin=True))
            await session.write(b"this\n")
            output = b""
            while (piece := await session.read())[0]:
                output += piece[1]
            assert output == b"got this\n"
            assert await session.wait() == 6
            await session.close()

        self.run(steps)

    def test_whoever_leaves_lets_an_attached_container_go_on(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await self.start(runtime, sandbox, self.config())
            session = await runtime.open_session(container_id, SessionConfig())
            await session.close()
            assert await session.read() == (0, b"")
            assert (await find(runtime, container_id)).state is ContainerState.RUNNING

        self.run(steps)

    def test_a_terminal_has_the_size_it_is_told(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await self.start(runtime, sandbox, self.config())
            config = SessionConfig(command=("sh",), stdin=True, tty=True)
            session = await runtime.open_session(container_id, config)
            session.resize(123, 45)
            # Asked until it is so: sizes go another way than input.
            await session.write(
                b"until [ \"$(stty size)\" = '45 123' ]; do sleep 0.1; done; echo fi''ts; exit 9\n"
            )
            output = b""
            while (piece := await session.read())[0]:
                output += piece[1]
            assert b"fits" in output
            assert await session.wait() == 9
            await session.close()

        self.run(steps)

    @pytest.mark.parametrize("by_address", [True, False], ids=["address", "loopback"])
    def test_ports_are_reached_by_the_pods_address_and_on_its_loopback(
        self, by_address: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def nowhere(*_: object, **__: object) -> None:
            return None

        if not by_address:
            monkeypatch.setattr("dray.agent.runtimes.cri.runtime.dial", nowhere)

        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            script = "nc -ll -p 8001 -e cat"
            changes = runtime.changes()
            heard = asyncio.ensure_future(anext(changes))
            container_id = await self.start(runtime, sandbox, self.config("sh", "-c", script))
            await heard
            pieces, sink = await self.patiently(runtime, sandbox.id, 8001)
            await sink.write(b"there and back")
            assert await anext(aiter(pieces)) == b"there and back"
            await sink.close()
            failure = await failing(runtime.connect(sandbox.id, 8003))
            assert "8003" in str(failure)
            await runtime.stop_container(container_id, 0)

        self.run(steps)

    # Ends -----------------------------------------------------------------------------------------

    def test_what_takes_too_much_memory_is_killed_and_told_of(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            config = replace(
                self.config("sh", "-c", "tail -c 200m /dev/zero"), memory_limit_bytes=16 * 2**20
            )
            container = await self.finish(runtime, sandbox, config)
            assert (container.exit_code, container.reason) == (137, "OOMKilled")

        self.run(steps)

    def test_a_container_has_the_time_it_is_given(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            script = "trap 'sleep 0.3; exit 8' TERM; sleep 1000 & wait"
            container_id = await self.start(runtime, sandbox, self.config("sh", "-c", script))
            await runtime.stop_container(container_id, NEVER_SECONDS)
            assert (await find(runtime, container_id)).exit_code == 8

        self.run(steps)

    def test_another_stop_signal_can_be_asked_for(self) -> None:
        if self.daemon.version.startswith("1."):
            pytest.skip("containerd 1 takes stop signals from images only")

        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            script = "trap 'exit 4' USR1; sleep 1000 & wait"
            config = replace(self.config("sh", "-c", script), stop_signal="SIGUSR1")
            container_id = await self.start(runtime, sandbox, config)
            await runtime.stop_container(container_id, NEVER_SECONDS)
            assert (await find(runtime, container_id)).exit_code == 4

        self.run(steps)

    def test_an_image_that_cannot_be_had_says_so(self) -> None:
        async def steps(runtime: Runtime, _: Sandbox) -> None:
            failure = await failing(runtime.pull_image("localhost:1/none:1"))
            assert failure.reason == IMAGE_PULL_ERROR
            assert "localhost:1/none:1" in str(failure)

        self.run(steps)

    def test_who_a_container_is(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            config = replace(
                self.config("sh", "-c", "id; touch /no 2>&1; cat /proc/sys/kernel/hostname"),
                run_as_user=1000,
                run_as_group=2000,
                supplemental_groups=(3000,),
                read_only_root=True,
            )
            log = Path((await self.finish(runtime, sandbox, config)).log_path).read_text()
            assert "uid=1000 gid=2000 groups=2000,3000" in log
            assert "Read-only file system" in log
            assert f"stdout F {POD.name}\n" in log
            group_only = replace(self.config("id", name="group"), run_as_group=2000)
            log = Path((await self.finish(runtime, sandbox, group_only)).log_path).read_text()
            assert "uid=0(root) gid=2000" in log

        self.run(steps)

    def test_a_pod_on_the_hosts_network_has_the_nodes_address(self) -> None:
        async def steps(runtime: Runtime, _: Sandbox) -> None:
            with tempfile.TemporaryDirectory(prefix="dray", dir="/tmp") as directory:
                config = replace(
                    sandbox_config(Path(directory)),
                    pod=replace(POD, uid="of-the-host"),
                    host_network=True,
                    privileged=True,
                )
                sandbox_id = await runtime.run_sandbox(config)
                sandbox = await find_sandbox(runtime, sandbox_id)
                assert sandbox.addresses == ("127.0.0.1",)
                inside = replace(self.config("sh", "-c", "touch /proc/sys/x; id"), privileged=True)
                container = await self.finish(runtime, sandbox, inside)
                assert "Read-only" not in Path(container.log_path).read_text()
                await runtime.remove_sandbox(sandbox_id)

        self.run(steps)

    # Helpers --------------------------------------------------------------------------------------

    def connect(self, cdi: Resolver = "auto") -> CRIRuntime:
        return connect(self.daemon, cdi=cdi)

    def write_device(self) -> str:
        model = self.daemon.cdi / "model"
        model.write_text("simulated\n")
        spec = {
            "cdiVersion": "0.6.0",
            "kind": "vendor.example.com/gpu",
            "devices": [
                {
                    "name": "claim-1-gpu-0",
                    "containerEdits": {
                        "env": ["GPU=gpu-0"],
                        "deviceNodes": [{"path": "/dev/gpu0", "hostPath": "/dev/zero"}],
                        "mounts": [
                            {
                                "hostPath": str(self.daemon.cdi),
                                "containerPath": "/opt/gpu",
                                "options": ["ro", "bind"],
                            }
                        ],
                    },
                }
            ],
        }
        (self.daemon.cdi / "vendor.example.com-gpu.json").write_text(json.dumps(spec))
        return "vendor.example.com/gpu=claim-1-gpu-0"

    def pid_of(self, container_id: str) -> int:
        bare = container_id.rpartition("://")[2]
        for line in self.daemon.control("-n", "k8s.io", "tasks", "ls").splitlines():
            if line.startswith(bare):
                return int(line.split()[1])
        raise AssertionError(f"no task of {container_id}")

    async def patiently(
        self, runtime: Runtime, sandbox_id: str, port: int
    ) -> tuple[AsyncIterator[bytes], Sink]:
        """A connection to what will listen in a moment; when, only connecting tells."""
        async with asyncio.timeout(NEVER_SECONDS):
            while True:
                try:
                    return await runtime.connect(sandbox_id, port)
                except RuntimeFailed:
                    await asyncio.sleep(0.05)
