from __future__ import annotations

from typing import Any

import pytest

from dray.errors import APIError
from dray.server.custom.kind import CustomKind, schema_document
from tests.unit.server.custom.definitions import definition, spec_of, typed, version


def kind(*versions: dict[str, Any], **others: Any) -> CustomKind:
    return CustomKind(typed(definition(versions=list(versions), **others)), since=0)


TEXT = {"type": "string"}


def test_objects_are_stored_at_the_version_the_definition_names() -> None:
    found = kind(version("v2", spec_of(a=TEXT)), version("v1"))
    assert found.stored.name == "v1"
    assert list(found.versions) == ["v2", "v1"]
    assert found.namespaced


def test_versions_with_equal_schemas_need_no_converting() -> None:
    assert kind(version("v1"), version("v2")).is_uniform
    assert not kind(version("v1"), version("v2", spec_of(a=TEXT))).is_uniform


def test_another_version_keeps_what_its_schema_knows() -> None:
    found = kind(version("v1", spec_of(a=TEXT)), version("v2", spec_of(a=TEXT, b=TEXT)))
    content = {"spec": {"a": "x", "b": "y"}}
    one, two = found.versions["v1"], found.versions["v2"]
    assert found.converted(content, two, one) == {"spec": {"a": "x"}}
    assert found.converted(content, two, two) == content
    assert content == {"spec": {"a": "x", "b": "y"}}


def test_nobody_converts_where_a_webhook_would() -> None:
    hook = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}
    found = kind(version("v1"), version("v2"), conversion=hook)
    one, two = found.versions["v1"], found.versions["v2"]
    assert found.converted({"a": 1}, one, one) == {"a": 1}
    with pytest.raises(APIError, match="no webhook") as refused:
        found.converted({"a": 1}, one, two)
    assert refused.value.code == 500


def test_a_version_fits_content_to_its_schema_and_fills_it() -> None:
    schema = spec_of(a={"type": "string", "default": "x"}, b=TEXT)
    found = kind(version("v1", schema)).stored
    content: dict[str, Any] = {"spec": {"b": None, "c": 1}}
    assert found.fit(content) == ["spec.c"]
    found.fill(content)
    assert content == {"spec": {"a": "x"}}


def test_what_is_said_of_metadata_has_no_defaults() -> None:
    schema = spec_of(a=TEXT)
    schema["properties"]["metadata"] = {"type": "object", "properties": {"name": TEXT}}
    content: dict[str, Any] = {}
    kind(version("v1", schema)).stored.fill(content)
    assert content == {}


def test_a_version_without_a_schema_takes_anything() -> None:
    bare = version("v1")
    del bare["schema"]
    found = kind(bare)
    content: dict[str, Any] = {"anything": 1}
    assert found.stored.fit(content) == []
    assert schema_document(typed(definition(versions=[bare])).spec.versions[0]) is None  # type: ignore[index]  # there is one


def test_subresources_are_each_versions_own() -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    found = kind(version("v1", subresources={"status": {}, "scale": scale}), version("v2"))
    assert found.versions["v1"].has_status
    assert found.versions["v1"].scale is not None
    assert not found.versions["v2"].has_status
