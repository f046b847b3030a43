"""A container's environment variables: values, and where values come from.

Upstream counterpart: EnvVar and EnvFromSource in k8s.io/api/core/v1.
"""

from __future__ import annotations

from typing import Final

from dray.api.quantity import Quantity
from dray.api.wire import Struct, always

__all__ = [
    "ConfigMapEnvSource",
    "ConfigMapKeySelector",
    "EnvFromSource",
    "EnvVar",
    "EnvVarSource",
    "FileKeySelector",
    "ObjectFieldSelector",
    "ResourceFieldSelector",
    "SecretEnvSource",
    "SecretKeySelector",
]

_ZERO: Final = Quantity.parse("0")


class ObjectFieldSelector(Struct):
    """A field of the pod itself."""

    api_version: str = ""
    field_path: str = always("")


class ResourceFieldSelector(Struct):
    """A container's request or limit, counted in units of the divisor; zero stands for one."""

    container_name: str = ""
    resource: str = always("")
    divisor: Quantity = always(_ZERO)


class ConfigMapKeySelector(Struct):
    """One entry of a config map."""

    name: str = ""
    key: str = always("")
    optional: bool | None = None


class SecretKeySelector(Struct):
    """One entry of a secret."""

    name: str = ""
    key: str = always("")
    optional: bool | None = None


class FileKeySelector(Struct):
    """One variable of an environment file that an init container left in a volume."""

    volume_name: str = always("")
    path: str = always("")
    key: str = always("")
    optional: bool | None = None


class EnvVarSource(Struct):
    """Where a variable's value comes from; one member is set."""

    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    config_map_key_ref: ConfigMapKeySelector | None = None
    secret_key_ref: SecretKeySelector | None = None
    file_key_ref: FileKeySelector | None = None


class EnvVar(Struct):
    """One variable, with a value or a source for it."""

    name: str = always("")
    value: str = ""
    value_from: EnvVarSource | None = None


class ConfigMapEnvSource(Struct):
    """All entries of a config map."""

    name: str = ""
    optional: bool | None = None


class SecretEnvSource(Struct):
    """All entries of a secret."""

    name: str = ""
    optional: bool | None = None


class EnvFromSource(Struct):
    """Many variables at once, each name behind a prefix."""

    prefix: str = ""
    config_map_ref: ConfigMapEnvSource | None = None
    secret_ref: SecretEnvSource | None = None
