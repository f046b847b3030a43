"""What every kind is held to: a document with all its members, and one with none.

A test class names the kind and the documents; the claims are here. Complete documents really are:
a type that gains a field fails until its document shows one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, ClassVar, get_args

import msgspec

from dray.api import codec
from dray.api.codec import decode, decode_strict, encode, to_builtins
from dray.api.wire import UNKNOWN_MEMBER, Struct

Document = dict[str, Any]

METADATA: Document = {
    "name": "training",
    "generateName": "train",
    "namespace": "research",
    "selfLink": "/api/v1/old",
    "uid": "5f2c8a4e-7f0d-4f3b-9b7a-0d6a1c9b2e11",
    "resourceVersion": "4711",
    "generation": 3,
    "creationTimestamp": "2026-01-31T12:00:00Z",
    "deletionTimestamp": "2026-02-01T12:00:00Z",
    "deletionGracePeriodSeconds": 30,
    "labels": {"team": "vision"},
    "annotations": {"example.com/note": "keep"},
    "ownerReferences": [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "training",
            "uid": "9d0f0a34-24f7-4f0b-8b0c-1f7c54d0f3aa",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ],
    "finalizers": ["example.com/hold"],
    "managedFields": [
        {
            "manager": "kubectl",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2026-01-31T12:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:team": {}}}},
            "subresource": "status",
        }
    ],
}

LIST_METADATA: Document = {
    "selfLink": "/api/v1/old",
    "resourceVersion": "4712",
    "continue": "token",
    "remainingItemCount": 12,
    "shardInfo": {"selector": "shardRange(object.metadata.uid, '0x0', '0x8')"},
}

SELECTOR: Document = {
    "matchLabels": {"team": "vision"},
    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["batch", "web"]}],
}

OBJECT_REFERENCE: Document = {
    "kind": "Pod",
    "namespace": "research",
    "name": "training-0",
    "uid": "5f2c8a4e-7f0d-4f3b-9b7a-0d6a1c9b2e11",
    "apiVersion": "v1",
    "resourceVersion": "4711",
    "fieldPath": "spec.containers{main}",
}


class KindSuite:
    """The claims about one kind. Subclasses are named after it."""

    kind: ClassVar[type[Struct]]
    list_kind: ClassVar[type[Struct] | None] = None
    document: ClassVar[Document]  # with every member the kind declares
    empty: ClassVar[Document] = {}  # what an object of its defaults says beside its metadata

    def test_the_document_shows_every_member(self) -> None:
        shown = {
            (kind, member) for kind, found in objects(self.kind, self.document) for member in found
        }
        assert shown == set(members(self.kind))

    def test_the_quick_path_reads_all_of_it(self) -> None:
        text = encode(self.document)
        quick = codec._quick_decoder(self.kind)[0].decode(text)
        assert quick == decode_strict(text, self.kind).value

    def test_it_comes_back_as_it_was(self) -> None:
        assert to_builtins(decode(encode(self.document), self.kind)) == self.document

    def test_unknown_members_survive_in_every_object(self) -> None:
        newer = copy.deepcopy(self.document)
        for _, found in objects(self.kind, newer):
            found["addedLater"] = {"deep": [1, None, "x"]}
        assert to_builtins(decode(encode(newer), self.kind)) == newer

    def test_an_object_without_content_says_only_what_upstream_says(self) -> None:
        header = {key: self.document[key] for key in ("apiVersion", "kind")}
        assert to_builtins(self.kind()) == header | {"metadata": {}} | self.empty

    def test_a_list_of_them_comes_back_as_it_was(self) -> None:
        if self.list_kind is None:  # upstream has no such list either: the kind is never stored
            return
        assert to_builtins(self.list_kind()) == {
            "apiVersion": self.document["apiVersion"],
            "kind": f"{self.document['kind']}List",
            "metadata": {},
            "items": None,
        }
        several = to_builtins(self.list_kind()) | {
            "metadata": LIST_METADATA,
            "items": [self.document, self.document],
        }
        value = codec._quick_decoder(self.list_kind)[0].decode(encode(several))
        assert to_builtins(value) == several


def members(kind: type[Struct]) -> Iterator[tuple[type[Struct], str]]:
    """Every member that documents of a kind can have, with the type that declares it."""
    pending, met = [kind], {kind}
    while pending:
        type_ = pending.pop()
        for name, inner in fields(type_).items():
            yield type_, name
            if inner is not None and inner not in met:
                met.add(inner)
                pending.append(inner)


def objects(kind: type[Struct], value: Document) -> Iterator[tuple[type[Struct], Document]]:
    """Every object of a document that a struct is made from."""
    yield kind, value
    for name, inner in fields(kind).items():
        if inner is None or name not in value:
            continue
        member = value[name]
        for item in member if isinstance(member, list) else [member]:
            yield from objects(inner, item)


def fields(kind: type[Struct]) -> dict[str, type[Struct] | None]:
    """Wire names, and the struct that a member is, or is a list of."""
    return {
        field.encode_name: _struct_in(field.type)
        for field in msgspec.structs.fields(kind)
        if field.encode_name != UNKNOWN_MEMBER
    }


def _struct_in(annotation: Any) -> type[Struct] | None:
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return annotation
    return next(filter(None, map(_struct_in, get_args(annotation))), None)
