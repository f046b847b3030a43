"""Takes recorded writes through dray's field manager, one after another."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dray.api import scheme
from dray.api.codec import to_builtins
from dray.api.schema import StructOf
from dray.api.schemas import find_schema
from dray.errors import APIError
from dray.server.patching.field_manager import FieldManager
from dray.server.patching.field_sets import ANY, FieldFilter, excluding, including

HERE = Path(__file__).parent

Object = dict[str, Any]

# Only these may change through the endpoint: the two with a filter instead of a list.
INCLUDED: dict[tuple[str, str], list[tuple[str, ...]]] = {
    ("Pod", "resize"): [
        ("spec", containers, ANY, part)
        for containers in ("containers", "initContainers")
        for part in ("resources", "resizePolicy")
    ],
    ("Pod", "ephemeralcontainers"): [("spec", "ephemeralContainers")],
}


def read(name: str) -> tuple[Object, list[tuple[Object, Object]]]:
    """The header of a recording, and its questions with their answers."""
    with gzip.open(HERE / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        header, *cases = map(json.loads, lines)
    return header, [(case["request"], case["answer"]) for case in cases]


def schema_at(api_version: str, kind: str) -> StructOf | None:
    group, _, version = api_version.rpartition("/")
    return find_schema(group, version, kind)


def convert(document: Object, api_version: str) -> Object | None:
    """The document at another version, by dray's own conversion; None if there is none."""
    version = api_version.rpartition("/")[2]
    kind, _, decoded = scheme.decode_any(document)
    if kind.version(version) is None or kind.api_version(version) != api_version:
        return None
    return to_builtins(scheme.from_hub(scheme.to_hub(decoded.value), version))


@cache
def filters(kind: str, subresource: str, text: str) -> Mapping[str, FieldFilter]:
    if (kind, subresource) in INCLUDED:
        return {"v1": including(*INCLUDED[kind, subresource])}
    reset: Mapping[str, list[str]] = json.loads(text)[kind].get(subresource, {})
    return {
        version: excluding(*(tuple(path[1:].split(".")) for path in paths))
        for version, paths in reset.items()
    }


@cache
def manager_of(api_version: str, kind: str, subresource: str, reset: str) -> FieldManager:
    schema = schema_at(api_version, kind)
    assert schema is not None
    return FieldManager(
        schema,
        api_version,
        kind,
        subresource=subresource,
        reset_fields=filters(kind, subresource, reset),
        convert=convert,
        schema_for=lambda version: schema_at(version, kind),
    )


def replay(request: Object, answer: Object, reset: str) -> Iterator[tuple[int, Object, Object]]:
    """For each step, what dray says and what upstream said."""

    def manager_for(step: Object) -> FieldManager:
        api_version = step.get("apiVersion", request["apiVersion"])
        return manager_of(api_version, request["kind"], step.get("subresource", ""), reset)

    return replay_with(manager_for, request, answer)


def replay_with(
    manager_for: Callable[[Object], FieldManager], request: Object, answer: Object
) -> Iterator[tuple[int, Object, Object]]:
    live: Object | None = None
    for index, (step, told) in enumerate(zip(request["steps"], answer["steps"], strict=True)):
        manager = manager_for(step)
        live = told.get("live", live)
        time = f"2020-01-01T00:00:{index:02}Z"
        if step["verb"] == "apply":
            said = applied(manager, live, step, time)
            stored = told.get("stored")
        else:
            new = told["new"]
            sent = (step["object"].get("metadata") or {}).get("managedFields")
            if sent in ([], [{}]):
                # Encoding drops the empty list that decoding saw.
                new = with_entries(new, sent)
            said = {"managedFields": manager.after_update(live, new, step["manager"], time)}
            stored = told["new"]
        yield index, said, expected(told, live)
        if stored is not None:
            created = live is None
            live = with_entries(stored, told["managedFields"])
            if created:
                live["metadata"] |= {
                    "uid": "c0ffee",
                    "resourceVersion": "1",
                    "creationTimestamp": "2020-01-01T00:00:00Z",
                }


def applied(manager: FieldManager, live: Object | None, step: Object, time: str) -> Object:
    try:
        result = manager.apply(
            live, step["object"], step["manager"], time, force=step.get("force", False)
        )
    except APIError as error:
        causes = sorted(error.details.causes, key=lambda cause: (cause.message, cause.field))
        return {
            "error": {
                "code": error.code,
                "reason": error.reason,
                "message": error.message,
                "causes": [(cause.reason, cause.message, cause.field) for cause in causes],
            }
        }
    metadata = dict(result["metadata"])
    entries = metadata.pop("managedFields", [])
    return {"managedFields": entries, "merged": {**result, "metadata": metadata}}


def expected(told: Object, live: Object | None) -> Object:
    if "error" in told:
        error = told["error"]
        causes = error.get("causes") or []
        return {
            "error": {
                "code": error["code"],
                "reason": error.get("reason", ""),
                "message": error["message"],
                "causes": [(one["reason"], one["message"], one["field"]) for one in causes],
            }
        }
    said = {"managedFields": told["managedFields"] or []}
    if "merged" in told:
        # Upstream merges nothing where nothing changed.
        said["merged"] = told["merged"] or (live and with_entries(live, None))
        said["stored"] = told["stored"]
    return said


def with_entries(document: Object, entries: Any) -> Object:
    metadata = {k: v for k, v in document["metadata"].items() if k != "managedFields"}
    if entries is not None:
        metadata["managedFields"] = entries
    return {**document, "metadata": metadata}
