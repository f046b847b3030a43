"""Bindings, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.core import Binding
from tests.unit.api.core.golden import METADATA, OBJECT_REFERENCE, Document, KindSuite


class TestBinding(KindSuite):
    kind = Binding
    document: ClassVar[Document] = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": METADATA,
        "target": OBJECT_REFERENCE | {"kind": "Node", "name": "node-1"},
    }
    empty: ClassVar[Document] = {"target": {}}
