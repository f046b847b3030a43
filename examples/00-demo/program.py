"""The whole show: all acts in their order, and the end of everything that they started."""

from __future__ import annotations

import asyncio
import signal
import tempfile
import time
from pathlib import Path

from claims import (
    admin_access,
    alternatives,
    cluster_comes_up,
    extended_resource,
    selector,
    sharing,
)
from cluster import Cluster, Unexpected
from failures import device_fails, killed
from kubectl import StandIn, find_kubectl
from show import Show
from stage import Stage

from dray.errors import DrayError

__all__ = ["main"]

ACTS = (
    cluster_comes_up,
    selector,
    alternatives,
    sharing,
    admin_access,
    extended_resource,
    device_fails,
    killed,
)

WORDS = (
    ("ResourceSlice", "what a driver says there is: devices, their properties, their taints"),
    ("DeviceClass", "a kind of device that one can ask for by name"),
    ("ResourceClaim", "the need for devices, and once it is met, which ones"),
    ("ResourceClaimTemplate", "the same for pods that are made in numbers, a claim for each"),
    ("DeviceTaintRule", "an administrator's word that devices are not to be used"),
)
NEXT = (
    "To try it yourself: . .venv/bin/activate, then dray up, and the examples from 11 on "
    "(examples/README.md), each with the commands to type."
)

EXIT_UNEXPECTED = 1
EXIT_INTERRUPTED = 130


async def play(stage: Stage, cluster: Cluster) -> int:
    """All acts, until one goes wrong or somebody interrupts; the exit code."""
    kubectl = find_kubectl(cluster)
    if isinstance(kubectl, StandIn):
        stage.say("kubectl is not on the path; dray's own client does what its commands say.")
    show = Show(stage, cluster, kubectl)
    try:
        for act in ACTS:
            await act(show)
    except (Unexpected, DrayError) as error:
        stage.bad(f"This is not how it should go: {error}")
        stage.say("The last that the cluster logged:")
        stage.output(cluster.last_words())
        return EXIT_UNEXPECTED
    except asyncio.CancelledError:
        stage.bad("Interrupted: stopping the cluster and its pods.")
        return EXIT_INTERRUPTED
    return 0


def main() -> int:
    """Play it. The exit code is 0 if all went as told, 1 if not, and 130 after Ctrl-C."""
    code = asyncio.run(_main())
    # Everything has ended; whoever still presses Ctrl-C need not see Python do so.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


async def _main() -> int:
    began = time.perf_counter()
    stage = Stage()
    stage.title("Kubernetes Dynamic Resource Allocation in eight acts")
    with tempfile.TemporaryDirectory(prefix="dray-demo-", dir="/tmp") as folder:
        cluster = Cluster(Path(folder))
        # Signals end the acts alone: what comes after them is never cut short.
        playing = asyncio.ensure_future(play(stage, cluster))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, playing.cancel)
        try:
            code = await playing
        finally:
            await cluster.stop()
    if code == 0:
        stage.act("In short", "Devices are objects of the API, and so is the need for them.")
        stage.table(("OBJECT", "IS"), WORDS)
        stage.say("")
        stage.say(NEXT)
        stage.good(f"All as told, in {time.perf_counter() - began:.0f} s; nothing is left running.")
    return code
