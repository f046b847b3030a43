"""Which form an answer takes, and what a body claims to be."""

from __future__ import annotations

import pytest

from dray.errors import NotAcceptable, UnsupportedMediaType
from dray.server.negotiation import (
    DISCOVERY,
    DOCUMENTS,
    LISTS,
    OBJECTS,
    REMEMBERED_CHARACTERS_MAX,
    WATCHES,
    Encoding,
    Form,
    Media,
    Offers,
    PatchType,
    body_encoding,
    negotiate,
    patch_type,
    wants_pretty,
)

KUBECTL_GET = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,"
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
METADATA = (
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
)
METADATA_LIST = METADATA.replace("PartialObjectMetadata", "PartialObjectMetadataList")
KUBECTL_DISCOVERY = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)
TABLE = Media(Encoding.JSON, Form.TABLE, "v1")
JSON = Media()
YAML = Media(Encoding.YAML)


@pytest.mark.parametrize(
    ("accept", "offers", "media"),
    [
        pytest.param("", OBJECTS, JSON, id="no-header-is-json"),
        pytest.param("*/*", OBJECTS, JSON, id="anything-is-json"),
        pytest.param("*", OBJECTS, JSON, id="a-lone-star-is-anything"),
        pytest.param("application/*", OBJECTS, JSON, id="any-application-type-is-json"),
        pytest.param("application/json", OBJECTS, JSON, id="json"),
        pytest.param("application/yaml", OBJECTS, YAML, id="yaml"),
        pytest.param("application/json, */*", OBJECTS, JSON, id="kubectl-logs"),
        pytest.param(
            "application/vnd.kubernetes.protobuf,application/json",
            OBJECTS,
            JSON,
            id="protobuf-falls-to-json",
        ),
        pytest.param(KUBECTL_GET, OBJECTS, TABLE, id="kubectl-get-one"),
        pytest.param(KUBECTL_GET, LISTS, TABLE, id="kubectl-get-many"),
        pytest.param(KUBECTL_GET, WATCHES, TABLE, id="kubectl-get-watch"),
        pytest.param(KUBECTL_GET, DOCUMENTS, JSON, id="a-table-that-is-not-offered-is-skipped"),
        pytest.param(
            "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
            LISTS,
            Media(Encoding.JSON, Form.TABLE, "v1beta1"),
            id="the-older-table",
        ),
        pytest.param(
            "application/yaml;as=Table;v=v1;g=meta.k8s.io",
            LISTS,
            Media(Encoding.YAML, Form.TABLE, "v1"),
            id="a-table-in-yaml",
        ),
        pytest.param(
            "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
            LISTS,
            JSON,
            id="a-version-of-the-future-is-skipped",
        ),
        pytest.param(
            "application/json;as=Table;v=v1;g=example.com,application/json",
            LISTS,
            JSON,
            id="a-foreign-group-is-skipped",
        ),
        pytest.param(
            "application/json;v=v1,application/yaml", OBJECTS, YAML, id="half-a-form-is-no-form"
        ),
        pytest.param(METADATA, OBJECTS, Media(form=Form.METADATA, version="v1"), id="metadata"),
        pytest.param(METADATA, WATCHES, Media(form=Form.METADATA, version="v1"), id="md-watch"),
        pytest.param(
            METADATA_LIST, LISTS, Media(form=Form.METADATA_LIST, version="v1"), id="metadata-list"
        ),
        pytest.param(METADATA, LISTS, JSON, id="one-objects-metadata-of-a-list-is-skipped"),
        pytest.param(
            "application/json;q=0.5, application/yaml", OBJECTS, YAML, id="quality-decides"
        ),
        pytest.param(
            "*/*, application/yaml", OBJECTS, YAML, id="the-named-type-before-the-wildcard"
        ),
        pytest.param("application/yaml;q=nonsense, */*", OBJECTS, JSON, id="bad-quality-is-last"),
        pytest.param("nonsense,a/b/c,,application/yaml", OBJECTS, YAML, id="unreadable-is-skipped"),
        pytest.param(
            "application/json; charset=utf-8", OBJECTS, JSON, id="unknown-parameters-are-ignored"
        ),
        pytest.param(
            "application/json;pretty=1", OBJECTS, Media(pretty=True), id="asks-to-be-indented"
        ),
        pytest.param("application/json;stream=watch", WATCHES, JSON, id="a-stream-of-a-watch"),
        pytest.param("application/yaml, application/json", WATCHES, JSON, id="no-yaml-in-a-watch"),
        pytest.param(
            KUBECTL_DISCOVERY, DISCOVERY, Media(form=Form.DISCOVERY, version="v2"), id="discovery"
        ),
        pytest.param(
            KUBECTL_DISCOVERY.replace("v=v2;", "v=v3;"),
            DISCOVERY,
            Media(form=Form.DISCOVERY, version="v2beta1"),
            id="discovery-in-its-older-version",
        ),
        pytest.param(KUBECTL_DISCOVERY, LISTS, JSON, id="discovery-of-a-resource"),
    ],
)
def test_the_first_clause_that_can_be_served_wins(
    accept: str, offers: Offers, media: Media
) -> None:
    assert negotiate(accept, offers) == media


@pytest.mark.parametrize(
    ("accept", "offers", "listed"),
    [
        pytest.param(
            "application/vnd.kubernetes.protobuf",
            OBJECTS,
            "application/json, application/yaml",
            id="only-protobuf",
        ),
        pytest.param("application/cbor", OBJECTS, "application/json, application/yaml", id="cbor"),
        pytest.param(
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            DOCUMENTS,
            "application/json, application/yaml",
            id="only-a-table-where-there-is-none",
        ),
        pytest.param(
            "application/json;stream=other",
            WATCHES,
            "application/json;stream=watch",
            id="an-unknown-stream",
        ),
        pytest.param(
            "application/json;sv=v1", OBJECTS, "application/json, application/yaml", id="sv"
        ),
        pytest.param("application/yaml", WATCHES, "application/json;stream=watch", id="yaml-watch"),
    ],
)
def test_what_cannot_be_served_is_refused_with_what_can(
    accept: str, offers: Offers, listed: str
) -> None:
    with pytest.raises(NotAcceptable) as caught:
        negotiate(accept, offers)
    assert caught.value.message == f"only the following media types are accepted: {listed}"


def test_a_header_too_long_to_remember_is_still_read() -> None:
    padding = "x/y," * (REMEMBERED_CHARACTERS_MAX // 4)
    with pytest.raises(NotAcceptable):
        negotiate(padding + "application/json", OBJECTS)  # past the last clause that is weighed
    assert negotiate("application/yaml;z=" + "y" * REMEMBERED_CHARACTERS_MAX, OBJECTS) == YAML


def test_a_form_names_its_version() -> None:
    assert TABLE.api_version == "meta.k8s.io/v1"
    assert JSON.api_version == ""
    assert YAML.content_type == "application/yaml"


@pytest.mark.parametrize(
    ("media", "query", "agent", "pretty"),
    [
        pytest.param(JSON, {}, "kubectl/v1.37.1", False, id="a-program"),
        pytest.param(JSON, {}, "curl/8.5.0", True, id="curl"),
        pytest.param(JSON, {}, "Wget/1.21", True, id="wget"),
        pytest.param(JSON, {}, "Mozilla/5.0 (X11)", True, id="a-browser"),
        pytest.param(JSON, {"pretty": ["true"]}, "", True, id="asked-for"),
        pytest.param(JSON, {"pretty": ["1"]}, "", True, id="asked-for-by-number"),
        pytest.param(JSON, {"pretty": ["0"]}, "curl/8", False, id="curl-refuses"),
        pytest.param(JSON, {"pretty": ["nonsense"]}, "curl/8", False, id="nonsense-is-no"),
        pytest.param(JSON, {"pretty": [""]}, "curl/8", True, id="empty-says-nothing"),
        pytest.param(Media(pretty=True), {"pretty": ["0"]}, "", True, id="the-clause-asks"),
    ],
)
def test_json_is_indented_for_people(
    media: Media, query: dict[str, list[str]], agent: str, pretty: bool
) -> None:
    assert wants_pretty(media, query, agent) is pretty


@pytest.mark.parametrize(
    ("content_type", "encoding"),
    [
        pytest.param("", Encoding.JSON, id="nothing-is-json"),
        pytest.param("application/json", Encoding.JSON, id="json"),
        pytest.param("application/json; charset=utf-8", Encoding.JSON, id="charset"),
        pytest.param("Application/JSON", Encoding.JSON, id="in-capitals"),
        pytest.param("application/yaml", Encoding.YAML, id="yaml"),
        pytest.param("application/vnd.kubernetes.protobuf", Encoding.PROTOBUF, id="protobuf"),
    ],
)
def test_a_body_is_what_its_type_says(content_type: str, encoding: Encoding) -> None:
    assert body_encoding(content_type) is encoding


@pytest.mark.parametrize("content_type", ["application/cbor", "text/plain", ";", "json"])
def test_a_body_of_another_type_is_refused(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaType) as caught:
        body_encoding(content_type)
    assert caught.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


@pytest.mark.parametrize("kind", PatchType)
def test_a_patch_says_how_it_is_meant(kind: PatchType) -> None:
    assert patch_type(f"{kind.value}; charset=utf-8") is kind


@pytest.mark.parametrize("content_type", ["", "application/json", "application/yaml"])
def test_a_patch_that_does_not_say_is_refused(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaType, match="strategic-merge"):
        patch_type(content_type)


def test_custom_resources_take_no_strategic_merge() -> None:
    with pytest.raises(UnsupportedMediaType) as caught:
        patch_type(PatchType.STRATEGIC.value, strategic=False)
    assert "strategic" not in caught.value.message
    assert patch_type(PatchType.MERGE.value, strategic=False) is PatchType.MERGE
