"""A container's variables, looked up in a real API."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

import pytest

from dray.agent.pods.downward import PodFacts
from dray.agent.pods.environment import Environment
from dray.agent.pods.starting import ConfigFailed
from dray.api.core import (
    ConfigMap,
    ConfigMapEnvSource,
    ConfigMapKeySelector,
    Container,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    Pod,
    PodSpec,
    Secret,
    SecretEnvSource,
    SecretKeySelector,
)
from dray.api.meta import ObjectMeta
from dray.testing.cluster import Cluster

NAME = ObjectFieldSelector(field_path="metadata.name")


def variables(container: Container) -> Mapping[str, str]:
    async def run() -> Mapping[str, str]:
        async with Cluster() as cluster:
            meta: Any = {"namespace": "default"}
            await cluster.client.create(
                ConfigMap(
                    metadata=ObjectMeta(name="settings", **meta),
                    data={"COLOR": "red"},
                )
            )
            encoded = base64.b64encode(b"hush").decode()
            await cluster.client.create(
                Secret(metadata=ObjectMeta(name="keys", **meta), data={"TOKEN": encoded})
            )
            pod = Pod(
                metadata=ObjectMeta(name="web", namespace="default"),
                spec=PodSpec(containers=(container,)),
            )
            environment = Environment(cluster.client)
            return await environment.variables(pod, container, PodFacts())

    return asyncio.run(run())


def of(*env: EnvVar, env_from: tuple[EnvFromSource, ...] = ()) -> Container:
    return Container(name="main", env=env, env_from=env_from)


def config(key: str, name: str = "settings", *, optional: bool | None = None) -> EnvVarSource:
    selector = ConfigMapKeySelector(name=name, key=key, optional=optional)
    return EnvVarSource(config_map_key_ref=selector)


def secret(key: str, name: str = "keys", *, optional: bool | None = None) -> EnvVarSource:
    return EnvVarSource(secret_key_ref=SecretKeySelector(name=name, key=key, optional=optional))


def test_values_may_refer_to_what_comes_before_them() -> None:
    found = variables(
        of(
            EnvVar(name="A", value="1"),
            EnvVar(name="B", value="$(A)-$(LATER)-$$(A)"),
            EnvVar(name="LATER", value="x"),
            EnvVar(name="NAME", value_from=EnvVarSource(field_ref=NAME)),
        )
    )
    assert found == {"A": "1", "B": "1-$(LATER)-$(A)", "LATER": "x", "NAME": "web"}


def test_objects_give_all_their_entries_behind_a_prefix() -> None:
    sources = (
        EnvFromSource(prefix="S_", config_map_ref=ConfigMapEnvSource(name="settings")),
        EnvFromSource(secret_ref=SecretEnvSource(name="keys")),
        EnvFromSource(config_map_ref=ConfigMapEnvSource(name="none", optional=True)),
    )
    found = variables(of(EnvVar(name="TOKEN", value="mine"), env_from=sources))
    assert found == {"S_COLOR": "red", "TOKEN": "mine"}


def test_keys_of_objects_are_read() -> None:
    found = variables(
        of(
            EnvVar(name="C", value_from=config("COLOR")),
            EnvVar(name="T", value_from=secret("TOKEN")),
            EnvVar(name="O", value_from=config("missing", optional=True)),
            EnvVar(name="P", value_from=secret("x", name="none", optional=True)),
        )
    )
    assert found == {"C": "red", "T": "hush"}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (config("missing"), "couldn't find key missing in ConfigMap default/settings"),
        (config("x", name="none"), 'configmap "none" not found'),
        (secret("missing"), "couldn't find key missing in Secret default/keys"),
        (secret("x", name="none"), 'secret "none" not found'),
    ],
)
def test_what_is_missing_is_told_in_upstreams_words(source: EnvVarSource, text: str) -> None:
    with pytest.raises(ConfigFailed) as refused:
        variables(of(EnvVar(name="X", value_from=source)))
    assert str(refused.value) == text
