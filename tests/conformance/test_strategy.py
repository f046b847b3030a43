"""Defaulting and preparation against recordings of upstream.

Results are compared as values at the version of the request, not as JSON: how a value is written
is test_codec's matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dray.api.defaults import default
from dray.api.equality import semantically_equal
from dray.api.features import FeatureGates
from dray.api.meta import Object
from dray.api.scheme import decode_any, find_kind, from_hub, to_hub
from dray.api.strategy import (
    STRATEGIES,
    prepare_for_create,
    prepare_for_status_update,
    prepare_for_update,
)
from dray.api.wire import Time, replace
from tests.conformance.recordings import read_recording

# Later than every time in the recordings, so that it can only come from here.
NOW = Time.parse("2099-01-01T00:00:00Z")


def recorded(name: str) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    """The cases of a recording that upstream could read, of kinds that have a strategy here."""
    for number, (request, answer) in enumerate(read_recording(name, now=str(NOW))):
        refused = "decodeError" in answer or "error" in answer
        if not refused and request["object"].get("kind") in STRATEGIES:
            yield number, request, answer


def read(value: dict[str, Any]) -> Object:
    """The object of a document as it stands, at its own version."""
    _, _, decoded = decode_any(value)
    obj: Object = decoded.value
    return obj


def received(value: dict[str, Any]) -> Object:
    """The object of a request's body as a strategy sees it."""
    obj: Object = to_hub(default(read(value), now=NOW))
    return obj


def placed(obj: Object, old: Object | None, *, version: str) -> Object:
    """The object with what a server sets in any kind's metadata before it asks the strategy."""
    kind, _ = find_kind(obj.api_version, obj.kind)
    namespace = obj.metadata.namespace or "default" if kind.namespaced else ""
    resource_version = obj.metadata.resource_version
    if old is not None and STRATEGIES[obj.kind].allows_unconditional_update(version):
        resource_version = resource_version or old.metadata.resource_version
    metadata = replace(obj.metadata, namespace=namespace, resource_version=resource_version)
    return replace(obj, metadata=metadata)


def version_of(value: dict[str, Any]) -> str:
    version: str = value["apiVersion"].rpartition("/")[2]
    return version


def prepared(request: dict[str, Any]) -> Object:
    gates = FeatureGates(request.get("gates") or {})
    version = version_of(request["object"])
    old = received(request["old"]) if "old" in request else None
    new = placed(received(request["object"]), old, version=version)
    if old is None:
        return prepare_for_create(new, gates=gates)
    if request["operation"] == "update":
        return prepare_for_update(new, old, gates=gates, now=NOW)
    return prepare_for_status_update(new, old, gates=gates)


def same(ours: Object, theirs: dict[str, Any]) -> bool:
    return semantically_equal(from_hub(ours, version_of(theirs)), read(theirs))


@pytest.mark.slow
def test_a_write_is_prepared_as_upstream_prepares_it() -> None:
    cases = list(recorded("preparations"))
    assert len(cases) > 1000
    different = [
        (number, request["name"])
        for number, request, answer in cases
        if not same(prepared(request), answer["object"])
    ]
    assert different == []


@pytest.mark.slow
def test_an_object_gets_the_defaults_upstream_gives_it() -> None:
    cases = [answer for _, _, answer in recorded("decodes")]
    assert sum(answer["plain"] != answer["defaulted"] for answer in cases) > 100
    different = [
        answer["plain"]
        for answer in cases
        if not same(received(answer["plain"]), answer["defaulted"])
    ]
    assert different == []
