"""The published OpenAPI documents, reduced to the facts that dray has as well.

What is left out: descriptions; CBOR and protobuf among the media types of answers; the parameter
and the markers of features that dray does not have; the paths that watch in a way long deprecated.
A reference wrapped into `allOf`, which version 3 does to say something beside it, is unwrapped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["read_published", "reduce_document", "small_document"]

DROPPED = {"description", "x-kubernetes-unions"}
DROPPED_MEDIA = ("cbor", "vnd.kubernetes.protobuf")
DROPPED_PARAMETERS = {"shardSelector"}

# Enough to have every form that dray's documents have.
SMALL_PATHS = (
    "/api/v1/",
    "/api/v1/configmaps",
    "/api/v1/namespaces/{namespace}/configmaps",
    "/api/v1/namespaces/{namespace}/configmaps/{name}",
    "/api/v1/namespaces/{namespace}/pods/{name}/binding",
    "/api/v1/namespaces/{namespace}/pods/{name}/log",
)
SMALL_DEFINITIONS = (
    "ConfigMap",
    "Container",
    "ContainerPort",
    "Pod",
    "PodSpec",
    "Secret",
    "Volume",
)


def reduce_document(value: Any) -> Any:
    """The facts of a document, or of a part of one."""
    if isinstance(value, dict):
        kept = {
            key: reduce_document(each)
            for key, each in value.items()
            if (key not in DROPPED or not isinstance(each, (str, list)))
            and not any(media in key for media in DROPPED_MEDIA)
        }
        if kept.get("x-kubernetes-list-type") == "atomic":
            del kept["x-kubernetes-list-type"]
        if isinstance(kept.get("required"), list):
            kept["required"] = sorted(kept["required"])
        wrapped = kept.get("allOf")
        if isinstance(wrapped, list) and len(wrapped) == 1:
            kept |= kept.pop("allOf")[0]
        return kept
    if isinstance(value, list):
        return [reduce_document(each) for each in value if not dropped(each)]
    return value


def dropped(item: Any) -> bool:
    if isinstance(item, dict):
        return item.get("name") in DROPPED_PARAMETERS
    return isinstance(item, str) and any(media in item for media in DROPPED_MEDIA)


def read_published(specification: Path, versions: list[str]) -> dict[str, Any]:
    """The facts of the version 3 documents of some versions, and of the version 2 document."""
    found: dict[str, Any] = {"v3": {}}
    for key in versions:
        path = specification / "v3" / f"{key.replace('/', '__')}_openapi.json"
        document = json.loads(path.read_text())
        found["v3"][key] = {
            "paths": without_watches(reduce_document(document["paths"])),
            "schemas": reduce_document(document["components"]["schemas"]),
        }
    document = read_v2(specification)
    roots = tuple(f"/{key}/" for key in versions)
    found["v2"] = {
        "paths": {
            path: item
            for path, item in without_watches(reduce_document(document["paths"])).items()
            if path.startswith(roots)
        },
        "definitions": reduce_document(document["definitions"]),
    }
    return found


def without_watches(paths: dict[str, Any]) -> dict[str, Any]:
    return {path: item for path, item in paths.items() if "/watch/" not in path}


def read_v2(specification: Path) -> Any:
    """The version 2 document, with parameters where they are used."""
    document = json.loads((specification / "swagger.json").read_text())
    shared = document["parameters"]

    def resolve(value: Any) -> Any:
        if isinstance(value, dict):
            reference = value.get("$ref", "")
            if isinstance(reference, str) and reference.startswith("#/parameters/"):
                return shared[reference.removeprefix("#/parameters/")]
            return {key: resolve(each) for key, each in value.items()}
        return [resolve(each) for each in value] if isinstance(value, list) else value

    return resolve(document)


def small_document(specification: Path) -> dict[str, Any]:
    """A valid version 2 document with a few of upstream's paths and definitions."""
    document = read_v2(specification)
    paths = {path: reduce_document(document["paths"][path]) for path in SMALL_PATHS}
    for item in paths.values():
        for method, operation in item.items():
            if method != "parameters":
                for response in operation["responses"].values():
                    response["description"] = "an answer"
    return {
        "swagger": "2.0",
        "info": {"title": "small", "version": "v1"},
        "paths": paths,
        "definitions": {
            f"io.k8s.api.core.v1.{name}": reduce_document(
                document["definitions"][f"io.k8s.api.core.v1.{name}"]
            )
            for name in SMALL_DEFINITIONS
        },
        "securityDefinitions": {
            "BearerToken": {"in": "header", "name": "authorization", "type": "apiKey"}
        },
        "security": [{"BearerToken": []}],
    }
