"""A cluster in one real process, `dray up`, killed and started again on what it left on disk.

Some of its nodes are this machine, where pods are processes that outlive the cluster's own; the
others only seem to be there, and what runs on them is gone with the process.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dray.agent.claims.checkpoint import decode_checkpoint
from dray.agent.claims.claim_info import ClaimInfo
from dray.api.cdi import decode_spec
from dray.client import Client, connect, load_kubeconfig
from dray.clock import SystemClock
from dray.drivers.simulated.control import SOCKET_NAME, command
from dray.sdk._journal import Entry, _read
from tests.e2e.node_machine import FOLDER_VARIABLE, Member

__all__ = ["DRIVER", "REAL_NODES", "SIMULATED_NODES", "ContainerProcess", "UpMachine"]

DRIVER = "gpu.simulated.dev"
REAL_NODES = ("real-1", "real-2")
SIMULATED_NODES = ("sim-1", "sim-2", "sim-3")

_DEVICES = """
  devices:
  - {model: plain, count: 4, name: gpu}
  - {model: cut, count: 1, name: big}
  - {model: shared, count: 1, name: shared}
"""
FLEET = f"""
models:
  plain: {{attributes: {{productName: plain}}, capacity: {{memory: 40Gi}}}}
  cut:
    attributes: {{productName: cut}}
    capacity: {{memory: 80Gi}}
    partitions:
      counters: {{memory: 80Gi, slices: 7}}
      profiles:
      - {{name: 1g, count: 7, capacity: {{memory: 10Gi}}, consumes: {{memory: 10Gi, slices: 1}}}}
      - {{name: 3g, count: 2, capacity: {{memory: 40Gi}}, consumes: {{memory: 40Gi, slices: 3}}}}
  shared:
    attributes: {{productName: shared, shared: true}}
    capacity: {{memory: {{value: 40Gi, minimum: 1Gi, step: 1Gi, default: 10Gi}}}}
    shared: true
nodes:
- name: real
  count: {len(REAL_NODES)}
  runtime: process
{_DEVICES}
- name: sim
  count: {len(SIMULATED_NODES)}
  runtime: memory
{_DEVICES}
"""


class ContainerProcess:
    """A process of a container: which pod's, which container's, and with which devices."""

    def __init__(self, pid: int, environment: dict[str, str]) -> None:
        self.pid = pid
        self.uid = environment.get("STORM_UID", "")
        self.container = environment.get("STORM_CONTAINER", "")
        self.node = environment.get("STORM_NODE", "")
        # Pods that share a claim have the same owner of devices; all others are their own.
        self.owner = environment.get("STORM_OWNER", "") or self.uid
        self.devices = frozenset(
            value
            for name, value in environment.items()
            # What else is said of a device has longer names.
            if name == f"SIMULATED_DEVICE_{re.sub('[^A-Z0-9]', '_', value.upper())}"
        )


class UpMachine:
    """`dray up` on a directory, and what there is in it and on the machine."""

    def __init__(self, folder: Path, *, fleet: str = FLEET) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.kubeconfig = self.data / "kubeconfig"
        file = folder / "fleet.yaml"
        file.write_text(fleet)
        words = [sys.executable, "-m", "dray", "up", "--data-dir", str(self.data), "--port", "0"]
        self.up = Member("up", [*words, "--fleet", str(file)], folder / "up.log")
        self.ready_seconds: list[float] = []
        self._client: Client | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._disconnect()
        if self.up.running:
            await self.up.kill()
        for pid in (*self.supervisors(), *(one.pid for one in self.processes())):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    async def start(self) -> None:
        """Have it run, and a client of it."""
        clock = SystemClock()
        began = clock.monotonic()
        await self.up.start()
        await self.up.ready()
        self.check_alive()
        self.ready_seconds.append(clock.monotonic() - began)
        self._client = connect(load_kubeconfig(self.kubeconfig), clock=clock)

    async def kill(self) -> None:
        """End it, as a power failure ends a process, and leave its pods."""
        await self.up.kill()
        await self._disconnect()

    def check_alive(self) -> None:
        code = self.up.ended_by_itself
        assert code is None, f"dray up exited with {code}:\n{self.up.last_words(40)}"

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def tell(self, node: str, told: dict[str, Any]) -> dict[str, Any]:
        """Tell the driver of a node about faults. Raises ConfigurationError if it is not there."""
        return await command(self._plugin(node) / SOCKET_NAME, told)

    # What is on disk ----------------------------------------------------------------------------

    def _root(self, node: str) -> Path:
        return self.data / "nodes" / node

    def _plugin(self, node: str) -> Path:
        return self._root(node) / "plugins" / DRIVER

    def checkpoint(self, node: str) -> tuple[ClaimInfo, ...]:
        """Claims, as the agent of a node has recorded them."""
        path = self._root(node) / "dra_manager_state"
        return decode_checkpoint(path.read_bytes()) if path.exists() else ()

    def journal(self, node: str) -> tuple[Entry, ...]:
        """Claims, as the driver of a node has recorded them."""
        path = self._plugin(node) / "journal.json"
        return _read(path, DRIVER) if path.exists() else ()

    def cdi_devices(self, node: str) -> dict[str, tuple[str, ...]]:
        """Files of a node's CDI directory, each with the devices it names."""
        found: dict[str, tuple[str, ...]] = {}
        for path in (self._root(node) / "cdi").iterdir():
            with suppress(FileNotFoundError):
                content = path.read_bytes()
                devices = decode_spec(content).devices if path.suffix == ".json" else ()
                found[path.name] = tuple(device.name for device in devices)
        return found

    def leftovers(self, node: str) -> list[str]:
        """What there is on disk of a node's pods, by name."""
        places = ("runtime/containers", "runtime/sandboxes", "pods", "logs")
        return [
            f"{place}/{path.name}"
            for place in places
            if (self._root(node) / place).is_dir()
            for path in (self._root(node) / place).iterdir()
        ]

    def database_bytes(self) -> int:
        """The size of the database with its log."""
        return sum(
            path.stat().st_size
            for path in (self.data / "dray.db", self.data / "dray.db-wal")
            if path.exists()
        )

    # What runs ----------------------------------------------------------------------------------

    def processes(self) -> list[ContainerProcess]:
        """The first process of every container."""
        mark = f"{FOLDER_VARIABLE}={self.folder}".encode()
        found: dict[int, ContainerProcess] = {}
        parents: dict[int, int] = {}
        for pid in _pids():
            with suppress(OSError):
                variables = Path("/proc", str(pid), "environ").read_bytes().split(b"\0")
                if mark in variables:
                    pairs = (text.decode().partition("=") for text in variables if text)
                    environment = {name: value for name, _, value in pairs}
                    stat = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2]
                    parents[pid] = int(stat.split()[1])
                    found[pid] = ContainerProcess(pid, environment)
        return [one for pid, one in found.items() if parents[pid] not in found]

    def supervisors(self) -> Sequence[int]:
        """Processes that were told of the cluster's directory, other than the cluster's own."""
        own = {self.up.pid} if self.up.running else set()
        found = []
        for pid in _pids():
            if pid in own:
                continue
            with suppress(OSError):
                words = Path("/proc", str(pid), "cmdline").read_bytes().decode().split("\0")
                if any(str(self.data / "nodes") in word for word in words):
                    found.append(pid)
        return found

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.up.pid}/fd"))

    def resident_bytes(self) -> int:
        pages = int(Path("/proc", str(self.up.pid), "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]
