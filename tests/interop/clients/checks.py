"""What the suites of all clients share: how an expectation is stated, and what is written.

The suites run in an environment of their own, without dray and without pytest.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

__all__ = ["CLAIM", "CRD", "NAMESPACE", "POD", "Checks", "allocation", "ensure", "slice_of"]

NAMESPACE = "it-clients"

POD: dict[str, Any] = {"containers": [{"name": "main", "image": "registry.example/app:1.0"}]}
CLAIM: dict[str, Any] = {
    "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}
}
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.clients.example.com"},
    "spec": {
        "group": "clients.example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer", "minimum": 1}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


def allocation(request: str = "gpu") -> dict[str, Any]:
    device = {"request": request, "driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}
    return {"allocation": {"devices": {"results": [device]}}}


def slice_of(name: str, node: str) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0", "attributes": {"model": {"string": "A"}}}],
        },
    }


def ensure(holds: bool, what: object) -> None:
    """An assertion about an exception that a client raised."""
    if not holds:
        raise AssertionError(str(what))


class Checks:
    """Runs named checks in order; one that fails does not keep the others from running."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.failed: list[str] = []
        self.ran = 0

    def run(self, name: str, check: Callable[[], None]) -> None:
        self.ran += 1
        try:
            check()
        # Whatever a client raises is a finding, and the next check may still tell something.
        except Exception:  # noqa: BLE001
            self.failed.append(name)
            sys.stderr.write(f"FAILED: {self.client}: {name}\n{traceback.format_exc()}\n")

    def finish(self) -> None:
        sys.stdout.write(
            f"{self.client}: {self.ran - len(self.failed)} of {self.ran} checks passed\n"
        )
        if self.failed:
            raise SystemExit(1)
