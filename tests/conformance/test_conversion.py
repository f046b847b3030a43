"""Decoding, defaults, encoding and conversion, against what upstream wrote back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from dray.api.codec import parse_json, to_builtins
from dray.api.defaults import default
from dray.api.scheme import decode_any, from_hub, to_hub
from dray.api.wire import Struct, Time, replace
from dray.errors import DecodeError
from tests.conformance.recordings import read_recording

NOW = Time.parse("2031-01-01T00:00:00Z")


def without_unknown(value: Any) -> Any:
    """The value as upstream keeps it: what a type does not declare is gone."""
    if isinstance(value, Struct):
        known = {
            name: without_unknown(getattr(value, name))
            for name in value.__struct_fields__
            if name != "unknown_fields"
        }
        return replace(value, unknown_fields=UNSET, **known)
    if isinstance(value, tuple):
        return tuple(without_unknown(item) for item in value)
    if isinstance(value, dict):
        return {key: without_unknown(item) for key, item in value.items()}
    return value


def comparable(value: Any) -> Any:
    """The JSON as upstream would write it, with our two known departures undone.

    Where an optional list was written empty or carried JSON was written as null, upstream drops
    the member and we keep it; docs/designs/codec.md says why.
    """
    if isinstance(value, dict):
        return {
            key: comparable(item)
            for key, item in value.items()
            if not (key in KEPT_EMPTY and item == []) and not (key == "data" and item is None)
        }
    return [comparable(item) for item in value] if isinstance(value, list) else value


KEPT_EMPTY = {
    "devices",
    "sharedCounters",
    "ints",
    "bools",
    "strings",
    "versions",
    "selectors",
    "tolerations",
    "derivedAttributes",
}


def as_kept(document: dict[str, Any]) -> dict[str, Any]:
    """Upstream's document without two things it adds that nobody reads.

    A daemon set's annotation for a field of its first version, and zeros in a rolling update that
    another strategy than RollingUpdate has no use for.
    """
    metadata, spec = document.get("metadata", {}), document.get("spec", {})
    annotations = metadata.get("annotations", {})
    if annotations.pop("deprecated.daemonset.template.generation", None) and not annotations:
        del metadata["annotations"]
    name = {"Deployment": "strategy", "DaemonSet": "updateStrategy"}.get(document["kind"], "")
    strategy = spec.get(name) or {}
    if strategy.get("type") != "RollingUpdate" and "rollingUpdate" in strategy:
        rolling = strategy["rollingUpdate"]
        strategy["rollingUpdate"] = {name: value for name, value in rolling.items() if value != 0}
    return document


def written(value: Any) -> Any:
    return comparable(to_builtins(without_unknown(value)))


def as_sent(document: Any) -> Any:
    return parse_json(json.dumps(document).encode())


def through_hub(value: Any, version: str) -> Any:
    return from_hub(to_hub(default(value, now=NOW)), version)


def is_list_kind(request: dict[str, Any]) -> bool:
    """Lists are decoded item by item, not as kinds of their own."""
    return str(request["object"].get("kind")).endswith("List")


@pytest.mark.parametrize(
    ("recording", "compared_min"), [("decodes", 700), ("decodes-built-ins", 400)]
)
def test_decoding_and_encoding_write_what_upstream_writes(
    recording: str, compared_min: int
) -> None:
    differences: list[Any] = []
    compared = 0
    for request, answer in read_recording(recording, now=str(NOW)):
        if is_list_kind(request):
            continue
        try:
            _, version, decoded = decode_any(as_sent(request["object"]))
        except DecodeError as error:
            if "decodeError" not in answer:
                differences.append((request, str(error)))
            continue
        if "decodeError" in answer:
            differences.append((request, answer["decodeError"]))
            continue
        compared += 1
        defaulted = through_hub(decoded.value, version.name)
        if written(decoded.value) != comparable(answer["plain"]):
            differences.append((request, answer["plain"]))
        if as_kept(written(defaulted)) != comparable(as_kept(answer["defaulted"])):
            differences.append((request, answer["defaulted"]))
        strict = answer.get("strictError", "")
        if bool(strict) != bool(decoded.unknown) or not all(
            problem in strict for problem in decoded.strict_problems
        ):
            differences.append((request, strict, decoded.strict_problems))
    assert compared > compared_min
    assert differences == []


def test_conversion_writes_what_upstream_writes() -> None:
    differences: list[Any] = []
    compared = 0
    for request, answer in read_recording("conversions", now=str(NOW)):
        try:
            _, _, decoded = decode_any(as_sent(request["object"]))
            converted = through_hub(decoded.value, request["to"].rpartition("/")[2])
        except DecodeError as error:
            if "object" in answer:
                differences.append((request, str(error)))
            continue
        if "object" not in answer:
            differences.append((request, answer))
            continue
        compared += 1
        if written(converted) != comparable(answer["object"]):
            differences.append((request, answer["object"]))
    assert compared > 1000
    assert differences == []


def test_conversion_there_and_back_changes_nothing_upstream_keeps() -> None:
    """v1 → v1beta1 → v1, on recorded objects, ends where it began."""
    seen = 0
    for _, answer in read_recording("conversions", now=str(NOW)):
        document = answer.get("object", {})
        if document.get("apiVersion") != "resource.k8s.io/v1" or beyond_v1beta1(document):
            continue
        kind, _, decoded = decode_any(as_sent(document))
        if kind.version("v1beta1"):
            seen += 1
            assert to_hub(from_hub(decoded.value, "v1beta1")) == decoded.value
    assert seen > 200


def beyond_v1beta1(document: dict[str, Any]) -> bool:
    """v1beta1 cannot write an `exactly` in which nothing is set, nor these two as zero values."""
    spec = document["spec"]
    return (
        '"exactly": {"deviceClassName": ""}' in json.dumps(document)
        or spec.get("nodeName") == ""
        or spec.get("allNodes") is False
    )
