"""What stories about nodes share: processes, kubectl, and a scheduler played by hand."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.interop.build import build

__all__ = ["Failed", "NodeStage"]

LOG_CHARACTERS_SHOWN = 2000


class Failed(AssertionError):
    """Something did not come as it should."""


class NodeStage:
    """One node of a cluster, whose files and logs are in a folder."""

    def __init__(self, folder: Path, kubeconfig: Path, *, node: str, driver: str) -> None:
        self.folder = folder
        self.kubeconfig = kubeconfig
        self.node = node
        self.driver_name = driver
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

    def kubectl(self, *words: str, told: Any = None) -> str:
        """What it says, on either stream; `told` goes to its standard input as JSON."""
        done = subprocess.run(
            [self._kubectl, f"--kubeconfig={self.kubeconfig}", *words],
            input=None if told is None else json.dumps(told),
            capture_output=True,
            text=True,
            check=False,
        )
        return (done.stdout + done.stderr).strip()

    def pod(self, name: str) -> dict[str, Any]:
        """A pod; empty if there is none."""
        text = self.kubectl("get", "pod", name, "-o", "json")
        return json.loads(text) if text.startswith("{") else {}

    def phase(self, name: str) -> str:
        phase: str = self.pod(name).get("status", {}).get("phase", "")
        return phase

    async def until(self, claim: str, holds: Callable[[], Any], seconds: float = 60.0) -> None:
        """Wait until something holds, and say so."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not holds():
            if loop.time() - began > seconds:
                events = self.kubectl("get", "events", "-A")
                logs = "\n".join(
                    f"--- {log.name}\n{log.read_text()[-LOG_CHARACTERS_SHOWN:]}"
                    for log in sorted(self.folder.glob("*.log"))
                )
                raise Failed(f"not within {seconds:g} s: {claim}\n{events}\n{logs}")
            await asyncio.sleep(0.1)
        sys.stdout.write(f"ok  {claim} ({loop.time() - began:.1f} s)\n")
        sys.stdout.flush()

    def create_pod(self, name: str, device: str, container: Mapping[str, Any], **spec: Any) -> None:
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
        using = {"name": "main", "resources": {"claims": [{"name": "gpu"}]}, **container}
        self.kubectl(
            "create",
            "-f-",
            told={
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [using],
                    "resourceClaims": [{"name": "gpu", "resourceClaimName": claim}],
                    **spec,
                },
            },
        )
        uid = self.pod(name)["metadata"]["uid"]
        result = {
            "request": "gpu",
            "driver": self.driver_name,
            "pool": self.node,
            "device": device,
        }
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
            "target": {"apiVersion": "v1", "kind": "Node", "name": self.node},
        }
        path = f"/api/v1/namespaces/default/pods/{name}/binding"
        self.kubectl("create", "--raw", path, "-f-", told=binding)
