from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from dray.api.batch import Job, JobSpec
from dray.api.core import ConfigMap, Pod, PodTemplateSpec
from dray.api.meta import Object, ObjectMeta
from dray.api.pruning import drop_unknown
from dray.api.resource import ResourceClaim
from dray.api.scheme import Kind, kinds
from dray.errors import BadRequest
from dray.server.models.model import Reading
from dray.server.models.typed import TypedModel
from dray.testing.strategies import structs
from tests.unit.server.models.builders import NOW, circumstances, model, read, served

MAPS = served("", "configmaps")
MODEL = model("", "configmaps")
CLAIMS = model("resource.k8s.io", "resourceclaims")


def reading(body: bytes | dict[str, Any]) -> Reading:
    return MODEL.read(body, MAPS.resource, NOW)


@pytest.mark.parametrize(
    "body",
    [
        b'{"metadata":{"name":"a"},"data":{"x":"1"}}',
        {"metadata": {"name": "a"}, "data": {"x": "1"}},
    ],
    ids=["bytes", "values"],
)
def test_an_object_needs_no_names_of_its_own(body: bytes | dict[str, Any]) -> None:
    found = reading(body)
    assert found.object == ConfigMap(metadata=ObjectMeta(name="a"), data={"x": "1"})
    assert found.problems == ()


@pytest.mark.parametrize(
    ("names", "told"),
    [
        pytest.param({"kind": "Secret"}, 'no kind "Secret"', id="kind"),
        pytest.param({"apiVersion": "v2"}, 'for version "v2"', id="version"),
        pytest.param({"apiVersion": "apps/v1", "kind": "Deployment"}, "apps/v1", id="both"),
    ],
)
def test_an_object_cannot_have_other_names(names: dict[str, str], told: str) -> None:
    with pytest.raises(BadRequest, match=told):
        reading(json.dumps({**names, "metadata": {"name": "a"}}).encode())


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"nonsense", b'{"data":{"x":1}}', b'{"metadata":"a"}', b'{"data":"\xff"}']
)
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest, match="cannot be handled as a ConfigMap"):
        reading(body)


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        pytest.param(b'{"foo":1}', ['unknown field "foo"'], id="unknown"),
        pytest.param(b'{"metadata":{"foo":1}}', ['unknown field "metadata.foo"'], id="nested"),
        pytest.param(b'{"data":{"x":"1","x":"2"}}', ['duplicate field "data.x"'], id="twice"),
    ],
)
def test_what_strictness_holds_against_a_body_is_noted(body: bytes, problems: list[str]) -> None:
    assert list(reading(body).problems) == problems


def test_unknown_fields_are_dropped() -> None:
    found = reading(b'{"foo":1,"metadata":{"name":"a","bar":2},"data":{"x":"1"}}').object
    assert json.loads(MODEL.store(found)) == {"metadata": {"name": "a"}, "data": {"x": "1"}}


def test_the_last_of_two_members_counts() -> None:
    assert reading(b'{"data":{"x":"1","x":"2"}}').object.data == {"x": "2"}


def test_an_object_is_stored_without_what_its_place_says() -> None:
    obj = ConfigMap(metadata=ObjectMeta(name="a", resource_version="9"), data={"x": "1"})
    assert MODEL.store(obj) == b'{"metadata":{"name":"a"},"data":{"x":"1"}}'


def test_a_stored_object_has_its_revision_back() -> None:
    value = MODEL.store(ConfigMap(metadata=ObjectMeta(name="a")))
    assert MODEL.load(value, 9).metadata.resource_version == "9"


def claim() -> dict[str, Any]:
    requests = [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]
    return {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}}


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_an_object_is_shown_at_the_version_asked_for(version: str, *, typed: bool) -> None:
    value = CLAIMS.store(read("resource.k8s.io", "resourceclaims", claim()))
    resource = served("resource.k8s.io", "resourceclaims", version).resource
    shown = json.loads(CLAIMS.show(value, 7, resource, typed=typed))
    assert (shown.get("apiVersion") == f"resource.k8s.io/{version}") is typed
    assert shown["metadata"]["resourceVersion"] == "7"
    (request,) = shown["spec"]["devices"]["requests"]
    assert ("exactly" in request) is (version == "v1")


def test_a_document_is_fresh_at_every_call() -> None:
    obj = ConfigMap(metadata=ObjectMeta(name="a"), data={"x": "1"})
    MODEL.document(obj, "v1")["data"]["x"] = "2"
    assert MODEL.document(obj, "v1")["data"] == {"x": "1"}


def test_there_is_a_schema_for_every_version_and_no_other() -> None:
    assert all(CLAIMS.schema(version) is not None for version in CLAIMS.versions())
    assert CLAIMS.schema("v9") is None


@pytest.mark.parametrize(
    ("version", "path"),
    [
        pytest.param("v1", "spec.devices.requests[0].exactly.selectors", id="v1"),
        pytest.param("v1beta1", "spec.devices.requests[0].selectors", id="v1beta1"),
    ],
)
def test_rules_speak_the_language_of_the_version_asked(version: str, path: str) -> None:
    document = claim()
    document["metadata"]["namespace"] = "default"
    selectors = [{"cel": {"expression": "true"}}] * 33
    document["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = selectors
    wrong = read("resource.k8s.io", "resourceclaims", document)
    here = circumstances("resource.k8s.io", "resourceclaims", version)
    assert {error.field for error in CLAIMS.validate_create(wrong, here)} == {path}


def test_what_is_carried_is_stored_without_white_space() -> None:
    classes = model("resource.k8s.io", "deviceclasses")
    resource = served("resource.k8s.io", "deviceclasses").resource
    opaque = b'{"driver": "a.example", "parameters": {"x" : [1, 2] }}'
    body = b'{"metadata": {"name": "a"}, "spec": {"config": [{"opaque": %b}]}}' % opaque
    value = classes.store(classes.read(body, resource, NOW).object)
    assert b'"parameters":{"x":[1,2]}' in value


@given(st.sampled_from([Pod, ResourceClaim]), st.data())
@settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_what_is_remembered_is_what_would_be_loaded(
    kind: type[Object], data: st.DataObject
) -> None:
    obj = drop_unknown(data.draw(structs(kind)))
    forgetful, mindful = TypedModel(find(kind)), TypedModel(find(kind))
    value = mindful.store(obj)
    mindful.remember(obj, value, 7)
    loaded, known = forgetful.load(value, 7), mindful.load(value, 7)
    assert known == loaded
    assert mindful.store(known) == forgetful.store(loaded) == value


def find(kind: type[Object]) -> Kind:
    return next(each for each in kinds() if each.hub.type is kind)


def test_a_job_is_not_remembered_without_the_labels_it_is_stored_with() -> None:
    jobs = model("batch", "jobs")
    template = PodTemplateSpec(metadata=ObjectMeta(labels={"a": "b"}))
    job = Job(metadata=ObjectMeta(name="j"), spec=JobSpec(template=template))
    value = jobs.store(job)
    jobs.remember(job, value, 7)
    assert jobs.load(value, 7).metadata.labels == {"a": "b"}
