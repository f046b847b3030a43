"""Answers to /openapi/v2 and /openapi/v3."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dray.api.schema import StructOf
from dray.api.schemas import schema_of
from dray.http.messages import Peer, Request, Response
from dray.server.openapi import OpenAPI
from dray.server.resources import Resource

CONFIG_MAPS = Resource(
    "", "v1", "configmaps", "configmap", "ConfigMap", True, schema_of("", "v1", "ConfigMap")
)


def widgets() -> Resource:
    schema = StructOf("", dict, preserves_unknown=True)
    return Resource("example.com", "v1", "widgets", "widget", "Widget", True, schema)


PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


@pytest.fixture
def openapi() -> OpenAPI:
    return OpenAPI([CONFIG_MAPS, widgets()])


def get(openapi: OpenAPI, url: str, **headers: str) -> Response:
    parts = urlsplit(url)
    answer = openapi.respond(
        Request(
            "GET",
            parts.path,
            parse_qs(parts.query),
            {name.replace("_", "-"): value for name, value in headers.items()},
            b"",
            Peer("client:1"),
        )
    )
    assert answer is not None
    return answer


def header(answer: Response, name: str) -> str:
    return dict(answer.headers).get(name, "")


def index(openapi: OpenAPI) -> dict[str, str]:
    document: Any = json.loads(get(openapi, "/openapi/v3").body)
    return {key: entry["serverRelativeURL"] for key, entry in document["paths"].items()}


def test_the_index_leads_to_the_documents(openapi: OpenAPI) -> None:
    urls = index(openapi)
    assert list(urls) == ["api/v1", "apis/example.com/v1"]
    answer = get(openapi, urls["api/v1"], accept="application/json")
    assert answer.status == 200
    assert header(answer, "Content-Type") == "application/json"
    assert header(answer, "Cache-Control") == "public, immutable"
    assert header(answer, "ETag").strip('"') in urls["api/v1"]
    assert "/api/v1/configmaps" in json.loads(answer.body)["paths"]


def test_a_document_without_a_hash_may_change(openapi: OpenAPI) -> None:
    answer = get(openapi, "/openapi/v3/api/v1")
    assert answer.status == 200
    assert header(answer, "Cache-Control") == "no-cache, private"


def test_an_old_hash_leads_to_the_new_one(openapi: OpenAPI) -> None:
    answer = get(openapi, "/openapi/v3/api/v1?hash=OLD")
    assert answer.status == 301
    assert header(answer, "Location") == index(openapi)["api/v1"]


def test_what_is_not_there_is_not_found(openapi: OpenAPI) -> None:
    answer = get(openapi, "/openapi/v3/apis/nothing/v1")
    assert (answer.status, answer.body) == (404, b"")


def test_other_paths_are_somebody_else_s(openapi: OpenAPI) -> None:
    request = Request("GET", "/openapi", {}, {}, b"", Peer("client:1"))
    assert openapi.respond(request) is None


@pytest.mark.parametrize("url", ["/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1"])
def test_what_a_client_has_is_not_sent_again(openapi: OpenAPI, url: str) -> None:
    tag = header(get(openapi, url), "ETag")
    again = get(openapi, url, if_none_match=f'"other", W/{tag}')
    assert (again.status, again.body) == (304, b"")
    assert header(again, "ETag") == tag
    assert get(openapi, url, if_none_match='"other"').status == 200


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/json;q=0.5,text/html", "application/json"),
        (PROTOBUF, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"),
        (
            f"application/json;q=0.1,{PROTOBUF};q=0.9",
            "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        ),
        ("application/json;q=much", "application/json"),
    ],
)
def test_version_2_comes_in_the_form_that_is_asked_for(
    openapi: OpenAPI, accept: str, content_type: str
) -> None:
    answer = get(openapi, "/openapi/v2", accept=accept)
    assert answer.status == 200
    assert header(answer, "Content-Type") == content_type
    assert header(answer, "Vary") == "Accept"
    assert answer.body.startswith(b"\x0a\x032.0" if "proto" in content_type else b"{")


@pytest.mark.parametrize("url", ["/openapi/v2", "/openapi/v3/api/v1"])
def test_a_form_that_there_is_not_is_refused(openapi: OpenAPI, url: str) -> None:
    assert get(openapi, url, accept="text/html, application/json;q=0").status == 406


def test_a_slash_at_the_end_changes_nothing(openapi: OpenAPI) -> None:
    assert get(openapi, "/openapi/v3/").body == get(openapi, "/openapi/v3").body


def test_a_new_definition_changes_its_own_document_only(openapi: OpenAPI) -> None:
    before = index(openapi)
    everything = get(openapi, "/openapi/v2").body
    changed = Resource(
        "example.com", "v1", "widgets", "widget", "Widget", True, StructOf("", dict, atomic=True)
    )
    openapi.replace([CONFIG_MAPS, changed])
    after = index(openapi)
    assert after["api/v1"] == before["api/v1"]
    assert after["apis/example.com/v1"] != before["apis/example.com/v1"]
    assert get(openapi, "/openapi/v2").body != everything
    openapi.replace([CONFIG_MAPS])
    assert list(index(openapi)) == ["api/v1"]
