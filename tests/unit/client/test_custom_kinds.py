"""Kinds that nobody knew when this was written."""

from __future__ import annotations

import asyncio

import pytest

from dray.api.apiextensions import CustomResourceDefinition
from dray.api.codec import decode, encode
from dray.api.core import Namespace
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.client import custom_kind
from dray.errors import NotFound
from dray.testing.cluster import Cluster

DEFINITION = {
    "metadata": {"name": "animals.zoo.example"},
    "spec": {
        "group": "zoo.example",
        "scope": "Namespaced",
        "names": {"plural": "animals", "kind": "Animal"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"legs": {"type": "integer"}}}
                        },
                    }
                },
            }
        ],
    },
}


def test_a_kind_is_one_type_however_often_it_is_named() -> None:
    first = custom_kind("zoo.example", "v1", "Animal", "animals", namespaced=True)
    assert custom_kind("zoo.example", "v1", "Animal", "animals", namespaced=True) is first
    assert custom_kind("zoo.example", "v2", "Animal", "animals", namespaced=True) is not first


def test_objects_of_such_a_kind_keep_what_the_client_does_not_know() -> None:
    async def scenario() -> None:
        async with Cluster() as cluster:
            client = cluster.client
            await client.create(decode(encode(DEFINITION), CustomResourceDefinition))
            await asyncio.sleep(0)
            animal = custom_kind("zoo.example", "v1", "Animal", "animals", namespaced=True)
            body = {"metadata": {"name": "dog", "namespace": "default"}, "spec": {"legs": 4}}
            made = await client.create(decode(encode(body), animal))
            assert (made.api_version, made.kind) == ("zoo.example/v1", "Animal")
            labelled = replace(made, metadata=replace(made.metadata, labels={"a": "b"}))
            await client.update(labelled)
            (found,) = (await client.list(animal)).items
            assert found.metadata.labels == {"a": "b"}
            assert b'"legs":4' in encode(found)
            patched = await client.patch(animal, "dog", {"spec": {"legs": 3}}, namespace="default")
            assert b'"legs":3' in encode(patched)
            await client.delete(animal, "dog", namespace="default")
            with pytest.raises(NotFound):
                await client.get(animal, "dog", namespace="default")

    asyncio.run(scenario())


def test_a_subresource_can_be_replaced() -> None:
    async def scenario() -> None:
        async with Cluster() as cluster:
            client = cluster.client
            zoo = await client.create(Namespace(metadata=ObjectMeta(name="zoo")))
            assert zoo.spec.finalizers
            freed = await client.update(
                replace(zoo, spec=replace(zoo.spec, finalizers=())), subresource="finalize"
            )
            assert not freed.spec.finalizers

    asyncio.run(scenario())
