"""A driver as a process: ready line, signals, exit codes."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from dray.proto import registration_v1_pb2_grpc
from dray.proto.registration_v1_pb2 import RegistrationStatus
from tests.unit.sdk.drivers import short_directory
from tests.unit.sdk.test_driver import shown


def kubeconfig(root: Path) -> Path:
    """One whose server nobody listens at."""
    path = root / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    }
    path.write_text(json.dumps(config))
    return path


def start(root: Path, *flags: str, program: str = "") -> subprocess.Popen[str]:
    path = root / "driver.py"
    path.write_text(program or shown())
    return subprocess.Popen(
        [
            sys.executable,
            str(path),
            f"--kubeconfig={kubeconfig(root)}",
            f"--kubelet-directory={root}",
            f"--cdi-directory={root}/cdi",
            *flags,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def register(process: subprocess.Popen[str], root: Path) -> None:
    """Do as a node does, once the driver waits for it; it has said nothing before."""
    assert process.stderr is not None
    while "waits for its node to register it" not in process.stderr.readline():
        assert process.poll() is None
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 0) == ([], [], [])
    path = root / "plugins_registry" / "coins.example.com-reg.sock"
    with grpc.insecure_channel(f"unix:{path}") as channel:
        node = registration_v1_pb2_grpc.RegistrationStub(channel)
        node.NotifyRegistrationStatus(RegistrationStatus(plugin_registered=True), timeout=30)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_driver_says_when_it_is_ready_and_ends_cleanly_when_told(number: signal.Signals) -> None:
    with short_directory() as root, start(root, "--node-name=n1") as process:
        assert process.stdout is not None
        register(process, root)
        assert process.stdout.readline() == "driver coins.example.com is ready on node n1\n"
        sockets = sorted(path.name for path in root.rglob("*") if path.is_socket())
        assert sockets == ["coins.example.com-reg.sock", "dra.sock"]
        process.send_signal(number)
        out, log = process.communicate(timeout=30)
        assert process.returncode == 0, log
        assert out == ""
        assert "Traceback" not in log
        assert [path for path in root.rglob("*") if path.is_socket()] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "code", "text"),
    [
        ((), 2, "set NODE_NAME, or say --node-name"),
        (("--node-name=n1", "--kubeconfig=/nowhere"), 2, "/nowhere"),
        (("--node-name=n1", "--plugin-directory=/" + "x" * 120), 2, "107 at most"),
    ],
)
def test_a_driver_that_is_set_up_wrongly_says_so_and_exits_with_two(
    flags: tuple[str, ...], code: int, text: str
) -> None:
    with short_directory() as root, start(root, *flags) as process:
        out, log = process.communicate(timeout=30)
        assert process.returncode == code, log
        assert text in log
        assert "Traceback" not in log
        assert out == ""


FAILING = """
from dray.sdk import Driver, PermanentError, run

class Broken(Driver):
    name = "broken.example.com"

    async def started(self):
        raise PermanentError("the library is missing")

run(Broken())
"""

FAILING_LATER = """
from dray.sdk import Driver, run

class Broken(Driver):
    name = "broken.example.com"

    async def started(self):
        self.context.taints.run = self.fail

    async def fail(self):
        raise ValueError("what is this?")

run(Broken())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "text"),
    [(FAILING, "cannot run: the library is missing"), (FAILING_LATER, "ValueError: what is this?")],
)
def test_a_driver_that_fails_exits_with_one(program: str, text: str) -> None:
    with short_directory() as root, start(root, "--node-name=n1", program=program) as process:
        _, log = process.communicate(timeout=30)
        assert process.returncode == 1, log
        assert text in log
        assert [path for path in root.rglob("*") if path.is_socket()] == []


HANGING = """
import asyncio
from dray.sdk import Driver, run

class Slow(Driver):
    name = "slow.example.com"

    async def discover(self):
        print("discovering", flush=True)
        await asyncio.Event().wait()

    async def stopped(self):
        print("stopped", flush=True)

run(Slow())
"""


@pytest.mark.slow
def test_a_driver_that_is_told_to_end_while_it_starts_ends() -> None:
    with short_directory() as root, start(root, "--node-name=n1", program=HANGING) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "discovering\n"
        process.terminate()
        out, log = process.communicate(timeout=30)
        assert (process.returncode, out) == (0, "stopped\n"), log
        assert [path for path in root.rglob("*") if path.is_socket()] == []
