"""Kinds that users define."""

from __future__ import annotations

import asyncio

from dray.api.apiextensions import CustomResourceDefinition
from dray.controllers.custom_kinds import defined_kind
from tests.unit.controllers.custom_resources import ANIMAL, DEFINITION, define_animals
from tests.unit.controllers.stage import Stage


def test_a_definition_is_about_a_kind_once_it_is_served() -> None:
    async def scenario() -> None:
        async with Stage() as stage:
            await define_animals(stage.client)
            await stage.settle()
            definition = await stage.client.get(CustomResourceDefinition, "animals.zoo.example")
            kind = defined_kind(definition)
            assert kind is not None
            assert (kind.resource, kind.namespaced) == ("animals.zoo.example", True)
            assert (kind.group, kind.name, kind.versions) == ("zoo.example", "Animal", ("v1",))
            assert kind.type is ANIMAL

    asyncio.run(scenario())


def test_a_definition_that_was_not_accepted_yet_is_about_none() -> None:
    assert defined_kind(DEFINITION) is None
