"""A machine of real processes: an API server, a node's agent, and drivers, each killed at will.

Everything is in one directory, which outlives the processes. The server is never killed here.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dray.agent.claims.checkpoint import decode_checkpoint
from dray.agent.claims.claim_info import ClaimInfo
from dray.agent.health.tombstones import Tombstones
from dray.api.cdi import decode_spec
from dray.client import Client, connect, load_kubeconfig
from dray.clock import SystemClock
from dray.drivers.simulated.control import SOCKET_NAME, command
from dray.sdk._journal import Entry, _read

__all__ = ["DEVICES", "DRIVERS", "NODE", "Machine", "Member", "Running"]

NODE = "node-1"
# Two drivers, what their devices are called, and how many each has.
DRIVERS = {"gpu.storm.test": "gpu", "nic.storm.test": "nic"}
DEVICES = 6

FLEET = """
models:
  thing: {{}}
nodes:
- devices: [{{model: thing, count: {count}, name: {name}}}]
"""

START_SECONDS = 60.0
END_SECONDS = 20.0

# In the environment of every container: by them its processes are found.
FOLDER_VARIABLE = "STORM_FOLDER"


class Member:
    """One process, started and killed over and over. What it logs is kept in one file."""

    def __init__(self, name: str, words: Sequence[str], log: Path) -> None:
        self.name = name
        self.kills = 0
        self.log = log
        self._words = words
        self._said = b""
        self._process: asyncio.subprocess.Process | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def ended_by_itself(self) -> int | None:
        """The exit code, if it ended in any other way than by being killed."""
        code = None if self._process is None else self._process.returncode
        return None if code == -signal.SIGKILL else code

    async def start(self) -> None:
        self._said = b""
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    async def ready(self) -> None:
        """Return once it has said so, or has ended."""
        assert self._process is not None
        assert self._process.stdout is not None
        if not self._said:
            self._said = await asyncio.wait_for(self._process.stdout.readline(), START_SECONDS)

    async def said(self) -> bytes:
        """The next line it says; nothing once it has ended."""
        assert self._process is not None
        assert self._process.stdout is not None
        return await asyncio.wait_for(self._process.stdout.readline(), START_SECONDS)

    async def ended(self) -> int:
        """The exit code of one that ends by itself."""
        assert self._process is not None
        return await asyncio.wait_for(self._process.wait(), START_SECONDS)

    async def kill(self) -> None:
        self.kills += 1
        await self._end(signal.SIGKILL)

    async def terminate(self) -> int:
        await self._end(signal.SIGTERM)
        assert self._process is not None
        assert self._process.returncode is not None
        return self._process.returncode

    async def _end(self, number: signal.Signals) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.send_signal(number)
        try:
            await asyncio.wait_for(self._process.communicate(), END_SECONDS)
        except TimeoutError:
            self._process.kill()
            await self._process.communicate()
            raise AssertionError(f"{self.name} does not end when told to; see {self.log}") from None

    def last_words(self, count: int = 12) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-count:])


@dataclass(frozen=True, slots=True)
class Running:
    """A process of a container."""

    pid: int
    environment: Mapping[str, str]

    @property
    def container(self) -> tuple[str, str]:
        """The names of its pod and of itself."""
        return self.environment["STORM_POD"], self.environment["STORM_CONTAINER"]


class Machine:
    """All processes, and what they leave on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "n"
        self.cdi = self.root / "cdi"
        self.kubeconfig = folder / "kubeconfig"
        python = sys.executable
        server = [python, "-m", "dray", "server", "--data-dir", str(folder / "data")]
        server += ["--port", "0", "--kubeconfig", str(self.kubeconfig)]
        self.server = Member("server", server, folder / "server.log")
        agent = [python, "-m", "dray", "node", "--kubeconfig", str(self.kubeconfig)]
        agent += ["--node-name", NODE, "--root-dir", str(self.root), "--port", "0"]
        self.agent = Member("agent", agent, folder / "agent.log")
        self.drivers = {name: self._driver(name, stem) for name, stem in DRIVERS.items()}
        self._client: Client | None = None

    def _driver(self, name: str, stem: str) -> Member:
        fleet = self.folder / f"{stem}.yaml"
        fleet.write_text(FLEET.format(count=DEVICES, name=stem))
        words = [sys.executable, "-m", "dray.drivers.simulated", "--kubeconfig"]
        words += [str(self.kubeconfig), "--node-name", NODE, "--kubelet-directory", str(self.root)]
        words += ["--cdi-directory", str(self.cdi), "--driver-name", name, "--fleet", str(fleet)]
        return Member(name, words, self.folder / f"{stem}.log")

    async def __aenter__(self) -> Self:
        await self.server.start()
        await self.server.ready()
        self._client = connect(load_kubeconfig(self.kubeconfig), clock=SystemClock())
        for member in self.members:
            await member.start()
        for member in self.members:
            await member.ready()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._client is not None:
            await self._client.close()
        for member in (*self.members, self.server):
            if member.running:
                await member.kill()
        for pid, _words in self.supervisors():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    @property
    def members(self) -> tuple[Member, ...]:
        """What may be killed."""
        return (self.agent, *self.drivers.values())

    async def tell(self, driver: str, told: dict[str, Any]) -> dict[str, Any]:
        """Give a driver a command about faults. Raises ConfigurationError if it is not there."""
        return await command(self.root / "plugins" / driver / SOCKET_NAME, told)

    # What is on disk ----------------------------------------------------------------------------

    def checkpoint(self) -> tuple[ClaimInfo, ...]:
        """Claims, as the agent has recorded them."""
        return decode_checkpoint((self.root / "dra_manager_state").read_bytes())

    def journal(self, driver: str) -> tuple[Entry, ...]:
        """Claims, as a driver has recorded them."""
        path = self.root / "plugins" / driver / "journal.json"
        return _read(path, driver) if path.exists() else ()

    def cdi_files(self) -> dict[str, tuple[str, ...]]:
        """Every file in the directory, with the names of the devices in it."""
        found: dict[str, tuple[str, ...]] = {}
        for path in self.cdi.iterdir():
            # It may go while we look.
            with suppress(FileNotFoundError):
                content = path.read_bytes()
                devices = decode_spec(content).devices if path.suffix == ".json" else ()
                found[path.name] = tuple(device.name for device in devices)
        return found

    def leftovers(self) -> list[str]:
        """What there is on disk of pods, by name."""
        places = ("runtime/containers", "runtime/sandboxes", "pods", "logs")
        return [
            f"{place}/{path.name}"
            for place in places
            if (self.root / place).is_dir()
            for path in (self.root / place).iterdir()
        ]

    def frozen(self) -> set[str]:
        """UIDs of pods whose last health is kept."""
        kept = Tombstones(self.root / "dray_health_tombstones")
        kept.load()
        return set(kept._pods)

    # What runs ----------------------------------------------------------------------------------

    def processes(self) -> list[Running]:
        """Processes of containers."""
        mark = f"{FOLDER_VARIABLE}={self.folder}".encode()
        found = []
        for pid in _pids():
            with suppress(OSError):
                variables = Path("/proc", str(pid), "environ").read_bytes().split(b"\0")
                if mark in variables:
                    pairs = (text.decode().partition("=") for text in variables if text)
                    found.append(Running(pid, {name: value for name, _, value in pairs}))
        return found

    def supervisors(self) -> list[tuple[int, tuple[str, ...]]]:
        """Processes that were told of the machine's directory and are no members."""
        members = {one.pid for one in (*self.members, self.server) if one.running}
        found = []
        for pid in _pids():
            if pid in members:
                continue
            with suppress(OSError):
                words = Path("/proc", str(pid), "cmdline").read_bytes().decode().split("\0")
                if any(str(self.root) in word for word in words):
                    found.append((pid, tuple(words)))
        return found

    def descriptors(self, member: Member) -> int:
        return len(os.listdir(f"/proc/{member.pid}/fd"))

    def resident_bytes(self, member: Member) -> int:
        pages = int(Path("/proc", str(member.pid), "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]
