"""`dray fault` against a driver that listens, and against nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from dray.cli import fault as module
from dray.cli.program import program
from dray.drivers.simulated.control import SOCKET_NAME, controlled
from dray.drivers.simulated.faults import ErrorClass, Fault, FaultKind, Faults, Operation
from tests.unit.sdk.drivers import short_directory


@contextmanager
def listening(driver: str = "gpu.simulated.dev") -> Iterator[tuple[Path, Faults]]:
    """A driver's control socket below a node's directory, served by another thread."""
    faults, ready = Faults(), threading.Event()
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve(path: Path) -> None:
        done = asyncio.Event()
        stop.append((asyncio.get_running_loop(), done))
        async with controlled(faults, path, devices=lambda: ["gpu-0", "gpu-1"]):
            ready.set()
            await done.wait()

    with short_directory() as root:
        path = root / "plugins" / driver / SOCKET_NAME
        thread = threading.Thread(target=lambda: asyncio.run(serve(path)))
        thread.start()
        try:
            assert ready.wait(10)
            yield root, faults
        finally:
            loop, done = stop[0]
            loop.call_soon_threadsafe(done.set)
            thread.join()


def run(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(program, ["fault", *arguments, "--root-dir", str(root)])


def test_a_fault_is_injected_with_all_that_was_said() -> None:
    with listening() as (root, faults):
        flags = ["--message", "no power", "--class", "device-failed", "--times", "3"]
        result = run(root, "inject", "gpu-0", "failing", *flags, "--operation", "both")
        assert (result.exit_code, result.output) == (0, "gpu-0: failing\n")
        assert faults.all() == (
            Fault(
                kind=FaultKind.FAILING,
                device="gpu-0",
                message="no power",
                error_class=ErrorClass.DEVICE_FAILED,
                operation=Operation.BOTH,
                times=3,
            ),
        )


def test_faults_are_listed_in_words() -> None:
    with listening() as (root, faults):
        assert (
            run(root, "list").output == "nothing is wrong with the devices of gpu.simulated.dev\n"
        )
        for fault in (
            Fault(kind=FaultKind.UNHEALTHY, device="gpu-0", message="too hot\x1b[2J"),
            Fault(kind=FaultKind.FLAPPING, device="gpu-1", seconds=5),
            Fault(kind=FaultKind.SLOW, seconds=2.5, operation=Operation.BOTH),
            Fault(kind=FaultKind.FAILING, error_class=ErrorClass.PERMANENT, times=2),
        ):
            faults.inject(fault)
        result = run(root, "list")
        assert result.exit_code == 0
        assert result.output.splitlines() == [
            'gpu-0: unhealthy, "too hot\\x1b[2J"',
            "gpu-1: flapping, 5 s",
            "all devices: slow, 2.5 s, on prepare and unprepare",
            "all devices: failing, with permanent errors, on prepare, 2 times in all",
        ]


def test_devices_recover_one_by_one_or_all_at_once() -> None:
    with listening() as (root, faults):
        for device in ("gpu-0", "gpu-1", "*"):
            faults.inject(Fault(kind=FaultKind.SILENT, device=device))
        assert run(root, "recover", "gpu-0").output == "gpu-0: 1 fault ended\n"
        assert run(root, "recover").output == "all devices: 2 faults ended\n"
        assert not faults.all()


def test_another_driver_is_named() -> None:
    with listening("fpga.example.com") as (root, faults):
        result = run(root, "inject", "*", "vanished", "--driver", "fpga.example.com")
        assert (result.exit_code, result.output) == (0, "all devices: vanished\n")
        assert len(faults.all()) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["inject", "gpu-9", "silent"], "there is no device 'gpu-9'; there are: gpu-0, gpu-1"),
        (["inject", "gpu-0", "slow"], "fault slow: say how many seconds"),
        (["inject", "gpu-0", "sad"], "'sad' is not one of 'unhealthy'"),
        (["inject", "gpu-0", "slow", "--seconds", "-1"], "-1.0 is not in the range"),
        (["recover", "gpu-9"], "there is no device 'gpu-9'"),
    ],
    ids=["device", "rule", "kind", "seconds", "recover"],
)
def test_what_makes_no_sense_is_said_so(arguments: list[str], told: str) -> None:
    with listening() as (root, faults):
        result = run(root, *arguments)
        assert result.exit_code == 2
        assert told in result.output
        assert "--root-dir" not in result.output
        assert not faults.all()


def test_a_driver_that_does_not_run_is_said_so(tmp_path: Path) -> None:
    result = run(tmp_path, "list")
    assert result.exit_code == 2
    assert f"no simulated driver answers at {tmp_path}/plugins/gpu.simulated.dev" in result.output
    assert "check --root-dir and --driver" in result.output
    assert "Nodes of `dray up` have --root-dir DATA_DIR/nodes/NODE" in result.output
    assert "such as ~/.local/share/dray/nodes/node-1" in result.output


def test_simulated_nodes_are_said_to_keep_no_files(tmp_path: Path) -> None:
    why = "Simulated nodes, of `dray up --nodes` or with the runtime memory, keep no files"
    assert why in run(tmp_path, "list").output
    (tmp_path / "up.lock").touch()
    root = tmp_path / "nodes" / "node-3"
    told = run(root, "list")
    assert told.exit_code == 2
    assert f"`dray up` in {tmp_path} keeps no files of a node node-3. {why}" in told.output
    assert "--root-dir" not in told.output, "it was right"
    for name in ("node-1", "node-2"):
        (root.parent / name).mkdir(parents=True)
    assert "keeps no files of a node node-3, only of node-1, node-2. " in run(root, "list").output
    assert "check --root-dir and --driver" in run(root.parent / "node-1", "list").output


def test_a_driver_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.01)

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "give", never)
    result = run(Path("/nowhere"), "list")
    assert result.exit_code == 2
    assert "did not answer within 0.01 s; check --root-dir and --driver" in result.output


def test_shells_complete_kinds_and_options() -> None:
    def completions(words: list[str], incomplete: str) -> list[str]:
        shell = ShellComplete(program, {}, "dray", "_DRAY_COMPLETE")
        return [item.value for item in shell.get_completions(words, incomplete)]

    assert completions(["fault"], "") == ["inject", "list", "recover"]
    assert completions(["fault", "inject", "gpu-0"], "un") == ["unhealthy", "unknown"]
    assert "--operation" in completions(["fault", "inject"], "--op")
    assert isinstance(module.command, click.Group)
