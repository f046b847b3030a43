"""A driver in Go, upstream's example unmodified, on a node of dray.

Run as `python -m tests.interop.go_driver`. `dray server` and `dray node` take the places of
kube-apiserver and kubelet: the driver publishes its devices, is registered, prepares a claim's
device, and the pod's process has what its CDI file says. It is killed, upgraded and stopped. Prints
a line for everything that held, and ends with 1 at the first that did not.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tests.interop.build import build
from tests.interop.node_stage import Failed, NodeStage

DRIVER: Final = "gpu.example.com"
NODE: Final = "n1"


class Stage(NodeStage):
    """The node, and what runs on it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, folder / "kubeconfig", node=NODE, driver=DRIVER)
        self.root = folder / "node"
        self.cdi = self.root / "cdi"
        self._plugin = str(build("dra-example-kubeletplugin"))

    def dray(self, name: str, *words: str) -> Any:
        return self.process(name, sys.executable, "-m", "dray", *words)

    def driver(self, pod_uid: str) -> Any:
        return self.process(
            f"driver-{pod_uid}",
            self._plugin,
            f"--kubeconfig={self.kubeconfig}",
            f"--node-name={NODE}",
            f"--kubelet-registrar-directory-path={self.root / 'plugins_registry'}",
            f"--kubelet-plugins-directory-path={self.root / 'plugins'}",
            f"--cdi-root={self.cdi}",
            f"--pod-uid={pod_uid}",
        )

    def create_gpu_pod(self, name: str, device: str) -> None:
        """A pod that tells what it was given, and stays."""
        told = ["sh", "-c", "env; exec sleep 100000"]
        self.create_pod(name, device, {"image": "none", "command": told})


async def play(stage: Stage, processes: ExitStack) -> None:
    """The story."""
    processes.enter_context(
        stage.dray(
            "server",
            "server",
            f"--data-dir={stage.folder / 'data'}",
            "--port=0",
            f"--kubeconfig={stage.kubeconfig}",
        )
    )
    await stage.until("dray server is up", stage.kubeconfig.exists)
    processes.enter_context(
        stage.dray(
            "node",
            "node",
            f"--kubeconfig={stage.kubeconfig}",
            f"--node-name={NODE}",
            f"--root-dir={stage.root}",
            "--port=0",
        )
    )
    await stage.until("dray node is ready", lambda: " Ready " in stage.kubectl("get", "nodes"))
    old = processes.enter_context(stage.driver("old"))
    await stage.until(
        "the driver publishes its devices", lambda: DRIVER in stage.kubectl("get", "resourceslices")
    )
    stage.create_gpu_pod("first", "gpu-0")
    await stage.until("a pod with a claim runs", lambda: stage.phase("first") == "Running")
    await stage.until(
        "its process has what the CDI file says",
        lambda: "GPU_DEVICE_0=gpu-0" in stage.kubectl("logs", "first"),
    )
    new = processes.enter_context(stage.driver("new"))
    sockets = stage.root / "plugins_registry"
    await stage.until("a second instance is there", lambda: len(list(sockets.glob("*.sock"))) == 2)
    old.send_signal(signal.SIGTERM)
    old.wait()
    stage.create_gpu_pod("second", "gpu-1")
    await stage.until(
        "the new instance prepares another pod's claim", lambda: stage.phase("second") == "Running"
    )
    stage.kubectl("delete", "pod", "first", "--wait=false")
    await stage.until(
        "the new instance gives back what the old one prepared",
        lambda: "NotFound" in stage.kubectl("get", "pod", "first"),
    )
    new.kill()
    new.wait()
    stage.kubectl("delete", "pod", "second", "--wait=false")
    await stage.until(
        "a pod waits for its driver, and says so",
        lambda: "FailedUnprepareDynamicResources" in stage.kubectl("get", "events"),
    )
    processes.enter_context(stage.driver("new"))
    await stage.until(
        "the pod is gone once the driver is back",
        lambda: "NotFound" in stage.kubectl("get", "pod", "second"),
    )
    claims = json.loads(json.loads((stage.root / "dra_manager_state").read_text())["Data"])
    if claims["ClaimInfoStateList"]:
        raise Failed(f"left in the checkpoint: {claims}")


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="dk-") as folder, ExitStack() as processes:
        try:
            await play(Stage(Path(folder)), processes)
        except Failed as error:
            sys.exit(str(error))


if __name__ == "__main__":
    asyncio.run(main())
