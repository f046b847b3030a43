"""ConfigMap and Secret: data by key, of limited size.

Two departures from upstream. Base64 that cannot be read is refused here and not while decoding,
because the type keeps it as text. And what is wrong with the JSON of registry credentials is told
in our words, not in those of Go's parser; either way the value itself is never shown. Upstream
counterparts: ValidateConfigMap, ValidateSecret and their Update in pkg/apis/core/validation.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Final

from dray.api import names
from dray.api.core import (
    SECRET_TYPE_SERVICE_ACCOUNT_TOKEN,
    SECRET_TYPE_TLS,
    ConfigMap,
    Secret,
)
from dray.errors import OMITTED
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta, validate_object_meta_update
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import byte_length, check_immutable

__all__ = ["CONFIG_MAP", "DATA_BYTES_MAX", "SECRET"]

# Small enough for every node to hold many of them.
DATA_BYTES_MAX: Final = 1024 * 1024

SERVICE_ACCOUNT_NAME_ANNOTATION: Final = "kubernetes.io/service-account.name"

_FROZEN: Final = "field is immutable when `immutable` is set"
_REDACTED: Final = "<secret contents redacted>"

# Under which key each type keeps credentials for registries.
_REGISTRY_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_TLS_KEYS: Final = ("tls.crt", "tls.key")
_BASIC_AUTH_KEYS: Final = ("username", "password")
_SSH_KEY: Final = "ssh-privatekey"


# ConfigMap -------------------------------------------------------------------------------------


def _create_config_map(new: ConfigMap, _context: Context) -> Verdict:
    found = Findings()
    _check_config_map(found, new)
    return Verdict(found, Findings())


def _update_config_map(new: ConfigMap, old: ConfigMap, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    if old.immutable:
        if not new.immutable:
            found.forbidden("immutable", _FROZEN)
        if new.data != old.data:
            found.forbidden("data", _FROZEN)
        if new.binary_data != old.binary_data:
            found.forbidden("binaryData", _FROZEN)
    _check_config_map(found, new)
    return Verdict(found, Findings())


def _check_config_map(found: Findings, config_map: ConfigMap) -> None:
    found.extend(validate_object_meta(config_map.metadata, namespaced=True))
    size = 0
    for key, value in config_map.data.items():
        _check_key(found, key, f"data[{key}]")
        if key in config_map.binary_data:
            found.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        size += byte_length(value)
    for key in config_map.binary_data:
        _check_key(found, key, f"binaryData[{key}]")
    size += sum(map(len, _decoded(found, config_map.binary_data, "binaryData").values()))
    if size > DATA_BYTES_MAX:
        # Upstream's way to mean the whole object.
        found.too_long("[]", DATA_BYTES_MAX)


# Secret ----------------------------------------------------------------------------------------


def _create_secret(new: Secret, _context: Context) -> Verdict:
    found = Findings()
    _check_secret(found, new)
    return Verdict(found, Findings())


def _update_secret(new: Secret, old: Secret, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    check_immutable(found, new.type, old.type, "type")
    if old.immutable:
        if not new.immutable:
            found.forbidden("immutable", _FROZEN)
        if new.data != old.data:
            found.forbidden("data", _FROZEN)
    _check_secret(found, new)
    return Verdict(found, Findings())


def _check_secret(found: Findings, secret: Secret) -> None:
    found.extend(validate_object_meta(secret.metadata, namespaced=True))
    for key in secret.data:
        _check_key(found, key, f"data[{key}]")
    data = _decoded(found, secret.data, "data")
    if sum(map(len, data.values())) > DATA_BYTES_MAX:
        found.too_long("data", DATA_BYTES_MAX)
    _check_type(found, secret, data)


def _check_type(found: Findings, secret: Secret, data: Mapping[str, bytes]) -> None:
    """What each well-known type must have in it."""
    wanted: tuple[str, ...] = ()
    match secret.type:
        case type_ if type_ == SECRET_TYPE_SERVICE_ACCOUNT_TOKEN:
            if not secret.metadata.annotations.get(SERVICE_ACCOUNT_NAME_ANNOTATION):
                found.required(f"metadata.annotations[{SERVICE_ACCOUNT_NAME_ANNOTATION}]")
        case type_ if type_ == SECRET_TYPE_TLS:
            wanted = tuple(key for key in _TLS_KEYS if key not in secret.data)
        case type_ if type_ in _REGISTRY_KEYS:
            _check_credentials(found, secret, data, _REGISTRY_KEYS[type_])
        case "kubernetes.io/basic-auth" if not secret.data.keys() & set(_BASIC_AUTH_KEYS):
            wanted = _BASIC_AUTH_KEYS
        case "kubernetes.io/ssh-auth" if not secret.data.get(_SSH_KEY):
            wanted = (_SSH_KEY,)
    for key in wanted:
        found.required(f"data[{key}]")


def _check_credentials(
    found: Findings, secret: Secret, data: Mapping[str, bytes], key: str
) -> None:
    if key not in secret.data:
        found.required(f"data[{key}]")
    elif key in data and not _is_json_object(data[key]):
        found.invalid(f"data[{key}]", _REDACTED, "must be a JSON object")


def _is_json_object(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict | None)
    except (ValueError, RecursionError):
        return False


# Keys and values -------------------------------------------------------------------------------


def _check_key(found: Findings, key: str, path: str) -> None:
    for message in names.config_map_key(key):
        found.invalid(path, key, message)


def _decoded(found: Findings, data: Mapping[str, str], path: str) -> Mapping[str, bytes]:
    """The values that can be read, as bytes."""
    values = {}
    for key, text in data.items():
        try:
            values[key] = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            found.invalid(f"{path}[{key}]", OMITTED, "must be base64")
    return values


CONFIG_MAP: Final = Rulebook(namespaced=True, create=_create_config_map, update=_update_config_map)
SECRET: Final = Rulebook(namespaced=True, create=_create_secret, update=_update_secret)
