"""The scheme: every kind is found by what it says it is."""

from __future__ import annotations

import pytest

from dray.api import scheme
from dray.api.codec import decode, encode
from dray.api.resource import ResourcePoolStatusRequest, v1beta1
from dray.api.scheme import decode_any, find_kind, from_hub, kinds, to_hub
from dray.errors import DecodeError, InternalError


def test_every_kind_decodes_in_every_version_and_returns_from_its_hub() -> None:
    for kind in kinds():
        for version in kind.versions:
            api_version = kind.api_version(version.name)
            document = {"apiVersion": api_version, "kind": kind.name, "metadata": {"name": "x"}}
            found_kind, found_version, decoded = decode_any(document)
            assert (found_kind, found_version) == (kind, version)
            assert decoded.strict_problems == ()
            hub = to_hub(decoded.value)
            assert isinstance(hub, kind.hub.type)
            assert hub.api_version == kind.api_version(kind.hub.name)
            assert from_hub(hub, version.name) == decoded.value


def test_a_type_says_the_version_it_is_registered_for() -> None:
    for kind in kinds():
        built = kind.hub.type()
        assert (built.api_version, built.kind) == (kind.api_version(kind.hub.name), kind.name)
        assert decode(encode(built), kind.hub.type) == built


def test_names_are_unique_within_a_group() -> None:
    plurals = [(kind.group, kind.plural) for kind in kinds()]
    assert len(set(plurals)) == len(plurals) == len(scheme.KINDS)


@pytest.mark.parametrize(
    ("api_version", "kind", "message"),
    [
        pytest.param(
            "resource.k8s.io/v1alpha2",
            "ResourceClaim",
            'apiVersion: dray knows no kind "ResourceClaim" in version "resource.k8s.io/v1alpha2"; '
            "ResourceClaim exists in resource.k8s.io/v1, resource.k8s.io/v1beta2, "
            "resource.k8s.io/v1beta1",
            id="version-gone",
        ),
        pytest.param(
            "v1",
            "ResourceClaim",
            'apiVersion: dray knows no kind "ResourceClaim" in version "v1"; '
            "did you mean ResourceClaim in resource.k8s.io/v1?",
            id="wrong-group",
        ),
        pytest.param(
            "resource.k8s.io/v1",
            "ResourceClame",
            'kind: dray knows no kind "ResourceClame" in version "resource.k8s.io/v1"; '
            "did you mean ResourceClaim in resource.k8s.io/v1?",
            id="misspelt",
        ),
        pytest.param(
            "v1", "Service", 'kind: dray knows no kind "Service" in version "v1"', id="not-ours"
        ),
        pytest.param(
            "resource.k8s.io/v1",
            "ResourceClass",
            'kind: dray knows no kind "ResourceClass" in version "resource.k8s.io/v1"; '
            "did you mean DeviceClass in resource.k8s.io/v1?",
            id="renamed",
        ),
    ],
)
def test_an_unknown_kind_gets_a_hint(api_version: str, kind: str, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        find_kind(api_version, kind)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("document", "path"),
    [([], ""), ({"kind": "Pod"}, "apiVersion"), ({"apiVersion": "v1", "kind": 3}, "kind")],
)
def test_a_document_must_say_what_it_is(document: object, path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_any(document)
    assert caught.value.path == path
    assert "like" in caught.value.rule or not path


def test_only_hub_objects_convert_outwards() -> None:
    with pytest.raises(InternalError):
        from_hub(v1beta1.ResourceClaim(), "v1")
    with pytest.raises(DecodeError, match="exists in"):
        from_hub(ResourcePoolStatusRequest(), "v1")
