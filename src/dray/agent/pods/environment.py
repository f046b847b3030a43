"""A container's environment variables, with everything they refer to looked up.

Later entries win, and may refer to earlier ones. What is missing ends the start of the container
with upstream's words, unless it is optional. Upstream counterpart: makeEnvironmentVariables in
pkg/kubelet/kubelet_pods.go.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final, TypeVar

from dray.agent.pods.collaborators import API
from dray.agent.pods.downward import PodFacts, field_value, resource_value
from dray.agent.pods.expansion import expand
from dray.agent.pods.starting import ConfigFailed
from dray.api.core import ConfigMap, Container, EnvVarSource, Pod, Secret
from dray.errors import APIError, NotFound, TransportError

__all__ = ["Environment", "ObjectReader"]

T = TypeVar("T", ConfigMap, Secret)

# What a variable's name may be: anything printable but the sign that ends it.
_NAME: Final = re.compile(r"[ -<>-~]+")


class ObjectReader:
    """Reads config maps and secrets, each once for one container."""

    def __init__(self, api: API, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._config_maps: dict[str, ConfigMap | None] = {}
        self._secrets: dict[str, Secret | None] = {}

    async def config_map(self, name: str, *, optional: bool) -> ConfigMap | None:
        """A config map; None if there is none and none is needed."""
        if name not in self._config_maps:
            self._config_maps[name] = await self._read(ConfigMap, name)
        found = self._config_maps[name]
        if found is None and not optional:
            raise ConfigFailed(f'configmap "{name}" not found')
        return found

    async def secret(self, name: str, *, optional: bool) -> Secret | None:
        """A secret; None if there is none and none is needed."""
        if name not in self._secrets:
            self._secrets[name] = await self._read(Secret, name)
        found = self._secrets[name]
        if found is None and not optional:
            raise ConfigFailed(f'secret "{name}" not found')
        return found

    async def _read(self, kind: type[T], name: str) -> T | None:
        try:
            return await self._api.get(kind, name, namespace=self._namespace)
        except NotFound:
            return None
        except (APIError, TransportError, TimeoutError) as error:
            raise ConfigFailed(str(error)) from error


class Environment:
    """Variables of containers."""

    def __init__(self, api: API) -> None:
        self._api = api

    async def variables(self, pod: Pod, container: Container, facts: PodFacts) -> Mapping[str, str]:
        """The variables of a container, in order; raises ConfigFailed."""
        reader = ObjectReader(self._api, pod.metadata.namespace)
        found = await self._from_objects(container, reader)
        # References in values see the pod's own variables; those of services come with services.
        for variable in container.env:
            if variable.value_from is None:
                found[variable.name] = expand(variable.value, found)
                continue
            value = await self._value(variable.value_from, pod, container, facts, reader)
            if value is not None:
                found[variable.name] = value
        return found

    async def _from_objects(self, container: Container, reader: ObjectReader) -> dict[str, str]:
        found: dict[str, str] = {}
        for source in container.env_from:
            entries: Mapping[str, str] = {}
            if source.config_map_ref is not None:
                reference = source.config_map_ref
                config = await reader.config_map(reference.name, optional=bool(reference.optional))
                entries = config.data if config is not None else {}
            elif source.secret_ref is not None:
                secret_reference = source.secret_ref
                secret = await reader.secret(
                    secret_reference.name, optional=bool(secret_reference.optional)
                )
                entries = {key: _text(secret, key) for key in secret.data} if secret else {}
            for key, value in entries.items():
                name = f"{source.prefix}{key}"
                # A key that is no name of a variable is left out, as upstream does.
                if _NAME.fullmatch(name):
                    found[name] = value
        return found

    async def _value(
        self,
        source: EnvVarSource,
        pod: Pod,
        container: Container,
        facts: PodFacts,
        reader: ObjectReader,
    ) -> str | None:
        """A value by its source; None if it is missing and may be."""
        if source.field_ref is not None:
            return field_value(source.field_ref, pod, facts)
        if source.resource_field_ref is not None:
            return resource_value(source.resource_field_ref, pod, container, facts)
        where = pod.metadata.namespace
        if source.config_map_key_ref is not None:
            key = source.config_map_key_ref
            config = await reader.config_map(key.name, optional=bool(key.optional))
            if config is not None and key.key in config.data:
                return config.data[key.key]
            if key.optional:
                return None
            raise ConfigFailed(f"couldn't find key {key.key} in ConfigMap {where}/{key.name}")
        if source.secret_key_ref is not None:
            secret_key = source.secret_key_ref
            secret = await reader.secret(secret_key.name, optional=bool(secret_key.optional))
            if secret is not None and secret_key.key in secret.data:
                return _text(secret, secret_key.key)
            if secret_key.optional:
                return None
            raise ConfigFailed(
                f"couldn't find key {secret_key.key} in Secret {where}/{secret_key.name}"
            )
        raise ConfigFailed(f"container {container.name} has a variable whose source is not known")


def _text(secret: Secret, key: str) -> str:
    try:
        return base64.b64decode(secret.data[key], validate=True).decode(errors="replace")
    except binascii.Error as error:
        raise ConfigFailed(
            f"key {key} in Secret {secret.metadata.namespace}/{secret.metadata.name} is not base64"
        ) from error
