"""Drivers written with dray.sdk, under a real kubelet, containerd and kube-apiserver.

Run as `python -m tests.interop.kubelet`. The kubelet registers the driver, has it prepare the
devices of a claim, hands their CDI names to containerd, shows their health in the pod's status, and
has them given back. What is not there (a scheduler, controllers) is done by hand. Prints a line for
everything that held, and ends with 1 at the first that did not.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, Final

from dray.drivers.simulated.control import command
from tests.e2e.containerds import IMAGE, MISSING, Containerd
from tests.interop.build import build
from tests.interop.node_stage import Failed, NodeStage
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


class Stage(NodeStage):
    """The node, and what runs on it."""

    def __init__(self, upstream: Upstream, containerd: Containerd) -> None:
        super().__init__(
            containerd.directory, upstream.endpoint.kubeconfig, node=NODE, driver=DRIVER
        )
        self.containerd = containerd
        self.root = self.folder / "k"
        self.logs = self.folder / "pods"

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
            f"--kubeconfig={self.kubeconfig}",
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
            f"--kubeconfig={self.kubeconfig}",
            f"--node-name={NODE}",
            f"--kubelet-directory={self.root}",
            f"--cdi-directory={self.containerd.cdi}",
            f"--pod-uid={pod_uid}",
        )

    def health(self, name: str) -> list[dict[str, Any]]:
        """What the pod's status says of its devices."""
        statuses = self.pod(name).get("status", {}).get("containerStatuses", [])
        return [
            resource
            for status in statuses
            for one in status.get("allocatedResourcesStatus", [])
            for resource in one["resources"]
        ]

    def create_gpu_pod(self, name: str, device: str) -> None:
        """A pod that tells what it was given, and stays."""
        self.create_pod(
            name,
            device,
            {
                "image": IMAGE,
                "imagePullPolicy": "Never",
                "command": ["sh", "-c", "env; sleep 100000"],
            },
            hostNetwork=True,
            automountServiceAccountToken=False,
            # Nobody schedules it before it is bound.
            schedulerName="nobody",
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
            stage.create_gpu_pod("first", "gpu-0")
            await stage.until(
                "a pod with a claim runs",
                lambda: stage.phase("first") == "Running",
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
