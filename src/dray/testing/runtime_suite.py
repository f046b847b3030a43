"""What every runtime must do, as tests: subclass RuntimeSuite, say how to open one, run pytest.

    class TestMemoryRuntime(RuntimeSuite):
        runs_processes = False

        @asynccontextmanager
        async def open_runtime(self, directory: Path) -> AsyncIterator[Runtime]:
            yield MemoryRuntime(FakeClock())

Each test gets a runtime of its own, without sandboxes. Tests of what goes on inside a container are
passed over for a runtime that runs nothing. Where images are needed, `image` is one with a shell.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

from dray.agent.runtimes.failures import (
    CREATE_CONTAINER_ERROR,
    RUN_CONTAINER_ERROR,
    RuntimeFailed,
    UnresolvedDevices,
)
from dray.agent.runtimes.runtime import (
    Container,
    ContainerConfig,
    ContainerState,
    PodIdentity,
    Runtime,
    Sandbox,
    SandboxConfig,
    SessionConfig,
)

__all__ = ["POD", "RuntimeSuite", "failing", "find", "find_sandbox", "sandbox_config"]

POD = PodIdentity("default", "pod", "6f1c2d34-0000-4000-8000-000000000001")
WAITING = ("sleep", "1000")
NEVER_SECONDS = 60.0
# Long enough to be a wait, short enough to be waited for.
SOON_SECONDS = 0.1

Steps = Callable[[Runtime, Sandbox], Awaitable[None]]


class RuntimeSuite:
    """The suite. `open_runtime` is called once per test, with a directory for whatever it keeps."""

    runs_processes = True
    image = "busybox"

    @abstractmethod
    def open_runtime(self, directory: Path) -> AbstractAsyncContextManager[Runtime]:
        """A runtime without sandboxes; what it runs ends with the test."""

    def run(self, steps: Steps) -> None:
        """Do the steps with a fresh runtime and a sandbox in it."""

        async def main() -> None:
            # Short: the paths of sockets may have 107 bytes.
            directory = Path(tempfile.mkdtemp(prefix="dray", dir="/tmp"))
            try:
                async with self.open_runtime(directory) as runtime:
                    config = sandbox_config(directory)
                    sandbox_id = await runtime.run_sandbox(config)
                    try:
                        await steps(runtime, await find_sandbox(runtime, sandbox_id))
                    finally:
                        await runtime.remove_sandbox(sandbox_id)
            finally:
                shutil.rmtree(directory, ignore_errors=True)

        asyncio.run(main())

    def run_inside(self, steps: Steps) -> None:
        """Do the steps, if the runtime runs anything."""
        if self.runs_processes:
            self.run(steps)

    def config(self, *command: str, name: str = "app", attempt: int = 0) -> ContainerConfig:
        """A container that runs this command, or waits."""
        return ContainerConfig(
            name=name,
            attempt=attempt,
            image=self.image,
            command=command or WAITING,
            log_path=f"{name}/{attempt}.log",
        )

    async def have_image(self, runtime: Runtime, config: ContainerConfig) -> None:
        """Have what a container is made from."""
        if not await runtime.find_image(config.image):
            await runtime.pull_image(config.image)

    async def start(self, runtime: Runtime, sandbox: Sandbox, config: ContainerConfig) -> str:
        """Make a container and run it."""
        await self.have_image(runtime, config)
        container_id = await runtime.create_container(sandbox, config)
        await runtime.start_container(container_id)
        return container_id

    # Sandboxes ------------------------------------------------------------------------------------

    def test_a_sandbox_is_ready_and_has_an_address(self) -> None:
        async def steps(_: Runtime, sandbox: Sandbox) -> None:
            assert (sandbox.pod, sandbox.attempt, sandbox.ready) == (POD, 0, True)
            assert sandbox.addresses

        self.run(steps)

    def test_running_a_sandbox_again_is_the_same_sandbox(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            config = sandbox_config(Path("/nonexistent"))
            assert await runtime.run_sandbox(config) == sandbox.id
            assert len(await runtime.list_sandboxes()) == 1

        self.run(steps)

    def test_another_attempt_is_another_sandbox(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            await runtime.stop_sandbox(sandbox.id)
            directory = Path(tempfile.mkdtemp(prefix="dray", dir="/tmp"))
            try:
                config = replace(sandbox_config(directory), attempt=1)
                another = await runtime.run_sandbox(config)
                assert another != sandbox.id
                assert (await find_sandbox(runtime, another)).ready
                await runtime.remove_sandbox(another)
            finally:
                shutil.rmtree(directory)

        self.run(steps)

    def test_a_stopped_sandbox_is_not_ready_and_its_containers_have_ended(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await self.start(runtime, sandbox, self.config())
            await runtime.stop_sandbox(sandbox.id)
            assert not (await find_sandbox(runtime, sandbox.id)).ready
            assert (await find(runtime, container_id)).state is ContainerState.EXITED

        self.run(steps)

    def test_a_removed_sandbox_takes_its_containers_with_it(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            await self.start(runtime, sandbox, self.config())
            await runtime.remove_sandbox(sandbox.id)
            assert list(await runtime.list_sandboxes()) == []
            assert list(await runtime.list_containers()) == []

        self.run(steps)

    def test_stopping_and_removing_what_is_gone_is_no_error(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await self.start(runtime, sandbox, self.config())
            for _ in range(2):
                await runtime.remove_container(container_id)
                await runtime.stop_container(container_id, 0)
            for _ in range(2):
                await runtime.stop_sandbox(sandbox.id)
            for _ in range(2):
                await runtime.remove_sandbox(sandbox.id)
            await runtime.stop_sandbox(sandbox.id)

        self.run(steps)

    # Containers -----------------------------------------------------------------------------------

    def test_a_container_does_not_run_before_it_is_started(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            config = self.config()
            await self.have_image(runtime, config)
            container_id = await runtime.create_container(sandbox, config)
            container = await find(runtime, container_id)
            assert container.state is ContainerState.CREATED
            assert (container.pod, container.name, container.attempt) == (POD, "app", 0)
            assert container.sandbox_id == sandbox.id
            assert (container.created_at is None, container.started_at) == (False, None)

        self.run(steps)

    def test_ids_say_which_runtime_they_are_of(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await self.start(runtime, sandbox, self.config())
            assert container_id.startswith(f"{(await runtime.info()).name}://")

        self.run(steps)

    def test_creating_a_container_again_is_the_same_container(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            config = self.config()
            container_id = await self.start(runtime, sandbox, config)
            assert await runtime.create_container(sandbox, config) == container_id
            assert (await find(runtime, container_id)).state is ContainerState.RUNNING

        self.run(steps)

    def test_another_attempt_is_another_container(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            first = await self.start(runtime, sandbox, self.config())
            await runtime.stop_container(first, 0)
            second = await self.start(runtime, sandbox, self.config(attempt=1))
            states = {each.attempt: each.state for each in await runtime.list_containers()}
            assert first != second
            assert states == {0: ContainerState.EXITED, 1: ContainerState.RUNNING}

        self.run(steps)

    def test_a_started_container_runs_however_often_it_is_started(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await self.start(runtime, sandbox, self.config())
            await runtime.start_container(container_id)
            container = await find(runtime, container_id)
            assert container.state is ContainerState.RUNNING
            assert container.started_at is not None
            assert container.finished_at is None

        self.run(steps)

    def test_a_stopped_container_has_ended_and_stays_listed(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await self.start(runtime, sandbox, self.config())
            await runtime.stop_container(container_id, NEVER_SECONDS)
            container = await find(runtime, container_id)
            assert container.state is ContainerState.EXITED
            assert container.finished_at is not None
            assert container.reason
            await runtime.stop_container(container_id, NEVER_SECONDS)
            await runtime.start_container(container_id)
            assert await find(runtime, container_id) == container

        self.run(steps)

    def test_removing_a_container_that_runs_ends_it(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await self.start(runtime, sandbox, self.config())
            await runtime.remove_container(container_id)
            assert list(await runtime.list_containers()) == []

        self.run(steps)

    def test_a_container_needs_a_sandbox_that_is_ready(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            await runtime.stop_sandbox(sandbox.id)
            failure = await failing(runtime.create_container(sandbox, self.config()))
            assert failure.reason == CREATE_CONTAINER_ERROR

        self.run(steps)

    def test_a_container_nobody_made_cannot_be_started(self) -> None:
        async def steps(runtime: Runtime, _: Sandbox) -> None:
            scheme = (await runtime.info()).name
            failure = await failing(runtime.start_container(f"{scheme}://nothing"))
            assert failure.reason == RUN_CONTAINER_ERROR
            assert "nothing" in str(failure)

        self.run(steps)

    def test_whoever_listens_hears_of_what_begins_and_ends(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            changes = runtime.changes()
            heard = asyncio.ensure_future(anext(changes))
            await asyncio.sleep(0)  # a listener is one from when it first waits
            container_id = await self.start(runtime, sandbox, self.config())
            assert await heard == POD.uid
            await self._until(runtime, changes, container_id, ContainerState.RUNNING)
            await runtime.stop_container(container_id, 0)
            await self._until(runtime, changes, container_id, ContainerState.EXITED)

        self.run(steps)

    # Inside ---------------------------------------------------------------------------------------

    def test_a_container_ends_with_the_code_of_its_process(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            for name, code, reason in (("well", 0, "Completed"), ("badly", 3, "Error")):
                config = self.config("sh", "-c", f"exit {code}", name=name)
                container = await self.finish(runtime, sandbox, config)
                assert (container.exit_code, container.reason) == (code, reason)
                assert container.started_at is not None
                assert container.finished_at is not None
                assert container.started_at <= container.finished_at

        self.run_inside(steps)

    def test_output_is_in_the_log_line_by_line(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            script = "echo out; echo bad >&2; printf rest"
            container = await self.finish(runtime, sandbox, self.config("sh", "-c", script))
            lines = [
                line.split(" ", 3) for line in Path(container.log_path).read_text().split("\n")
            ]
            entries = {tuple(line[1:]) for line in lines if line != [""]}
            assert {("stdout", "F", "out"), ("stderr", "F", "bad")} <= entries
            assert any(entry[2] == "rest" for entry in entries)

        self.run_inside(steps)

    def test_a_container_has_the_variables_and_the_directory_it_asks_for(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            config = replace(
                self.config("sh", "-c", 'echo "$WORD in $(pwd)"'),
                environment=(("WORD", "two words"),),
                working_directory="/tmp",  # noqa: S108 - a directory every host has
            )
            container = await self.finish(runtime, sandbox, config)
            assert "stdout F two words in /tmp" in Path(container.log_path).read_text()

        self.run_inside(steps)

    def test_what_ignores_its_stop_signal_is_killed(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            script = "trap '' TERM; read word; echo up; while :; do sleep 1000; done"
            config = replace(self.config("sh", "-c", script), stdin=True)
            container_id = await self.start(runtime, sandbox, config)
            session = await runtime.open_session(container_id, SessionConfig(stdin=True))
            await session.write(b"word\n")
            assert await session.read() == (1, b"up\n")
            await session.close()
            await runtime.stop_container(container_id, SOON_SECONDS)
            assert (await find(runtime, container_id)).exit_code == 137

        self.run_inside(steps)

    def test_a_command_inside_says_how_it_ended_and_what_it_wrote(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await self.start(runtime, sandbox, self.config())
            command = ("sh", "-c", "echo out; echo bad >&2; exit 7")
            result = await runtime.execute(container_id, command, timeout_seconds=NEVER_SECONDS)
            assert result.exit_code == 7
            assert sorted(result.output.split()) == [b"bad", b"out"]

        self.run_inside(steps)

    def test_of_what_a_command_writes_no_more_is_kept_than_was_asked_for(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await self.start(runtime, sandbox, self.config())
            result = await runtime.execute(
                container_id,
                ("sh", "-c", "head -c 1000000 /dev/zero"),
                timeout_seconds=NEVER_SECONDS,
                output_bytes_max=100,
            )
            assert (result.exit_code, result.output) == (0, bytes(100))

        self.run_inside(steps)

    def test_a_command_that_takes_too_long_is_given_up(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await self.start(runtime, sandbox, self.config())
            try:
                await runtime.execute(container_id, WAITING, timeout_seconds=SOON_SECONDS)
            except TimeoutError:
                return
            raise AssertionError("it should have been given up")

        self.run_inside(steps)

    def test_a_session_carries_both_ways(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await self.start(runtime, sandbox, self.config())
            script = "cat; echo bad >&2; exit 4"
            config = SessionConfig(command=("sh", "-c", script), stdin=True)
            session = await runtime.open_session(container_id, config)
            data = bytes(range(256)) * 1000
            streams = {1: b"", 2: b""}

            async def feed() -> None:
                await session.write(data)
                await session.write(b"")

            async with asyncio.TaskGroup() as group:
                group.create_task(feed())
                while (piece := await session.read())[0]:
                    streams[piece[0]] += piece[1]
            assert streams == {1: data, 2: b"bad\n"}
            assert await session.wait() == 4
            await session.close()
            await session.close()

        self.run_inside(steps)

    def test_nothing_can_be_run_in_a_container_that_has_ended(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container = await self.finish(runtime, sandbox, self.config("true"))
            running = runtime.execute(container.id, ("true",), timeout_seconds=NEVER_SECONDS)
            await failing(running)
            await failing(runtime.open_session(container.id, SessionConfig()))

        self.run_inside(steps)

    def test_a_command_that_does_not_exist_cannot_be_started(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            container_id = await runtime.create_container(sandbox, self.config("/no/such/program"))
            failure = await failing(runtime.start_container(container_id))
            assert failure.reason == RUN_CONTAINER_ERROR
            container = await find(runtime, container_id)
            assert container.state is not ContainerState.RUNNING

        self.run_inside(steps)

    def test_devices_nobody_defines_are_named(self) -> None:
        async def steps(runtime: Runtime, sandbox: Sandbox) -> None:
            config = replace(self.config(), cdi_devices=("vendor.example.com/none=none",))
            failure = await failing(runtime.create_container(sandbox, config))
            assert isinstance(failure, UnresolvedDevices)
            assert failure.devices == config.cdi_devices
            assert "unresolvable CDI devices" in str(failure)
            assert list(await runtime.list_containers()) == []

        self.run_inside(steps)

    # Helpers --------------------------------------------------------------------------------------

    async def finish(
        self, runtime: Runtime, sandbox: Sandbox, config: ContainerConfig
    ) -> Container:
        """Run a container to its end."""
        changes = runtime.changes()
        listening = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0)
        container_id = await self.start(runtime, sandbox, config)
        await listening
        return await self._until(runtime, changes, container_id, ContainerState.EXITED)

    async def _until(
        self,
        runtime: Runtime,
        changes: AsyncIterator[str],
        container_id: str,
        state: ContainerState,
    ) -> Container:
        """The container once it is in this state, as changes tell."""
        while (container := await find(runtime, container_id)).state is not state:
            await anext(changes)
        return container


def sandbox_config(directory: Path) -> SandboxConfig:
    """Of the pod that all tests are about."""
    return SandboxConfig(
        pod=POD, attempt=0, hostname=POD.name, log_directory=str(directory / "logs")
    )


async def find_sandbox(runtime: Runtime, sandbox_id: str) -> Sandbox:
    """The sandbox of this id, which is listed."""
    (found,) = [each for each in await runtime.list_sandboxes() if each.id == sandbox_id]
    return found


async def find(runtime: Runtime, container_id: str) -> Container:
    """The container of this id, which is listed."""
    (found,) = [each for each in await runtime.list_containers() if each.id == container_id]
    return found


async def failing(awaitable: Awaitable[object]) -> RuntimeFailed:
    """The failure of what must not succeed."""
    try:
        await awaitable
    except RuntimeFailed as failure:
        return failure
    raise AssertionError("it should have failed")
