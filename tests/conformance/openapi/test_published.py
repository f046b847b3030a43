"""dray's OpenAPI documents against upstream's: the same facts, in other words."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dray.server.openapi.documents import document, key_of, v2_document
from dray.server.openapi.gnostic import to_protobuf
from dray.server.registry import Registry
from dray.server.resources import Resource
from tests.oracle.schema.published import reduce_document

PUBLISHED = Path(__file__).parent / "published.json.gz"

DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"


@cache
def published() -> Any:
    return json.loads(gzip.decompress(PUBLISHED.read_bytes()))


@cache
def resources() -> tuple[Resource, ...]:
    return Registry(versions=lambda group, version: True).resources


API_VERSIONS = list(dict.fromkeys(resource.api_version for resource in resources()))


@pytest.mark.parametrize("api_version", API_VERSIONS)
def test_a_version_s_document_says_what_upstream_s_says(api_version: str) -> None:
    written = json.loads(document(resources(), api_version, version="v1"))
    key = next(key_of(each) for each in resources() if each.api_version == api_version)
    theirs = published()["v3"][key]
    schemas = reduce_document(written["components"]["schemas"])
    assert schemas == {name: theirs["schemas"].get(name) for name in schemas}
    paths = reduce_document(written["paths"])
    assert paths == {path: theirs["paths"].get(path) for path in paths}


def test_the_document_of_everything_says_what_upstream_s_says() -> None:
    written = v2_document(resources(), version="v1")
    theirs = published()["v2"]
    definitions = reduce_document(written["definitions"])
    # Upstream has more versions, and all of them know how to be deleted.
    ours = definitions.pop(DELETE_OPTIONS)["x-kubernetes-group-version-kind"]
    their_kinds = theirs["definitions"][DELETE_OPTIONS]["x-kubernetes-group-version-kind"]
    assert all(kind in their_kinds for kind in ours)
    assert definitions == {name: theirs["definitions"].get(name) for name in definitions}
    paths = reduce_document(written["paths"])
    assert paths == {path: theirs["paths"].get(path) for path in paths}


def test_a_document_is_the_same_protobuf_that_go_makes_of_it() -> None:
    recorded = published()["gnostic"]
    assert to_protobuf(recorded["document"]) == b64decode(recorded["protobuf"])
