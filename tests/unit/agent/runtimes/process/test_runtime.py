"""Containers as processes: with cgroups and without, as root and as nobody special."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dray.agent.runtimes.failures import (
    CREATE_CONTAINER_ERROR,
    RUN_CONTAINER_ERROR,
    RuntimeFailed,
)
from dray.agent.runtimes.process.launch import Privileges, find_privileges
from dray.agent.runtimes.process.runtime import ProcessRuntime
from dray.agent.runtimes.process.shim.identity import identify
from dray.agent.runtimes.process.shim.records import SUPERVISOR, read_record, write_record
from dray.agent.runtimes.runtime import ContainerConfig, ContainerState, Mount, Runtime
from dray.clock import SystemClock
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from dray.testing.runtime_suite import POD, RuntimeSuite, find
from tests.unit.agent.runtimes.process.hosts import (
    Host,
    gone,
    host,
    kill,
    log,
    open_runtime,
    write_spec,
)

ROOT = Path(__file__).parents[5]
WAITING = ("sleep", "1000")

pytestmark = pytest.mark.slow


class TestProcessRuntime(RuntimeSuite):
    @asynccontextmanager
    async def open_runtime(self, directory: Path) -> AsyncIterator[Runtime]:
        async with ProcessRuntime(
            directory / "runtime",
            clock=SystemClock(),
            entropy=SeededEntropy(1),
            cdi_directories=(directory / "cdi",),
        ) as runtime:
            yield runtime


class TestProcessRuntimeWithoutCgroups(RuntimeSuite):
    @asynccontextmanager
    async def open_runtime(self, directory: Path) -> AsyncIterator[Runtime]:
        async with ProcessRuntime(
            directory / "runtime",
            clock=SystemClock(),
            entropy=SeededEntropy(1),
            cdi_directories=(directory / "cdi",),
            use_cgroups=False,
        ) as runtime:
            yield runtime


BOTH = pytest.mark.parametrize("use_cgroups", [True, False], ids=["cgroups", "groups"])


# What dies, and what lives on ------------------------------------------------------------------


@BOTH
def test_a_container_whose_process_is_killed_has_ended(use_cgroups: bool) -> None:
    async def main() -> None:
        async with host(use_cgroups=use_cgroups) as here:
            container_id = await here.start(*WAITING)
            kill(here.process(container_id))
            ended = await here.ended(container_id)
            assert (ended.exit_code, ended.signal, ended.reason) == (137, 9, "Error")

    asyncio.run(main())


@BOTH
def test_a_container_whose_supervisor_is_killed_is_killed_and_says_so(use_cgroups: bool) -> None:
    async def main() -> None:
        async with host(use_cgroups=use_cgroups) as here:
            # One that ignores everything, and has a child in its session.
            script = "trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000"
            container_id = await here.start("sh", "-c", script)
            pid = await first_pid(here, container_id)
            kill(here.supervisor(container_id))
            ended = await here.ended(container_id)
            assert (ended.exit_code, ended.reason) == (137, "Error")
            assert "supervisor was killed" in ended.message
            assert ended.started_at is not None
            assert identify(pid) is None
            assert identify(here.process(container_id)) is None

    asyncio.run(main())


def test_with_cgroups_nothing_outlives_a_killed_supervisor() -> None:
    async def main() -> None:
        async with host() as here:
            if here.runtime._cgroups is None:
                pytest.skip("no cgroups here")
            container_id = await here.start(*DAEMON)
            pid = await first_pid(here, container_id)
            kill(here.supervisor(container_id))
            await here.ended(container_id)
            assert identify(pid) is None

    asyncio.run(main())


DAEMON = ("sh", "-c", "setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000")


@BOTH
def test_what_became_a_daemon_dies_with_its_container(use_cgroups: bool) -> None:
    async def main() -> None:
        async with host(use_cgroups=use_cgroups) as here:
            container_id = await here.start(*DAEMON)
            pid = await first_pid(here, container_id)
            await here.runtime.stop_container(container_id, 10)
            assert identify(pid) is None
            assert (await here.ended(container_id)).exit_code == 143

    asyncio.run(main())


@BOTH
def test_daemons_of_a_container_that_ends_by_itself_end_with_it(use_cgroups: bool) -> None:
    async def main() -> None:
        async with host(use_cgroups=use_cgroups) as here:
            # The daemon's parent is gone before it is looked for.
            script = "(setsid sh -c 'echo $$; exec sleep 1000' &); read word < fifo; exit 3"
            fifo = here.directory / "fifo"
            os.mkfifo(fifo)
            container_id = await here.start(
                "sh", "-c", script, working_directory=str(here.directory)
            )
            pid = await first_pid(here, container_id)
            await asyncio.to_thread(fifo.write_text, "go\n")
            assert (await here.ended(container_id)).exit_code == 3
            assert identify(pid) is None

    asyncio.run(main())


def test_the_grace_of_a_stop_is_the_clocks() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with host(clock) as here:
            script = "trap 'echo asked' TERM; echo up; while :; do sleep 1000 & wait; done"
            container_id = await here.start("sh", "-c", script)
            await here.said(container_id, "up")
            stopping = asyncio.ensure_future(here.runtime.stop_container(container_id, 30))
            await here.said(container_id, "asked")
            clock.advance(29)
            for _ in range(10):
                await asyncio.sleep(0)
            assert not stopping.done()
            clock.advance(2)
            await stopping
            assert (await here.ended(container_id)).exit_code == 137

    asyncio.run(main())


def test_a_container_may_be_stopped_by_another_signal() -> None:
    async def main() -> None:
        async with host() as here:
            script = "trap 'exit 9' USR1; echo up; while :; do sleep 1000 & wait; done"
            container_id = await here.start("sh", "-c", script, stop_signal="SIGUSR1")
            await here.said(container_id, "up")
            await here.runtime.stop_container(container_id, 60)
            assert (await here.ended(container_id)).exit_code == 9

    asyncio.run(main())


# Agents come and go ----------------------------------------------------------------------------


AGENT = """
import asyncio, sys
from pathlib import Path
from tests.unit.agent.runtimes.process.hosts import Host, open_runtime
from dray.testing.runtime_suite import find_sandbox, sandbox_config

async def main():
    directory = Path(sys.argv[1])
    runtime = open_runtime(directory)
    sandbox = await find_sandbox(runtime, await runtime.run_sandbox(sandbox_config(directory)))
    here = Host(directory, runtime, sandbox)
    await here.start("sh", "-c", "echo up; read word < fifo; exit 6", name="runs",
                     working_directory=str(directory))
    ended = await here.start("sh", "-c", "exit 4", name="ended")
    await here.ended(ended)
    await here.start("sleep", "1000", name="lost")
    await here.create("true", name="made")
    print("ready", flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


@BOTH
def test_a_new_agent_finds_what_one_left_that_was_killed(use_cgroups: bool) -> None:
    async def main() -> None:
        async with host(use_cgroups=use_cgroups) as here:
            await here.runtime.close()
            os.mkfifo(here.directory / "fifo")
            agent = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-c", AGENT, str(here.directory)),
                stdout=asyncio.subprocess.PIPE,
                cwd=ROOT,
            )
            assert agent.stdout is not None
            assert await agent.stdout.readline() == b"ready\n"
            agent.kill()
            await agent.communicate()
            lost = read_record(
                str(here.directory / f"runtime/containers/{POD.uid}_0_lost_0/{SUPERVISOR}")
            )
            assert lost is not None
            kill(lost["supervisor"]["pid"])
            await gone(lost["supervisor"]["pid"])

            async with open_runtime(here.directory, use_cgroups=use_cgroups) as runtime:
                another = Host(here.directory, runtime, here.sandbox)
                ids = {each.name: each.id for each in await runtime.list_containers()}
                assert sorted(ids) == ["ended", "lost", "made", "runs"]
                assert (await another.ended(ids["ended"])).exit_code == 4
                assert (await another.ended(ids["lost"])).exit_code == 137
                made, runs = [await find(runtime, ids[name]) for name in ("made", "runs")]
                assert made.state is ContainerState.CREATED
                assert runs.state is ContainerState.RUNNING
                # It is heard of at once, though it was another agent's.
                changes = runtime.changes()
                await asyncio.to_thread((here.directory / "fifo").write_text, "go\n")
                while (await find(runtime, ids["runs"])).state is ContainerState.RUNNING:
                    assert await anext(changes) == POD.uid
                assert (await find(runtime, ids["runs"])).exit_code == 6

    asyncio.run(main())


def test_a_damaged_container_is_ended_and_set_aside() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start(*WAITING)
            pid, directory = (
                here.process(container_id),
                here.runtime._containers[container_id].directory,
            )
            await here.runtime.close()
            (directory / "container.json").write_bytes(b"{")
            async with open_runtime(here.directory) as runtime:
                assert list(await runtime.list_containers()) == []
                await asyncio.gather(*runtime._tasks)
                assert identify(pid) is None
            assert [each.name for each in directory.parent.iterdir()] == [
                f"{directory.name}.damaged-0"
            ]

    asyncio.run(main())


def test_a_damaged_record_of_an_exit_is_an_end_all_the_same() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start("true")
            await here.ended(container_id)
            directory = here.runtime._containers[container_id].directory
            await here.runtime.close()
            (directory / "exit.json").write_bytes(b"")
            async with open_runtime(here.directory) as runtime:
                another = Host(here.directory, runtime, here.sandbox)
                assert (await another.ended(container_id)).exit_code == 137

    asyncio.run(main())


def test_a_process_that_has_a_containers_pid_now_is_left_alone() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start("true")
            await here.ended(container_id)
            directory = here.runtime._containers[container_id].directory
            await here.runtime.close()
            bystander = await asyncio.create_subprocess_exec("sleep", "1000")
            record = read_record(str(directory / SUPERVISOR))
            assert record is not None
            for noun in ("supervisor", "process"):
                record[noun]["pid"] = bystander.pid
            record["cgroup"] = ""
            write_record(str(directory / SUPERVISOR), record)
            (directory / "exit.json").unlink()
            async with open_runtime(here.directory) as runtime:
                another = Host(here.directory, runtime, here.sandbox)
                assert (await another.ended(container_id)).exit_code == 137
                assert bystander.returncode is None
                assert identify(bystander.pid) is not None
            bystander.kill()
            await bystander.wait()

    asyncio.run(main())


def test_a_host_that_was_restarted_has_ended_all_containers() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start("true")
            await here.ended(container_id)
            directory = here.runtime._containers[container_id].directory
            await here.runtime.close()
            record = read_record(str(directory / SUPERVISOR))
            assert record is not None
            record["supervisor"]["bootID"] = record["process"]["bootID"] = "another"
            write_record(str(directory / SUPERVISOR), record)
            (directory / "exit.json").unlink()
            async with open_runtime(here.directory) as runtime:
                another = Host(here.directory, runtime, here.sandbox)
                ended = await another.ended(container_id)
                assert (ended.exit_code, ended.message) == (255, "the host was restarted")

    asyncio.run(main())


def test_two_agents_that_start_a_container_start_it_once() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.create("sh", "-c", "echo once; exec sleep 1000")
            async with open_runtime(here.directory) as other:
                await other.list_containers()
                await asyncio.gather(
                    here.runtime.start_container(container_id), other.start_container(container_id)
                )
                await here.said(container_id, "once")
                await other.stop_container(container_id, 0)
                ended = await here.ended(container_id)
                assert log(Path(ended.log_path)) == ["once"]

    asyncio.run(main())


def test_a_start_that_nobody_waits_for_any_more_is_finished() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.create(*WAITING)
            starting = asyncio.ensure_future(here.runtime.start_container(container_id))
            await asyncio.sleep(0)
            starting.cancel()
            await here.runtime.stop_container(container_id, 0)
            assert (await here.ended(container_id)).exit_code == 137

    asyncio.run(main())


def test_two_hundred_containers_are_fine() -> None:
    async def main() -> None:
        async with host() as here:
            ids = [await here.create(*WAITING, name=f"c{index}") for index in range(200)]
            gate = asyncio.Semaphore(8)

            async def start(container_id: str) -> None:
                async with gate:
                    await here.runtime.start_container(container_id)

            await asyncio.gather(*(start(each) for each in ids))
            states = [each.state for each in await here.runtime.list_containers()]
            assert states == [ContainerState.RUNNING] * 200
            await here.runtime.stop_sandbox(here.sandbox.id)
            states = [each.state for each in await here.runtime.list_containers()]
            assert states == [ContainerState.EXITED] * 200

    asyncio.run(main())


# Output ----------------------------------------------------------------------------------------


def test_much_output_is_kept_as_far_as_the_log_goes() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start("sh", "-c", "seq 1 1500000; echo end")
            ended = await here.ended(container_id)
            directory = Path(ended.log_path).parent
            files = sorted(directory.iterdir(), key=lambda each: (each.suffix == ".log", each.name))
            assert 2 < len(files) <= 5
            assert all(each.stat().st_size <= 10 * 1024 * 1024 for each in files)
            assert log(files[-1])[-2:] == ["1500000", "end"]
            assert log(files[-2])[-1] == str(int(log(files[-1])[0]) - 1)
            await here.runtime.remove_container(container_id)
            assert not directory.exists()

    asyncio.run(main())


def test_output_that_is_no_text_is_kept_as_it_is() -> None:
    async def main() -> None:
        async with host() as here:
            data = bytes(range(256)) * 300
            (here.directory / "data").write_bytes(data)
            container_id = await here.start("cat", str(here.directory / "data"))
            ended = await here.ended(container_id)
            written = b""
            for line in Path(ended.log_path).read_bytes().split(b"\n")[:-1]:
                _, stream, tag, text = line.split(b" ", 3)
                assert stream == b"stdout"
                written += text + (b"\n" if tag == b"F" else b"")
            assert written == data

    asyncio.run(main())


# What a container is given ---------------------------------------------------------------------


ROOT_ONLY = pytest.mark.skipif(
    not find_privileges().has_namespaces, reason="mount namespaces need root"
)


@ROOT_ONLY
def test_mounts_are_seen_inside_and_nowhere_else() -> None:
    async def main() -> None:
        async with host() as here:
            source = here.directory / "source"
            source.mkdir()
            (source / "file").write_text("content\n")
            before = sorted(os.listdir("/")), sorted(os.listdir("/etc"))
            mounts = (
                Mount(str(source), "/dray-data/inner"),
                Mount(str(source / "file"), "/etc/dray-file", read_only=True),
                Mount(str(source), str(here.directory / "runtime"), read_only=True),
            )
            script = (
                "cat /dray-data/inner/file /etc/dray-file; echo no > /etc/dray-file; "
                f"touch /dray-data/inner/new; ls {here.directory}/runtime; hostname"
            )
            container_id = await here.start("sh", "-c", script, mounts=mounts)
            ended = await here.ended(container_id)
            lines = log(Path(ended.log_path))
            assert lines[:2] == ["content", "content"]
            assert any("Read-only file system" in line for line in lines)
            assert {"file", "new", POD.name} <= set(lines)
            assert (sorted(os.listdir("/")), sorted(os.listdir("/etc"))) == before
            assert (source / "new").exists()

    asyncio.run(main())


@ROOT_ONLY
def test_commands_inside_see_the_mounts_too() -> None:
    async def main() -> None:
        async with host() as here:
            (here.directory / "file").write_text("content")
            mounts = (Mount(str(here.directory / "file"), "/dray-new/file"),)
            container_id = await here.start(*WAITING, mounts=mounts)
            result = await here.runtime.execute(
                container_id, ("cat", "/dray-new/file"), timeout_seconds=60
            )
            assert (result.exit_code, result.output) == (0, b"content")

    asyncio.run(main())


@ROOT_ONLY
def test_a_container_may_be_another_user_without_capabilities() -> None:
    async def main() -> None:
        async with host() as here:
            container_id = await here.start(
                *("sh", "-c", "id -u; id -g; id -G; grep CapBnd /proc/self/status"),
                run_as_user=12345,
                run_as_group=23456,
                supplemental_groups=(34567,),
                drop_capabilities=("ALL",),
            )
            ended = await here.ended(container_id)
            lines = log(Path(ended.log_path))
            assert lines == ["12345", "23456", "23456 34567", "CapBnd:\t0000000000000000"]

    asyncio.run(main())


def test_without_privileges_a_mount_that_changes_nothing_is_granted() -> None:
    async def main() -> None:
        nobody = Privileges(is_root=False, has_namespaces=False, user=os.geteuid())
        async with host(privileges=nobody) as here:
            here_already = Mount("/etc", "/etc")
            container_id = await here.start("true", mounts=(here_already,))
            assert (await here.ended(container_id)).exit_code == 0
            with pytest.raises(RuntimeFailed, match="needs a mount namespace") as caught:
                await here.create("true", name="other", mounts=(Mount("/etc", "/dray"),))
            assert caught.value.reason == CREATE_CONTAINER_ERROR
            with pytest.raises(RuntimeFailed, match="cannot change that"):
                await here.create("true", name="other", run_as_user=os.geteuid() + 1)

    asyncio.run(main())


def test_devices_bring_variables_mounts_and_hooks() -> None:
    async def main() -> None:
        async with host() as here:
            spoken = here.directory / "spoken"
            hooks = [
                {
                    "hookName": name,
                    "path": "/bin/sh",
                    "args": ["sh", "-c", f'echo {name}; cat; echo "$WHO"; ) >> {spoken}'],
                    "env": ["WHO=driver"],
                }
                for name in ("createRuntime", "poststart", "poststop")
            ]
            for hook in hooks:
                hook["args"][2] = "(" + hook["args"][2]  # type: ignore[index]
            write_spec(
                here,
                {
                    "env": ["DEVICE=gpu-0", "MODE=device"],
                    "deviceNodes": [{"path": "/dev/null"}],
                    "hooks": hooks,
                },
            )
            container_id = await here.start(
                *("sh", "-c", 'echo "$DEVICE $MODE $OWN"'),
                environment=(("MODE", "pod"), ("OWN", "own")),
                cdi_devices=("vendor.example.com/gpu=gpu-0",),
            )
            ended = await here.ended(container_id)
            assert log(Path(ended.log_path)) == ["gpu-0 device own"]
            text = spoken.read_text()
            order = [text.index(name) for name in ("createRuntime", "poststart", "poststop")]
            assert order == sorted(order)
            assert '"ociVersion"' in text
            assert container_id in text
            assert text.count("driver") == 3

    asyncio.run(main())


def test_a_hook_that_fails_keeps_the_container_from_running() -> None:
    async def main() -> None:
        async with host() as here:
            hook = {
                "hookName": "createRuntime",
                "path": "/bin/sh",
                "args": ["sh", "-c", "echo the device is gone >&2; exit 7"],
            }
            write_spec(here, {"env": ["A=b"], "hooks": [hook]})
            with pytest.raises(RuntimeFailed, match="exit status 7: the device is gone") as caught:
                await here.start("echo", "ran", cdi_devices=("vendor.example.com/gpu=gpu-0",))
            assert caught.value.reason == RUN_CONTAINER_ERROR
            (container,) = await here.runtime.list_containers()
            assert container.state is ContainerState.EXITED
            assert (container.exit_code, container.reason) == (128, "ContainerCannotRun")
            assert log(Path(container.log_path)) == []

    asyncio.run(main())


def test_a_device_that_is_not_there_keeps_the_container_from_being_made() -> None:
    async def main() -> None:
        async with host() as here:
            write_spec(here, {"deviceNodes": [{"path": "/dev/dray-none"}]})
            with pytest.raises(RuntimeFailed, match="/dev/dray-none does not exist"):
                await here.create("true", cdi_devices=("vendor.example.com/gpu=gpu-0",))

    asyncio.run(main())


def test_a_container_must_say_what_it_runs() -> None:
    async def main() -> None:
        async with host() as here:
            with pytest.raises(RuntimeFailed, match="images are not pulled on this node"):
                await here.create()

    asyncio.run(main())


def test_a_pause_needs_no_command() -> None:
    async def main() -> None:
        async with host() as here:
            config = ContainerConfig("pause", 0, "registry.k8s.io/pause:3.10@sha256:ab")
            container_id = await here.runtime.create_container(here.sandbox, config)
            await here.runtime.start_container(container_id)
            await here.runtime.stop_container(container_id, 60)
            assert (await here.ended(container_id)).exit_code == 0

    asyncio.run(main())


def test_ports_of_the_host_are_those_of_the_pod() -> None:
    async def main() -> None:
        async with host() as here:

            async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                writer.write(await reader.readline())
                await writer.drain()
                writer.close()
                await writer.wait_closed()

            server = await asyncio.start_server(echo, "127.0.0.1", 0)
            async with server:
                port = server.sockets[0].getsockname()[1]
                pieces, sink = await here.runtime.connect(here.sandbox.id, port)
                await sink.write(b"hello\n")
                assert [piece async for piece in pieces] == [b"hello\n"]
                await sink.close()
            with pytest.raises(RuntimeFailed, match="failed to connect"):
                await here.runtime.connect(here.sandbox.id, port)

    asyncio.run(main())


# Helpers ---------------------------------------------------------------------------------------


async def first_pid(here: Host, container_id: str) -> int:
    """The pid that a container's script writes first."""
    pid = int((await here.wrote(container_id, bool))[0])
    assert identify(pid) is not None
    return pid
