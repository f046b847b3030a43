"""The runtimes' suite on a CRI runtime in memory, and what is CRI's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from dray.agent.pods.collaborators import ImageUsers
from dray.agent.runtimes.cri.runtime import CRIRuntime
from dray.agent.runtimes.failures import (
    CREATE_CONTAINER_ERROR,
    IMAGE_PULL_ERROR,
    RuntimeFailed,
    UnresolvedDevices,
)
from dray.agent.runtimes.runtime import ContainerConfig, Runtime, Sandbox, SessionConfig
from dray.proto import cri_v1_pb2 as cri
from dray.testing import FakeClock
from dray.testing.runtime_suite import POD, RuntimeSuite, failing, find_sandbox, sandbox_config
from tests.unit.agent.runtimes.cri.servers import FakeCRI, frame, opened, read_frames, serve_streams

GPU = "vendor.example.com/gpu=gpu-0"
CONFIG = ContainerConfig(name="app", attempt=0, image="image", log_path="app/0.log")


class TestCRIRuntime(RuntimeSuite):
    runs_processes = False

    @asynccontextmanager
    async def open_runtime(self, directory: Path) -> AsyncIterator[Runtime]:
        async with opened(FakeCRI()) as runtime:
            yield runtime


Steps = Callable[[FakeCRI, CRIRuntime, Sandbox], Awaitable[None]]


def scenario(tmp_path: Path, steps: Steps, fake: FakeCRI | None = None, **options: Any) -> None:
    async def main() -> None:
        served = fake or FakeCRI()
        async with opened(served, **options) as runtime:
            sandbox_id = await runtime.run_sandbox(sandbox_config(tmp_path))
            await steps(served, runtime, await find_sandbox(runtime, sandbox_id))

    asyncio.run(main())


def device_file(directory: Path) -> None:
    spec = {
        "cdiVersion": "0.6.0",
        "kind": "vendor.example.com/gpu",
        "devices": [{"name": "gpu-0", "containerEdits": {"env": ["GPU=0"]}}],
    }
    (directory / "gpu.json").write_text(json.dumps(spec))


@pytest.mark.parametrize(
    ("version", "config", "option", "by_agent"),
    [
        pytest.param("v2.3.2", '{"enableCDI": true}', "auto", False, id="containerd-2"),
        pytest.param("1.6.20~ds1", "{}", "auto", True, id="too-old"),
        pytest.param("1.7.2", '{"enableCDI": false}', "auto", True, id="switched-off"),
        pytest.param("v2.3.2", "{}", "agent", True, id="asked-for"),
        pytest.param("1.6.20", "{}", "runtime", False, id="asked-for-otherwise"),
    ],
)
def test_devices_are_resolved_by_whoever_can(
    tmp_path: Path, version: str, config: str, option: str, by_agent: bool
) -> None:
    async def steps(fake: FakeCRI, runtime: CRIRuntime, sandbox: Sandbox) -> None:
        fake.config = config
        await runtime.create_container(sandbox, replace(CONFIG, cdi_devices=(GPU,)))
        (request,) = fake.requests.values()
        assert [device.name for device in request.config.CDI_devices] == [GPU] * (not by_agent)
        assert [variable.key for variable in request.config.envs] == ["GPU"] * by_agent

    device_file(tmp_path)
    scenario(tmp_path, steps, FakeCRI(version), cdi=option, cdi_directories=(tmp_path,))


def test_devices_the_runtime_cannot_resolve_are_named(tmp_path: Path) -> None:
    async def steps(fake: FakeCRI, runtime: CRIRuntime, sandbox: Sandbox) -> None:
        fake.refusals["CreateContainer"] = (
            grpc.StatusCode.UNKNOWN,
            f"CDI device injection failed: unresolvable CDI devices {GPU}",
        )
        config = replace(CONFIG, cdi_devices=("vendor.example.com/gpu=gpu-1", GPU))
        failure = await failing(runtime.create_container(sandbox, config))
        assert isinstance(failure, UnresolvedDevices)
        assert failure.devices == (GPU,)

    scenario(tmp_path, steps)


def test_a_container_that_never_ran_is_made_anew(tmp_path: Path) -> None:
    async def steps(fake: FakeCRI, runtime: CRIRuntime, sandbox: Sandbox) -> None:
        first = await runtime.create_container(sandbox, CONFIG)
        second = await runtime.create_container(sandbox, replace(CONFIG, command=("other",)))
        assert first != second
        (request,) = fake.requests.values()
        assert list(request.config.command) == ["other"]

    scenario(tmp_path, steps)


def test_a_new_agent_makes_containers_in_sandboxes_it_finds(tmp_path: Path) -> None:
    async def steps(fake: FakeCRI, runtime: CRIRuntime, sandbox: Sandbox) -> None:
        await runtime.create_container(sandbox, CONFIG)
        (request,) = fake.requests.values()
        made, said = fake.sandbox_configs[sandbox.id], request.sandbox_config
        assert (said.metadata, said.hostname, said.log_directory) == (
            made.metadata,
            made.hostname,
            made.log_directory,
        )
        assert said.linux.security_context == made.linux.security_context
        assert (tmp_path / "logs" / "app").is_dir()

    scenario(tmp_path, steps)


def test_two_who_want_the_same_sandbox_get_one(tmp_path: Path) -> None:
    async def steps(fake: FakeCRI, runtime: CRIRuntime, _: Sandbox) -> None:
        config = replace(sandbox_config(tmp_path), attempt=1)
        first, second = await asyncio.gather(
            runtime.run_sandbox(config), runtime.run_sandbox(config)
        )
        assert first == second
        assert len(fake.sandboxes) == 2

    scenario(tmp_path, steps)


def test_what_is_removed_takes_its_logs_along(tmp_path: Path) -> None:
    async def steps(_: FakeCRI, runtime: CRIRuntime, sandbox: Sandbox) -> None:
        await runtime.create_container(sandbox, CONFIG)
        logs = tmp_path / "logs" / "app"
        for name in ("0.log", "0.log.20260101-000000", "1.log"):
            (logs / name).touch()
        await runtime.remove_sandbox(sandbox.id)
        assert [path.name for path in logs.iterdir()] == ["1.log"]

    scenario(tmp_path, steps)


def test_grace_is_never_rounded_to_a_kill(tmp_path: Path) -> None:
    class Stopping(FakeCRI):
        async def StopContainer(  # noqa: N802 - as the service's
            self, request: cri.StopContainerRequest, context: object
        ) -> cri.StopContainerResponse:
            timeouts.append(request.timeout)
            return cri.StopContainerResponse()

    async def steps(_: FakeCRI, runtime: CRIRuntime, sandbox: Sandbox) -> None:
        container_id = await runtime.create_container(sandbox, CONFIG)
        for grace_seconds in (0.0, 0.1, 30.0):
            await runtime.stop_container(container_id, grace_seconds)
        assert timeouts == [0, 1, 30]

    timeouts: list[int] = []
    scenario(tmp_path, steps, Stopping())


def test_an_image_says_whom_its_containers_run_as(tmp_path: Path) -> None:
    async def steps(fake: FakeCRI, runtime: CRIRuntime, _: Sandbox) -> None:
        assert isinstance(runtime, ImageUsers)
        found = []
        for image in (cri.Image(), cri.Image(uid=cri.Int64Value(value=7)), cri.Image(username="a")):
            fake.image = image
            found.append(await runtime.image_user("image"))
        assert found == [0, 7, "a"]

    scenario(tmp_path, steps)


def test_an_image_that_is_there_is_not_pulled_unless_always(tmp_path: Path) -> None:
    async def steps(fake: FakeCRI, runtime: CRIRuntime, _: Sandbox) -> None:
        assert await runtime.find_image("image") == "sha256:1"
        assert await runtime.find_image("image", always=True) == ""
        assert await runtime.find_image("missing") == ""
        assert await runtime.pull_image("missing") == "pulled missing"
        fake.refusals["PullImage"] = (grpc.StatusCode.NOT_FOUND, "no such host")
        failure = await failing(runtime.pull_image("missing"))
        assert (failure.reason, str(failure)) == (IMAGE_PULL_ERROR, "image missing: no such host")

    scenario(tmp_path, steps)


def test_a_group_without_a_user_is_the_images_users(tmp_path: Path) -> None:
    async def steps(fake: FakeCRI, runtime: CRIRuntime, sandbox: Sandbox) -> None:
        fake.image.uid.value = 7
        await runtime.create_container(sandbox, replace(CONFIG, run_as_group=5))
        (request,) = fake.requests.values()
        context = request.config.linux.security_context
        assert (context.run_as_user.value, context.run_as_group.value) == (7, 5)

    scenario(tmp_path, steps)


def test_a_call_that_is_not_answered_is_given_up(tmp_path: Path) -> None:
    async def main() -> None:
        fake, clock = FakeCRI(), FakeClock()
        async with opened(fake, clock=clock) as runtime:
            fake.hanging.add("ListPodSandbox")
            listing = asyncio.ensure_future(failing(runtime.list_sandboxes()))
            while "ListPodSandbox" not in fake.calls:
                await asyncio.sleep(0)
            clock.advance(120)
            assert "not answered within 120 s" in str(await listing)
            await fake.cancelled.wait()

    asyncio.run(main())


def test_a_command_has_its_deadline_at_both_ends(tmp_path: Path) -> None:
    async def main() -> None:
        fake, clock = FakeCRI(), FakeClock()
        async with opened(fake, clock=clock) as runtime:
            done = await runtime.execute("containerd://c", ("echo", "1"), timeout_seconds=0.5)
            assert (done.exit_code, done.output) == (1, b"echo 1!")
            fake.hanging.add("ExecSync")
            running = asyncio.ensure_future(
                runtime.execute("containerd://c", ("sleep",), timeout_seconds=0.5)
            )
            while fake.calls.count("ExecSync") < 2:
                await asyncio.sleep(0)
            clock.advance(0.5)
            with pytest.raises(TimeoutError, match=r"command 'sleep' timed out after 0\.5 s"):
                await running
            await fake.cancelled.wait()

    asyncio.run(main())


def test_the_end_of_an_attached_container_is_asked_for(tmp_path: Path) -> None:
    async def steps(fake: FakeCRI, runtime: CRIRuntime, sandbox: Sandbox) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_frames(reader, 3)
            writer.write(frame(3, b"bye") + frame(1, b'{"status":"Success"}', last=True))
            await writer.drain()

        container_id = await runtime.create_container(sandbox, CONFIG)
        await runtime.start_container(container_id)
        async with serve_streams(serve) as fake.url:
            session = await runtime.open_session(container_id, SessionConfig())
            assert await session.read() == (1, b"bye")
            assert await session.read() == (0, b"")
            fake.exit(container_id.removeprefix("containerd://"), 6)
            assert await session.wait() == 6
            await session.close()

    scenario(tmp_path, steps)


def test_sandboxes_of_nobody_are_not_listed(tmp_path: Path) -> None:
    async def steps(fake: FakeCRI, runtime: CRIRuntime, sandbox: Sandbox) -> None:
        fake.sandboxes["x"] = cri.PodSandboxStatus(id="x")
        assert [each.id for each in await runtime.list_sandboxes()] == [sandbox.id]
        assert sandbox.pod == POD

    scenario(tmp_path, steps)


def test_a_runtime_that_refuses_is_quoted(tmp_path: Path) -> None:
    async def steps(fake: FakeCRI, runtime: CRIRuntime, sandbox: Sandbox) -> None:
        fake.refusals["CreateContainer"] = (grpc.StatusCode.UNKNOWN, "no space left on device")
        failure = await failing(runtime.create_container(sandbox, CONFIG))
        assert type(failure) is RuntimeFailed
        assert failure.reason == CREATE_CONTAINER_ERROR
        assert str(failure) == "container app of pod default/pod: no space left on device"

    scenario(tmp_path, steps)
