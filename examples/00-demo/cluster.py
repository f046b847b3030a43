"""A whole cluster in one process: `dray up`, in a directory that goes when the show is over."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from dray.client import Client, HTTPTransport, load_kubeconfig
from dray.clock import SystemClock

__all__ = ["DRIVER", "FLEET", "PROGRAM", "Cluster", "Unexpected", "run"]

DRIVER = "gpu.example.com"

# A GPU that failed is usually offered again once it was well for a minute: longer than the show.
FLEET = """\
driver: gpu.example.com
models:
  h100: {attributes: {productName: H100}, capacity: {memory: 80Gi}}
  a100: {attributes: {productName: A100}, capacity: {memory: 40Gi}}
  l40s: {attributes: {productName: L40S, shared: true}, shared: true,
         capacity: {memory: {value: 40Gi, default: 10Gi, minimum: 1Gi, step: 1Gi}}}
nodes:
- {name: node-1, devices: [{model: h100}, {model: a100, count: 2}]}
- {name: node-2, devices: [{model: a100, count: 2}, {model: l40s}]}
unhealthy: {recoverSeconds: 2}
"""

# A start takes two or three seconds, and the end one.
SECONDS_MAX = 60
PROGRAM = (sys.executable, "-m", "dray.cli")


class Unexpected(Exception):
    """Something came out differently than the story has it."""


class Cluster:
    """`dray up` on one data directory: started, killed, started again, stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fleet = folder / "fleet.yaml"
        self.data = folder / "data"
        self.kubeconfig = self.data / "kubeconfig"
        self.log = folder / "log"
        # kubectl keeps what it learnt of servers; not of this one, and not in somebody's home.
        self.environment = {
            **os.environ,
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": str(folder / "kubectl"),
            "DRAY_TRACEBACK": "1",  # should there be a bug, the last words are to say where
        }
        self.fleet.write_text(FLEET)
        self._process: asyncio.subprocess.Process | None = None
        self._transport: HTTPTransport | None = None
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        assert self._client is not None, "started"
        return self._client

    @property
    def transport(self) -> HTTPTransport:
        assert self._transport is not None, "started"
        return self._transport

    @property
    def command(self) -> str:
        """What somebody would type."""
        return f"dray up --data-dir {self.data} --port 0 --fleet {self.fleet}"

    async def start(self) -> str:
        """Return once it is ready, with the line that says so."""
        with self.log.open("a") as log:
            # In a session of its own, Ctrl-C does not reach it: it is stopped in good order.
            self._process = await asyncio.create_subprocess_exec(
                *(*PROGRAM, "up", "--data-dir", str(self.data), "--port", "0"),
                *("--fleet", str(self.fleet)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=self.environment,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(SECONDS_MAX):
                line = (await self._process.stdout.readline()).decode().strip()
        except TimeoutError as error:
            raise Unexpected(f"dray up is not ready after {SECONDS_MAX} s") from error
        if not line:
            raise Unexpected("dray up ended instead of starting")
        config, clock = load_kubeconfig(self.kubeconfig), SystemClock()
        self._transport = HTTPTransport(
            config.server, clock=clock, trust=config.trust, credentials=config.credentials(clock)
        )
        self._client = Client(self._transport, clock=clock)
        return line

    async def kill(self) -> int:
        """SIGKILL, as if by the kernel out of memory; the process that was killed."""
        assert self._process is not None, "started"
        await self._disconnect()
        self._process.kill()
        await self._process.wait()
        return self._process.pid

    async def stop(self) -> None:
        """End it and whatever its pods run, however far it has come."""
        await self._disconnect()
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), SECONDS_MAX)
            except TimeoutError:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            # It could not see to its pods, whose processes have outlived it.
            await run(*PROGRAM, "down", "--data-dir", str(self.data), "--delete-data")

    def last_words(self, count: int = 15) -> str:
        """The end of what the cluster logged."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return "\n".join(lines[-count:])

    async def _disconnect(self) -> None:
        if self._client is not None:
            await self._client.close()
        self._client = self._transport = None


async def run(
    *command: str, environment: dict[str, str] | None = None, directory: Path | None = None
) -> tuple[int, str]:
    """The exit code of a command and all it said. It ends when its caller does."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environment,
        cwd=directory,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(SECONDS_MAX):
            output, _ = await process.communicate()
    except TimeoutError as error:
        raise Unexpected(f"{' '.join(command)}: not done after {SECONDS_MAX} s") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, output.decode(errors="replace").strip()
