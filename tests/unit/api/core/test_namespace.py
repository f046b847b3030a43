"""Namespaces, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.core import Namespace, NamespaceList
from tests.unit.api.core.golden import METADATA, Document, KindSuite


class TestNamespace(KindSuite):
    kind = Namespace
    list_kind = NamespaceList
    document: ClassVar[Document] = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": METADATA,
        "spec": {"finalizers": ["kubernetes"]},
        "status": {
            "phase": "Terminating",
            "conditions": [
                {
                    "type": "NamespaceContentRemaining",
                    "status": "True",
                    "lastTransitionTime": "2026-01-31T12:00:00Z",
                    "reason": "SomeResourcesRemain",
                    "message": "pods. has 1 resource instances",
                }
            ],
        },
    }
    empty: ClassVar[Document] = {"spec": {}, "status": {}}
