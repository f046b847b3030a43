from __future__ import annotations

import json
from typing import Any

import pytest

from dray.api.features import DEFAULT_GATES
from dray.api.scheme import KINDS
from dray.api.wire import replace
from dray.errors import BadRequest
from dray.server.custom.definition_model import DefinitionModel
from dray.server.models.model import Circumstances
from dray.server.registry import Registry
from tests.unit.server.custom.definitions import NOW, definition, spec_of, typed

MODEL = DefinitionModel(KINDS["apiextensions.k8s.io", "CustomResourceDefinition"])
SERVED = Registry().find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
assert SERVED is not None
RESOURCE = SERVED.resource
CIRCUMSTANCES = Circumstances(DEFAULT_GATES, NOW, RESOURCE)


def read(document: dict[str, Any]) -> Any:
    return MODEL.read(json.dumps(document).encode(), RESOURCE, NOW)


def test_the_registry_serves_definitions_by_it() -> None:
    assert SERVED is not None
    assert isinstance(SERVED.model, DefinitionModel)


def test_unknown_keywords_of_schemas_are_dropped_and_told() -> None:
    reading = read(definition(spec_of(a={"type": "string", "colour": 1})))
    place = "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.a.colour"
    assert reading.problems == (f'unknown field "{place}"',)
    assert b"colour" not in MODEL.store(reading.object)


def test_keywords_of_other_types_are_refused() -> None:
    with pytest.raises(BadRequest, match="cannot be handled as a CustomResourceDefinition"):
        read(definition({"type": 5}))


def test_a_new_definition_is_judged_whole() -> None:
    bad = MODEL.prepare_create(
        read(definition(spec_of(a={}), scope="Nowhere")).object, CIRCUMSTANCES
    )
    fields = [error.field for error in MODEL.validate_create(bad, CIRCUMSTANCES)]
    assert fields == [
        "spec.scope",
        "spec.validation.openAPIV3Schema.properties[spec].properties[a].type",
    ]


def test_what_does_not_change_is_not_judged_again() -> None:
    bad = typed(definition(spec_of(a={})))
    bad = replace(bad, metadata=replace(bad.metadata, resource_version="1", uid="u"))
    assert list(MODEL.validate_update(bad, bad, CIRCUMSTANCES)) == []
    good = typed(definition())
    assert MODEL.validate_update(bad, replace(good, metadata=bad.metadata), CIRCUMSTANCES) != []


def test_its_author_is_warned() -> None:
    obj = typed(definition(spec_of(a={"type": "string", "format": "colour"})))
    assert MODEL.warnings(obj, None) == ['unrecognized format "colour"']
