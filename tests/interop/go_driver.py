"""A driver in Go, upstream's example unmodified, on a node of dray.

Run as `python -m tests.interop.go_driver`. `dray server` and `dray node` take the places of
kube-apiserver and kubelet: the driver publishes its devices, is registered, prepares a claim's
device, and the pod's process has what its CDI file says. It is killed, upgraded and stopped. Prints
a line for everything that held, and ends with 1 at the first that did not.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from tests.interop.build import build

DRIVER: Final = "gpu.example.com"
NODE: Final = "n1"


class Failed(AssertionError):
    """Something did not come as it should."""


class Stage:
    """All processes, and kubectl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "node"
        self.cdi = self.root / "cdi"
        self.kubeconfig = folder / "kubeconfig"
        self._kubectl = str(build("kubectl"))
        self._plugin = str(build("dra-example-kubeletplugin"))

    @contextmanager
    def process(self, name: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        with (self.folder / f"{name}.log").open("ab") as log:
            started = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        try:
            yield started
        finally:
            if started.poll() is None:
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()

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

    def kubectl(self, *words: str, told: Any = None) -> str:
        done = subprocess.run(
            [self._kubectl, f"--kubeconfig={self.kubeconfig}", *words],
            input=None if told is None else json.dumps(told),
            capture_output=True,
            text=True,
            check=False,
        )
        return (done.stdout + done.stderr).strip()

    def phase(self, pod: str) -> str:
        return self.kubectl("get", "pod", pod, "-o", "jsonpath={.status.phase}")

    async def until(self, claim: str, holds: Callable[[], Any], seconds: float = 60.0) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not holds():
            if loop.time() - began > seconds:
                events = self.kubectl("get", "events", "-A")
                logs = "\n".join(
                    f"--- {log.name}\n{log.read_text()[-2000:]}"
                    for log in sorted(self.folder.glob("*.log"))
                )
                raise Failed(f"not within {seconds:g} s: {claim}\n{events}\n{logs}")
            await asyncio.sleep(0.1)
        sys.stdout.write(f"ok  {claim} ({loop.time() - began:.1f} s)\n")
        sys.stdout.flush()

    def create_pod(self, name: str, device: str) -> None:
        """A claim, allocated and reserved as a scheduler does it, and its pod on the node."""
        claim = f"claim-of-{name}"
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
        self.kubectl(
            "create",
            "-f-",
            told={
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": claim, "namespace": "default"},
                "spec": {"devices": {"requests": [request]}},
            },
        )
        container = {
            "name": "main",
            "image": "none",
            "command": ["sh", "-c", "env; exec sleep 100000"],
            "resources": {"claims": [{"name": "gpu"}]},
        }
        self.kubectl(
            "create",
            "-f-",
            told={
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [container],
                    "resourceClaims": [{"name": "gpu", "resourceClaimName": claim}],
                },
            },
        )
        uid = self.kubectl("get", "pod", name, "-o", "jsonpath={.metadata.uid}")
        result = {"request": "gpu", "driver": DRIVER, "pool": NODE, "device": device}
        status = {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": name, "uid": uid}],
        }
        self.kubectl(
            "patch",
            "resourceclaim",
            claim,
            "--subresource=status",
            "--type=merge",
            f"-p={json.dumps({'status': status})}",
        )
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": "default"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": NODE},
        }
        path = f"/api/v1/namespaces/default/pods/{name}/binding"
        self.kubectl("create", "--raw", path, "-f-", told=binding)


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
    stage.create_pod("first", "gpu-0")
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
    stage.create_pod("second", "gpu-1")
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
