"""A pod with a device, through the failure of both device and node: python lifetime.py.

Starts an API server, a scheduler, controllers and a node of its own in a temporary directory, and
ends them. What is said is what was seen: every line waits for the API to show it. Exits with 1 if
anything is otherwise.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, aclosing, suppress
from pathlib import Path
from typing import TypeVar

import yaml

from dray.api.codec import decode_builtins
from dray.api.core import Pod
from dray.api.meta import Object
from dray.api.resource import DeviceClass, ResourceClaim, ResourceSlice
from dray.api.wire import replace
from dray.client import Call, Client, EventType, HTTPTransport, load_kubeconfig
from dray.clock import SystemClock
from dray.drivers.simulated.control import SOCKET_NAME, command

HERE = Path(__file__).parent
DRIVER = "gpu.simulated.dev"
SECONDS_MAX = 60  # of any one step; they take a second or two

T = TypeVar("T", bound=Object)


class Process:
    """A dray command that runs until it is told to end, or killed."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dray.cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=(folder / "log").open("a"),
            text=True,
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():  # one line says that it is ready
            sys.exit((folder / "log").read_text())

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(number)
        self._process.communicate()


class Walk:
    """The steps, with what they need."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.node_root = folder / "node"
        self._folder = folder
        stack.callback(self.kill_containers)
        server = Process(folder, "server", "--data-dir", str(folder / "server"), "--port", "0")
        stack.callback(server.end)
        for part in ("scheduler", "controllers"):
            stack.callback(Process(folder, part, "--kubeconfig", str(self._kubeconfig)).end)
        self.node = self.start_node()
        stack.callback(self.stop_node)
        config, clock = load_kubeconfig(self._kubeconfig), SystemClock()
        self.transport = HTTPTransport(
            config.server, clock=clock, trust=config.trust, credentials=config.credentials(clock)
        )
        self.client = Client(self.transport, clock=clock)

    @property
    def _kubeconfig(self) -> Path:
        return self._folder / "server" / "kubeconfig"

    def start_node(self) -> Process:
        return Process(
            self._folder,
            *("node", "--kubeconfig", str(self._kubeconfig), "--node-name", "node-1"),
            *("--root-dir", str(self.node_root), "--port", "0", "--driver", "simulated"),
        )

    def containers(self) -> list[int]:
        """Processes of containers: those whose supervisor was started for this node."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, IndexError):
                parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
                if str(self.node_root).encode() in Path(f"/proc/{parent}/cmdline").read_bytes():
                    found.append(int(path.name))
        return found

    def stop_node(self) -> None:
        self.node.end()

    def only_container(self) -> int:
        found = self.containers()
        if len(found) != 1:
            sys.exit(f"one container should be running, but these are: {found}")
        return found[0]

    def kill_containers(self) -> None:
        for pid in self.containers():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def until(self, kind: type[T], name: str, test: Callable[[T], object]) -> T:
        """Wait until an object is as it should be."""
        watch = self.client.watch(kind, bookmarks=False)
        async with asyncio.timeout(SECONDS_MAX), aclosing(watch) as events:
            async for event in events:
                found = event.object
                is_it = event.type is not EventType.DELETED and name in ("", found.metadata.name)
                if is_it and test(found):
                    return found
        sys.exit(f"the watch ended before {kind.__name__} {name} was as it should be")

    async def until_gone(self, kind: type[T], name: str) -> None:
        watch = self.client.watch(kind, bookmarks=False)
        async with asyncio.timeout(SECONDS_MAX), aclosing(watch) as events:
            await self.client.delete(kind, name, namespace="default")
            async for event in events:
                if event.type is EventType.DELETED and event.object.metadata.name == name:
                    return

    async def until_clean(self) -> None:
        """A pod is gone from the API before the last of its files is: wait for those, too."""
        async with asyncio.timeout(SECONDS_MAX):
            while any((self.node_root / "runtime" / "containers").iterdir()):
                await asyncio.sleep(0.05)

    async def first_words(self, pod: str) -> str:
        """The first line of a pod's log, as `kubectl logs -f` would show it."""
        path = f"/api/v1/namespaces/default/pods/{pod}/log"
        reply = await self.transport.stream(Call("GET", path, (("follow", "true"),)))
        try:
            async with asyncio.timeout(SECONDS_MAX):
                return (await reply.read()).decode().strip()
        finally:
            reply.close()

    async def fault(self, **told: object) -> None:
        """What `dray fault` sends to the simulated driver."""
        await command(self.node_root / "plugins" / DRIVER / SOCKET_NAME, told)


def read(name: str, kind: type[T]) -> T:
    """An object of this example, in the namespace default."""
    found = decode_builtins(yaml.safe_load((HERE / name).read_text()), kind).value
    if kind is DeviceClass:
        return found
    return replace(found, metadata=replace(found.metadata, namespace="default"))


def is_ready(pod: Pod) -> bool:
    conditions = pod.status.conditions or ()
    return any(one.type == "Ready" and one.status == "True" for one in conditions)


def health(pod: Pod) -> str:
    """What the pod's status says of its only device."""
    for container in pod.status.container_statuses or ():
        for resource in container.allocated_resources_status or ():
            for device in resource.resources:
                return f"{device.health}: {device.message}" if device.message else device.health
    return ""


def given(claim: ResourceClaim) -> list[str]:
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else None
    return [f"{each.pool}/{each.device}" for each in results or ()]


def taints(each: ResourceSlice) -> list[str]:
    return [
        f"{device.name}: {taint.key}={taint.value or ''}:{taint.effect}"
        for device in each.spec.devices or ()
        for taint in device.taints or ()
    ]


def say(what: str, seen: object) -> None:
    print(f"{what + ':':<44} {seen}")


async def walk(steps: Walk) -> bool:
    """Go through all of it: whether everything was as it should be."""
    client = steps.client
    offered = await steps.until(ResourceSlice, "", lambda each: each.spec.devices)
    say("the driver publishes", ", ".join(one.name for one in offered.spec.devices or ()))

    await client.create(read("class.yaml", DeviceClass))
    await client.create(read("claim.yaml", ResourceClaim))
    await client.create(read("pod.yaml", Pod))
    claim = await steps.until(ResourceClaim, "one-gpu", given)
    bound = await steps.until(Pod, "train", lambda pod: pod.spec.node_name)
    devices = ", ".join(given(claim))
    say("the scheduler gives the pod", f"{devices} and a place on {bound.spec.node_name}")
    await steps.until(Pod, "train", is_ready)
    before = steps.only_container()
    say("the pod runs, as a process of this machine", f"pid {before}")
    say("its log", await steps.first_words("train"))

    problem = {"kind": "unhealthy", "device": "gpu-0", "message": "fell off the bus"}
    await steps.fault(inject=problem)
    shown = await steps.until(Pod, "train", lambda pod: "fell off" in health(pod))
    say("the GPU fails; the pod's status says", health(shown))
    tainted = await steps.until(ResourceSlice, "", taints)
    say("and nobody else will get the GPU", ", ".join(taints(tainted)))

    await steps.fault(recover="gpu-0")
    well = await steps.until(Pod, "train", lambda pod: health(pod) == "Healthy")
    say("the GPU recovers", f"{health(well)}; the taint goes after a minute without a relapse")

    steps.node.end(signal.SIGKILL)
    say("the node agent is killed, the pod is not", f"pid {steps.only_container()}")
    steps.node = steps.start_node()
    await steps.until(Pod, "train", lambda pod: health(pod) == "Healthy")
    after = steps.only_container()
    say("a new agent takes it over, GPU and all", f"pid {after}")

    await steps.until_gone(Pod, "train")
    await steps.until_clean()
    left = list((steps.node_root / "cdi").iterdir())
    processes = steps.containers()
    say(
        "the pod is deleted, the GPU given back",
        f"{len(processes)} processes, {len(left)} CDI files",
    )
    return after == before and not left and not processes


async def main() -> int:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dray", dir="/tmp"))
        steps = Walk(Path(folder), stack)
        try:
            return 0 if await walk(steps) else 1
        except TimeoutError:
            print(f"nothing more happened within {SECONDS_MAX} s; this is what was logged:")
            print((Path(folder) / "log").read_text())
            return 1
        finally:
            await steps.client.close()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
