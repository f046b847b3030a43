"""Dray's API server, started as its users start it, with the same face as the real one.

Run as `python -m tests.interop.dray_server` it stays until interrupted and prints its kubeconfig.
"""

from __future__ import annotations

import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from tests.interop.endpoint import Endpoint, Process, ServerFailed

__all__ = ["DrayServer", "has_server"]

START_SECONDS_MAX = 60

# The same choices as for the real server. That one does not mind who holds a device, and scripts
# give one device to several claims.
FLAGS = (
    "--no-allocation-check",
    "--runtime-config",
    ",".join(f"resource.k8s.io/{version}=true" for version in ("v1beta1", "v1beta2", "v1alpha3")),
    "--feature-gates",
    "DRAResourcePoolStatus=true",
)
STOP_SECONDS_MAX = 30


def has_server() -> bool:
    """Whether this dray's command line has a server to start."""
    return find_spec("dray.cli.server") is not None


class DrayServer(Process):
    """`dray server` on a data directory of its own; `restart` keeps directory and port."""

    def __init__(self, *, flags: tuple[str, ...] = FLAGS) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="dray-server-"))
        self.flags = flags
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port: int = listener.getsockname()[1]
        self._kubeconfig = self.folder / "kubeconfig"
        self._process = self._start()
        self.endpoint = Endpoint.from_kubeconfig(self._kubeconfig)

    @property
    def process_ids(self) -> list[int]:
        return [self._process.pid]

    def restart(self) -> None:
        self._end()
        self._process = self._start()

    def stop(self) -> None:
        self._end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "dray", "server", "--data-dir", str(self.folder / "data")]
        command += ["--port", str(self.port), "--kubeconfig", str(self._kubeconfig), *self.flags]
        with (self.folder / "log").open("a") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        # One line on its output says that it is ready.
        assert process.stdout is not None
        deadline = time.monotonic() + START_SECONDS_MAX
        readable, _, _ = select.select([process.stdout], [], [], deadline - time.monotonic())
        line = process.stdout.readline() if readable else ""
        if not line:
            process.kill()
            process.wait()
            tail = (self.folder / "log").read_text()[-3000:]
            raise ServerFailed(
                f"dray server said nothing and ended with {process.returncode}:\n{tail}"
            )
        return process

    def _end(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                raise ServerFailed("dray server did not stop on SIGTERM") from None
        if self._process.stdout is not None:
            self._process.stdout.close()


def main() -> None:
    server = DrayServer(flags=(*FLAGS, *sys.argv[1:]))
    sys.stdout.write(f"{server.endpoint.kubeconfig}\n")
    sys.stdout.flush()
    try:
        signal.pause()
    except KeyboardInterrupt:
        sys.stderr.write("stopping\n")
    finally:
        server.stop()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    main()
