"""Resource quotas, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.core import ResourceQuota, ResourceQuotaList
from tests.unit.api.core.golden import METADATA, Document, KindSuite

HARD = {"pods": "10", "gpu.example.com.deviceclass.resource.k8s.io/devices": "4"}


class TestResourceQuota(KindSuite):
    kind = ResourceQuota
    list_kind = ResourceQuotaList
    document: ClassVar[Document] = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": METADATA,
        "spec": {
            "hard": HARD,
            "scopes": ["NotTerminating"],
            "scopeSelector": {
                "matchExpressions": [
                    {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
                ]
            },
        },
        "status": {"hard": HARD, "used": {"pods": "3"}},
    }
    empty: ClassVar[Document] = {"spec": {}, "status": {}}
