"""Drivers written with dray.sdk, under a real kubelet, containerd and kube-apiserver.

Run as `python -m tests.interop.kubelet`. The kubelet registers the driver, has it prepare the
devices of a claim, hands their CDI names to containerd, shows their health in the pod's status, and
has them given back. What is not there (a scheduler, controllers) is done by hand. Prints a line for
everything that held, and ends with 1 at the first that did not.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from dray.drivers.simulated.control import command
from tests.e2e.containerds import IMAGE, MISSING, Containerd
from tests.interop.build import build
from tests.interop.upstream import Upstream

DRIVER: Final = "gpu.simulated.dev"
NODE: Final = "kubelet-node"

# A kubelet tries a failed prepare again after 60 to 90 seconds.
PATIENCE_SECONDS: Final = 150.0

CONFIGURATION: Final[dict[str, Any]] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    # Machines that tests run on may be old.
    "failCgroupV1": False,
    "cgroupDriver": "cgroupfs",
    "cgroupsPerQOS": False,
    "enforceNodeAllocatable": [],
    "failSwapOn": False,
    "localStorageCapacityIsolation": False,
    "makeIPTablesUtilChains": False,
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "address": "127.0.0.1",
    "readOnlyPort": 0,
    "healthzPort": 0,
    "resolvConf": "",
    "evictionHard": {
        "memory.available": "1Mi",
        "nodefs.available": "0%",
        "imagefs.available": "0%",
    },
}


class Failed(AssertionError):
    """Something did not come as it should."""


class Stage:
    """All processes, and kubectl."""

    def __init__(self, upstream: Upstream, containerd: Containerd) -> None:
        self.upstream = upstream
        self.containerd = containerd
        self.folder = containerd.directory
        self.root = self.folder / "k"
        self.logs = self.folder / "pods"
        self._kubectl = str(build("kubectl"))

    @contextmanager
    def process(self, name: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """A process whose output is in a file of its name; killed at the end."""
        with (self.folder / f"{name}.log").open("ab") as log:
            started = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        try:
            yield started
        finally:
            if started.poll() is None:
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()

    def kubelet(self) -> Any:
        configuration = self.folder / "kubelet.json"
        told = CONFIGURATION | {
            "containerRuntimeEndpoint": self.containerd.endpoint,
            "podLogsDir": str(self.logs),
            "port": 10299,
        }
        configuration.write_text(json.dumps(told))
        return self.process(
            "kubelet",
            str(build("kubelet")),
            f"--config={configuration}",
            f"--kubeconfig={self.upstream.endpoint.kubeconfig}",
            f"--root-dir={self.root}",
            f"--cert-dir={self.folder / 'certs'}",
            f"--hostname-override={NODE}",
        )

    def driver(self, pod_uid: str = "") -> Any:
        return self.process(
            f"driver{pod_uid}",
            sys.executable,
            "-m",
            "dray.drivers.simulated",
            f"--kubeconfig={self.upstream.endpoint.kubeconfig}",
            f"--node-name={NODE}",
            f"--kubelet-directory={self.root}",
            f"--cdi-directory={self.containerd.cdi}",
            f"--pod-uid={pod_uid}",
        )

    def kubectl(self, *words: str, told: Any = None) -> str:
        done = subprocess.run(
            [self._kubectl, f"--kubeconfig={self.upstream.endpoint.kubeconfig}", *words],
            input=None if told is None else json.dumps(told),
            capture_output=True,
            text=True,
            check=False,
        )
        return (done.stdout + done.stderr).strip()

    def pod(self, name: str) -> dict[str, Any]:
        text = self.kubectl("get", "pod", name, "-o", "json")
        return json.loads(text) if text.startswith("{") else {}

    def health(self, name: str) -> list[dict[str, Any]]:
        """What the pod's status says of its devices."""
        statuses = self.pod(name).get("status", {}).get("containerStatuses", [])
        return [
            resource
            for status in statuses
            for one in status.get("allocatedResourcesStatus", [])
            for resource in one["resources"]
        ]

    async def until(self, claim: str, holds: Callable[[], Any], seconds: float = 60.0) -> Any:
        """Wait until something holds, and say so."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not (found := holds()):
            if loop.time() - began > seconds:
                events = self.kubectl("get", "events", "-A")
                logs = "\n".join(
                    f"--- {log.name}\n{log.read_text()[-1200:]}"
                    for log in sorted(self.folder.glob("*.log"))
                )
                raise Failed(f"not within {seconds:g} s: {claim}\n{events}\n{logs}")
            await asyncio.sleep(0.25)
        sys.stdout.write(f"ok  {claim} ({loop.time() - began:.1f} s)\n")
        sys.stdout.flush()
        return found

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
            "image": IMAGE,
            "imagePullPolicy": "Never",
            "command": ["sh", "-c", "env; sleep 100000"],
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
                    "hostNetwork": True,
                    "automountServiceAccountToken": False,
                    "terminationGracePeriodSeconds": 1,
                    # Nobody schedules it before it is bound below.
                    "schedulerName": "nobody",
                    "containers": [container],
                    "resourceClaims": [{"name": "gpu", "resourceClaimName": claim}],
                },
            },
        )
        uid = self.pod(name)["metadata"]["uid"]
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
        self.kubectl(
            "create",
            "--raw",
            f"/api/v1/namespaces/default/pods/{name}/binding",
            "-f-",
            told=binding,
        )

    async def fault(self, told: dict[str, Any]) -> None:
        await command(self.root / "plugins" / DRIVER / "faults.sock", told)


async def play(stage: Stage) -> None:
    """The story."""
    account = {"name": "default", "namespace": "default"}
    stage.kubectl(
        "create", "-f-", told={"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}
    )
    with stage.kubelet():
        await stage.until(
            "a kubelet registers its node", lambda: NODE in stage.kubectl("get", "nodes")
        )
        with stage.driver() as driver:
            await stage.until(
                "the driver publishes its devices to kube-apiserver",
                lambda: DRIVER in stage.kubectl("get", "resourceslices"),
            )
            log = stage.folder / "driver.log"
            await stage.until(
                "the kubelet registers the driver",
                lambda: "has registered driver" in log.read_text(),
            )
            stage.create_pod("first", "gpu-0")
            await stage.until(
                "a pod with a claim runs",
                lambda: stage.pod("first").get("status", {}).get("phase") == "Running",
                PATIENCE_SECONDS,
            )
            await stage.until(
                "its container has what the CDI file says",
                lambda: any(
                    "SIMULATED_DEVICE_GPU_0=gpu-0" in file.read_text()
                    for file in stage.logs.rglob("*.log")
                ),
            )
            await stage.until(
                "the pod's status says that the device is healthy",
                lambda: [one["health"] for one in stage.health("first")] == ["Healthy"],
            )
            await stage.fault(
                {"inject": {"kind": "unhealthy", "device": "gpu-0", "message": "hot"}}
            )
            await stage.until(
                "the pod's status says that the device is unhealthy, and why",
                lambda: (
                    [(one["health"], one.get("message")) for one in stage.health("first")]
                    == [("Unhealthy", "hot")]
                ),
            )
            await stage.until(
                "the device is tainted",
                lambda: f"{DRIVER}/unhealthy" in stage.kubectl("get", "resourceslices", "-oyaml"),
            )
            await stage.fault({"recover": "gpu-0"})
            await stage.until(
                "the pod's status says that the device is healthy again",
                lambda: [one["health"] for one in stage.health("first")] == ["Healthy"],
            )
            driver.kill()
            driver.wait()
        with stage.driver():
            await stage.until(
                "a driver that was killed is registered again",
                lambda: log.read_text().count("has registered driver") == 2,
            )
            stage.kubectl("delete", "pod", "first", "--wait=false")
            await stage.until(
                "the pod is gone, and so are its CDI files",
                lambda: not stage.pod("first") and not list(stage.containerd.cdi.iterdir()),
            )
            checkpoint = stage.root / "dra_manager_state"
            await stage.until(
                "the kubelet's checkpoint is empty", lambda: DRIVER not in checkpoint.read_text()
            )


async def main() -> None:
    if MISSING:
        sys.exit(f"cannot run: there is no {MISSING}")
    containerd = Containerd()
    try:
        await containerd.start()
        upstream = Upstream()
        try:
            await play(Stage(upstream, containerd))
        finally:
            upstream.stop()
    except Failed as error:
        sys.exit(str(error))
    finally:
        containerd.close()


if __name__ == "__main__":
    asyncio.run(main())
