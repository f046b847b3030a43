"""Service accounts, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.core import ServiceAccount, ServiceAccountList
from tests.unit.api.core.golden import METADATA, OBJECT_REFERENCE, Document, KindSuite


class TestServiceAccount(KindSuite):
    kind = ServiceAccount
    list_kind = ServiceAccountList
    document: ClassVar[Document] = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": METADATA,
        "secrets": [OBJECT_REFERENCE],
        "imagePullSecrets": [{"name": "registry"}],
        "automountServiceAccountToken": False,
    }
