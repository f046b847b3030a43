"""ConfigMap and Secret: small data that pods read.

Binary values stay in base64, the form the wire has: dray hands most of them on unread, and
whoever wants the bytes decodes the one entry. Upstream counterpart: k8s.io/api/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import field

from dray.api.meta import ListMeta, Object
from dray.api.wire import Struct, always

__all__ = [
    "SECRET_TYPE_OPAQUE",
    "SECRET_TYPE_SERVICE_ACCOUNT_TOKEN",
    "SECRET_TYPE_TLS",
    "ConfigMap",
    "ConfigMapList",
    "Secret",
    "SecretList",
]

SECRET_TYPE_OPAQUE: Final = "Opaque"  # noqa: S105 - the name of a type
SECRET_TYPE_SERVICE_ACCOUNT_TOKEN: Final = "kubernetes.io/service-account-token"  # noqa: S105 - the name of a type
SECRET_TYPE_TLS: Final = "kubernetes.io/tls"  # noqa: S105 - the name of a type


class ConfigMap(Object):
    """Settings by name: text, or bytes in base64."""

    api_version: str = always("v1")
    kind: str = always("ConfigMap")
    immutable: bool | None = None
    data: Mapping[str, str] = field(default_factory=dict)
    binary_data: Mapping[str, str] = field(default_factory=dict)


class ConfigMapList(Struct):
    """Several config maps."""

    api_version: str = always("v1")
    kind: str = always("ConfigMapList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[ConfigMap, ...] | None = always(None)


class Secret(Object):
    """Confidential data by name, in base64; `string_data` is for writers and never read back."""

    api_version: str = always("v1")
    kind: str = always("Secret")
    immutable: bool | None = None
    data: Mapping[str, str] = field(default_factory=dict)
    string_data: Mapping[str, str] = field(default_factory=dict)
    type: str = ""


class SecretList(Struct):
    """Several secrets."""

    api_version: str = always("v1")
    kind: str = always("SecretList")
    metadata: ListMeta = always(ListMeta)
    items: tuple[Secret, ...] | None = always(None)
