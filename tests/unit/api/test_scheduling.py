"""Priority classes, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.scheduling import PriorityClass, PriorityClassList
from tests.unit.api.core.golden import METADATA, Document, KindSuite


class TestPriorityClass(KindSuite):
    kind = PriorityClass
    list_kind = PriorityClassList
    document: ClassVar[Document] = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": METADATA,
        "value": -10,
        "globalDefault": True,
        "description": "may wait",
        "preemptionPolicy": "Never",
    }
    empty: ClassVar[Document] = {"value": 0}
