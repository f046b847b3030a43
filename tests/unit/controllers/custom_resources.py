"""A kind that users defined, for tests of controllers that treat all kinds alike."""

from __future__ import annotations

from dray.api.apiextensions import CustomResourceDefinition
from dray.api.codec import decode, encode
from dray.api.meta import Object, ObjectMeta
from dray.client import Client, custom_kind

__all__ = ["ANIMAL", "DEFINITION", "animal", "define_animals"]

_SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

DEFINITION = decode(
    encode(
        {
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
                        "schema": {"openAPIV3Schema": _SCHEMA},
                    }
                ],
            },
        }
    ),
    CustomResourceDefinition,
)

ANIMAL = custom_kind("zoo.example", "v1", "Animal", "animals", namespaced=True)


async def define_animals(client: Client) -> None:
    """Have the server serve animals."""
    await client.create(DEFINITION)


def animal(name: str, namespace: str = "default") -> Object:
    """One of them."""
    return ANIMAL(metadata=ObjectMeta(name=name, namespace=namespace))
