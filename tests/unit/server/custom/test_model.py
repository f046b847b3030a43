from __future__ import annotations

import json
from typing import Any

import pytest

from dray.api.features import DEFAULT_GATES
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.errors import BadRequest, InternalError, Invalid
from dray.server.custom.kind import CustomKind
from dray.server.custom.model import CustomModel
from dray.server.custom.serving import served_versions
from dray.server.models.model import Circumstances
from tests.unit.server.custom.definitions import (
    NOW,
    SIZE,
    definition,
    spec_of,
    typed,
    version,
    widget,
)

STATUS = {
    **SIZE,
    "properties": {
        **SIZE["properties"],
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def made(document: dict[str, Any] | None = None, *, since: int = 0, at: str = "v1") -> CustomModel:
    return CustomModel(CustomKind(typed(document or definition()), since=since), at)


MODEL = made()


def circumstances(model: CustomModel) -> Circumstances:
    declared = typed(definition())
    served = next(iter(served_versions(declared, model.kind)))
    return Circumstances(DEFAULT_GATES, NOW, served.resource)


def read(model: CustomModel, body: Any) -> Any:
    return model.read(body, circumstances(model).resource, NOW)


def stored(model: CustomModel, body: Any, **metadata: Any) -> Any:
    obj = read(model, body).object
    return replace(obj, metadata=replace(obj.metadata, namespace="default", uid="u", **metadata))


# Reading ---------------------------------------------------------------------------------------


def test_a_body_is_read_with_what_strictness_holds_against_it() -> None:
    body = widget(spec={"size": 3, "mood": 1}) | {"metadata": {"name": "w", "odd": 1}}
    reading = read(MODEL, body)
    assert reading.object.content == {"spec": {"size": 3}}
    assert reading.object.metadata == ObjectMeta(name="w")
    assert reading.problems == ('unknown field "metadata.odd"', 'unknown field "spec.mood"')


def test_bytes_and_values_are_read_alike() -> None:
    body = widget(spec={"size": 3})
    assert read(MODEL, json.dumps(body).encode()) == read(MODEL, body)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            b'{"metadata":{"name":"k"}}',
            'Object \'Kind\' is missing in \'{"metadata":{"name":"k"}}\'',
        ),
        (json.dumps(widget(api="v2")).encode(), "(example.com/v2) does not match the expected API"),
        (
            {**widget(), "metadata": {"labels": "x"}},
            'Widget in version "v1" cannot be handled as a Widget',
        ),
        ({**widget(), "kind": 5}, "Kind must be a text"),
    ],
)
def test_a_body_of_no_such_object_is_refused(body: Any, told: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read(MODEL, body)
    assert told in refused.value.message


def test_a_body_of_another_kind_is_invalid() -> None:
    with pytest.raises(Invalid) as refused:
        read(MODEL, {**widget(), "kind": "Gadget"})
    assert refused.value.message == (
        'Gadget.example.com "w" is invalid: kind: Invalid value: "Gadget": must be Widget'
    )


# Storing ---------------------------------------------------------------------------------------


def test_what_is_stored_comes_back() -> None:
    obj = stored(MODEL, widget(spec={"size": 3}))
    value = MODEL.store(replace(obj, metadata=replace(obj.metadata, resource_version="5")))
    assert value.startswith(b'{"metadata":{')
    assert b"resourceVersion" not in value
    assert b"apiVersion" not in value
    loaded = MODEL.load(value, 7)
    assert loaded.content == obj.content
    assert loaded.metadata == replace(obj.metadata, resource_version="7")


def test_what_is_shown_says_its_version_and_revision() -> None:
    value = MODEL.store(stored(MODEL, widget(spec={"size": 3})))
    shown = json.loads(MODEL.show(value, 7, circumstances(MODEL).resource))
    assert shown["apiVersion"] == "example.com/v1"
    assert shown["metadata"]["resourceVersion"] == "7"
    assert shown["spec"] == {"size": 3}


def test_objects_from_before_the_schema_changed_are_fitted_to_it() -> None:
    value = MODEL.store(stored(MODEL, widget(spec={"size": 3, "note": "n"})))
    newer = made(
        definition(spec_of(size={"type": "integer"}, extra={"type": "string", "default": "d"})),
        since=10,
    )
    resource = circumstances(newer).resource
    assert json.loads(newer.show(value, 9, resource))["spec"] == {"size": 3, "extra": "d"}
    assert newer.load(value, 9).content == {"spec": {"size": 3, "extra": "d"}}
    assert json.loads(newer.show(value, 11, resource))["spec"] == {"size": 3, "note": "n"}


def test_versions_see_what_their_schemas_know() -> None:
    text = {"type": "string"}
    both = definition(
        versions=[version("v1", spec_of(a=text)), version("v2", spec_of(a=text, b=text))]
    )
    one, two = made(both), made(both, at="v2")
    value = two.store(read(two, widget(api="v2", spec={"a": "x", "b": "y"})).object)
    assert json.loads(value)["spec"] == {"a": "x"}
    assert (
        json.loads(two.show(value, 3, circumstances(two).resource))["apiVersion"]
        == "example.com/v2"
    )
    assert one.load(value, 3).api_version == "example.com/v1"


def test_a_document_is_fresh_at_every_call() -> None:
    obj = stored(MODEL, widget(spec={"size": 3}))
    MODEL.document(obj, "v1")["spec"]["size"] = 4
    assert MODEL.document(obj, "v1")["spec"] == {"size": 3}
    with pytest.raises(InternalError):
        MODEL.document(obj, "v2")


def test_documents_are_converted_for_whoever_owns_fields() -> None:
    text = {"type": "string"}
    both = definition(versions=[version("v1", spec_of(a=text)), version("v2", spec_of(b=text))])
    model = made(both)
    document = {
        "apiVersion": "example.com/v2",
        "kind": "Widget",
        "metadata": {},
        "spec": {"b": "x"},
    }
    converted = model.convert(document, "example.com/v1")
    assert converted == {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {},
        "spec": {},
    }
    assert model.convert(document, "example.com/v9") is None
    assert model.convert(document, "other.com/v1") is None


# Preparing -------------------------------------------------------------------------------------


def test_who_creates_an_object_cannot_say_its_status() -> None:
    model = made(definition(STATUS, subresources={"status": {}}))
    obj = read(model, widget(spec={"size": 1}, status={"phase": "x"})).object
    prepared = model.prepare_create(obj, circumstances(model))
    assert prepared.content == {"spec": {"size": 1}}
    assert prepared.metadata.generation == 1


def test_without_a_status_of_its_own_it_is_content_like_any() -> None:
    model = made(definition(STATUS))
    obj = read(model, widget(status={"phase": "x"})).object
    assert model.prepare_create(obj, circumstances(model)).content == {"status": {"phase": "x"}}


def test_an_update_keeps_the_status_and_counts_the_rest() -> None:
    model = made(definition(STATUS, subresources={"status": {}}))
    old = stored(model, widget(spec={"size": 1}, status={"phase": "x"}), generation=4)
    new = read(model, widget(spec={"size": 2}, status={"phase": "y"})).object
    prepared = model.prepare_update(new, old, circumstances(model))
    assert prepared.content == {"spec": {"size": 2}, "status": {"phase": "x"}}
    assert prepared.metadata.generation == 5
    same = read(model, widget(spec={"size": 1})).object
    assert model.prepare_update(same, old, circumstances(model)).metadata.generation == 4


def test_an_update_of_the_status_changes_nothing_else() -> None:
    model = made(definition(STATUS, subresources={"status": {}}))
    old = stored(model, widget(spec={"size": 1}, status={"phase": "x"}), generation=4)
    new = read(model, widget(spec={"size": 2}, status={"phase": "y"})).object
    new = replace(new, metadata=replace(new.metadata, labels={"via": "status"}))
    prepared = model.prepare_update(new, old, circumstances(model), subresource="status")
    assert prepared.content == {"spec": {"size": 1}, "status": {"phase": "y"}}
    assert prepared.metadata.labels == {}
    assert prepared.metadata.generation == 4


# Judging ---------------------------------------------------------------------------------------


def told(model: CustomModel, body: Any) -> list[str]:
    errors = model.validate_create(stored(model, body), circumstances(model))
    return [str(error) for error in errors]


def test_a_new_object_is_judged_by_its_schema() -> None:
    assert told(MODEL, widget(spec={"size": "x"})) == [
        'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'
    ]
    assert told(MODEL, widget(spec={"size": 1})) == []


def test_names_are_judged_too() -> None:
    (error,) = told(MODEL, widget("Bad Name"))
    assert error.startswith('metadata.name: Invalid value: "Bad Name"')


def test_rules_are_not_asked_about_what_is_wrong_already() -> None:
    schema = spec_of(size={"type": "integer", "x-kubernetes-validations": [{"rule": "self > 1"}]})
    model = made(definition(schema))
    assert told(model, widget(spec={"size": 1})) == [
        "spec.size: Invalid value: 1: failed rule: self > 1"
    ]
    assert told(model, widget(spec={"size": "x"}))[1].startswith(
        "<nil>: Invalid value: null: some validation rules were not checked"
    )


def test_a_schema_may_speak_of_the_name() -> None:
    schema = {
        "type": "object",
        "properties": {
            "metadata": {
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": 2}},
            }
        },
        "x-kubernetes-validations": [{"rule": "self.metadata.name != 'no'"}],
    }
    model = made(definition(schema))
    assert told(model, widget("long"))[0] == "metadata.name: Too long: may not be more than 2 bytes"
    assert told(model, widget("no")) == [
        "<nil>: Invalid value: failed rule: self.metadata.name != 'no'"
    ]


def test_an_update_is_not_blamed_for_what_it_inherits() -> None:
    old = replace(
        stored(MODEL, widget(spec={"size": 1})),
        metadata=ObjectMeta(name="w", namespace="default", uid="u", resource_version="1"),
    )
    tight = made(
        definition(spec_of(size={"type": "integer", "minimum": 5}, note={"type": "string"}))
    )
    same = read(tight, widget(spec={"size": 1, "note": "n"})).object
    same = replace(same, metadata=old.metadata)
    assert list(tight.validate_update(same, old, circumstances(tight))) == []
    worse = replace(read(tight, widget(spec={"size": 2})).object, metadata=old.metadata)
    (error,) = tight.validate_update(worse, old, circumstances(tight))
    assert error.field == "spec.size"


def test_a_status_is_judged_without_the_rest() -> None:
    model = made(
        definition(
            STATUS,
            subresources={
                "status": {},
                "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
            },
        )
    )
    metadata = ObjectMeta(name="w", namespace="default", uid="u", resource_version="1")
    old = replace(read(model, widget(spec={"size": 1})).object, metadata=metadata)
    new = replace(
        read(model, widget(spec={"size": 1}, status={"size": -1})).object, metadata=metadata
    )
    errors = model.validate_update(new, old, circumstances(model), subresource="status")
    assert [error.field for error in errors] == [".status.size"]


def test_finalizers_without_a_domain_are_warned_of() -> None:
    obj = stored(MODEL, widget(), finalizers=("mine",))
    assert len(MODEL.warnings(obj, None)) == 1
    assert MODEL.warnings(obj, obj) == []


def test_what_a_model_is() -> None:
    assert MODEL.versions() == ["v1"]
    assert MODEL.schema("v1") is not None
    assert MODEL.schema("v2") is None
    assert MODEL.new().kind == "Widget"
    assert not MODEL.traits.allows_unconditional_update("v1")
    assert not MODEL.traits.returns_deleted_object("v1")
    assert not MODEL.traits.allow_create_on_update
