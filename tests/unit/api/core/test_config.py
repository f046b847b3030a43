"""ConfigMaps and Secrets, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.core import ConfigMap, ConfigMapList, Secret, SecretList
from tests.unit.api.core.golden import METADATA, Document, KindSuite


class TestConfigMap(KindSuite):
    kind = ConfigMap
    list_kind = ConfigMapList
    document: ClassVar[Document] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": METADATA,
        "immutable": True,
        "data": {"level": "debug", "empty": ""},
        "binaryData": {"seed": "AAECAw=="},
    }


class TestSecret(KindSuite):
    kind = Secret
    list_kind = SecretList
    document: ClassVar[Document] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": METADATA,
        "immutable": False,
        "data": {"token": "c2VjcmV0"},
        "stringData": {"user": "trainer"},
        "type": "Opaque",
    }
