"""Object metadata, right and wrong: what the server checks for every kind alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.conformance.generate import objects
from tests.conformance.generate.case import Request
from tests.conformance.generate.writes import Variant, create, update

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "pod-1", "uid": "uid-1"}


def creates(root: Request, **extra: Any) -> Iterator[Request]:
    for name, other in _variants(root):
        yield create(f"metadata: {name}", other, **extra)


def updates(root: Request, **extra: Any) -> Iterator[Request]:
    old = objects.stored(root)
    for name, other in _variants(old):
        yield update(f"metadata: {name}", other, old, **extra)
    for name, change in _identity_changes():
        yield update(f"metadata: {name}", _with(old, **change), old, **extra)
    deleted = _with(old, deletionTimestamp=objects.LATER, deletionGracePeriodSeconds=0)
    yield update("metadata: old is being deleted", old, deleted, **extra)
    yield update(
        "metadata: finalizer added while being deleted",
        _with(deleted, finalizers=["example.com/new"]),
        deleted,
        **extra,
    )
    kept = _with(deleted, finalizers=["example.com/a", "example.com/b"])
    yield update(
        "metadata: finalizer removed while being deleted",
        _with(deleted, finalizers=["example.com/b"]),
        kept,
        **extra,
    )
    yield update("metadata: deletion withdrawn", old, kept, **extra)
    without_version = {
        key: value for key, value in old["metadata"].items() if key != "resourceVersion"
    }
    yield update("metadata: no resource version", old | {"metadata": without_version}, old, **extra)


def _with(root: Request, **extra: Any) -> Request:
    return root | {"metadata": root["metadata"] | extra}


def _variants(root: Request) -> Iterator[Variant]:
    for name in ("", "Upper", "a.b", "a/b", "a%b", "..", ".", "-a", "a-", "under_score", "a" * 253,
                 "a" * 254, "é", "a b"):  # fmt: skip
        yield f"name {name[:20]!r}", _with(root, name=name)
    yield "generateName and name", _with(root, generateName="gen-")
    yield "bad generateName", _with(root, generateName="Gen_")
    yield "no name", _without_name(root)
    for labels in ({"app": "x"}, {"-bad": "x"}, {"app": "-"}, {"a/b/c": "x"}, {"app": "x" * 64}):
        yield f"labels {str(labels)[:30]}", _with(root, labels=labels)
    for notes in ({"example.com/note": "any text, even ü"}, {"bad key": "x"}, {"A/b": "x"}):
        yield f"annotations {notes}", _with(root, annotations=notes)
    yield "annotations too large", _with(root, annotations={"note": "x" * (256 * 1024)})
    for finalizers in (
        ["example.com/a"],
        ["plain"],
        ["a b"],
        [""],
        ["orphan", "foregroundDeletion"],
    ):
        yield f"finalizers {finalizers}", _with(root, finalizers=finalizers)
    yield "owner", _with(root, ownerReferences=[OWNER])
    for field in OWNER:
        yield f"owner without {field}", _with(root, ownerReferences=[OWNER | {field: ""}])
    yield (
        "two controllers",
        _with(
            root,
            ownerReferences=[
                OWNER | {"controller": True},
                OWNER | {"controller": True, "uid": "uid-2", "name": "pod-2"},
            ],
        ),
    )
    yield "event as owner", _with(root, ownerReferences=[OWNER | {"kind": "Event"}])
    yield "negative generation", _with(root, generation=-1)
    yield (
        "managed fields",
        _with(
            root,
            managedFields=[
                {
                    "manager": "kubectl",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {},
                }
            ],
        ),
    )
    yield (
        "bad managed fields",
        _with(
            root,
            managedFields=[{"manager": "m" * 129, "operation": "Steal", "fieldsType": "FieldsV9"}],
        ),
    )
    if "namespace" in root["metadata"]:
        for namespace in ("", "Bad_Namespace", "a.b"):
            yield f"namespace {namespace!r}", _with(root, namespace=namespace)
    else:
        yield "namespace on a cluster-scoped object", _with(root, namespace="default")


def _without_name(root: Request) -> Request:
    kept = {key: value for key, value in root["metadata"].items() if key != "name"}
    return root | {"metadata": kept}


def _identity_changes() -> Iterator[tuple[str, Request]]:
    yield "name changed", {"name": "other"}
    yield "uid changed", {"uid": "99999999-2222-3333-4444-555555555555"}
    yield "creation time changed", {"creationTimestamp": objects.LATER}
    yield "deletion time set", {"deletionTimestamp": objects.LATER}
    yield "grace period set", {"deletionGracePeriodSeconds": 5}
    yield "generation changed", {"generation": 9}
    yield "resource version changed", {"resourceVersion": "8"}
    yield "labels changed", {"labels": {"other": "label"}}
    yield "self link", {"selfLink": "/x"}
