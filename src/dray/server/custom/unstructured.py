"""An object of a custom kind: typed metadata, and whatever else its schema lets it have.

The rest is kept where any struct keeps what its type does not declare, so that encoding, copying
and comparing work as for every other object. Upstream counterpart: apimachinery's Unstructured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dray.api.codec import encode, to_builtins
from dray.api.meta import Object, ObjectMeta
from dray.api.wire import UnknownFields

__all__ = ["Unstructured", "fresh"]


class Unstructured(Object):
    """An object whose content only its schema knows."""

    @staticmethod
    def of(
        api_version: str, kind: str, metadata: ObjectMeta, content: Mapping[str, Any]
    ) -> Unstructured:
        return Unstructured(
            api_version=api_version,
            kind=kind,
            metadata=metadata,
            unknown_fields=UnknownFields(content),
        )

    @property
    def content(self) -> dict[str, Any]:
        """All members but apiVersion, kind and metadata. Nobody may change them."""
        kept = self.unknown_fields
        return kept.members if isinstance(kept, UnknownFields) else {}

    def whole(self, *, with_metadata: bool = True) -> dict[str, Any]:
        """The object as JSON values, which nobody may change; of its metadata maybe the name."""
        head = {"apiVersion": self.api_version, "kind": self.kind}
        metadata = to_builtins(self.metadata) if with_metadata else {"name": self.metadata.name}
        return {**head, "metadata": metadata, **self.content}

    def stored(self) -> bytes:
        """The object as it is stored: metadata first, and without what its place says."""
        metadata, content = encode(self.metadata), _encode(self.content)
        if content == b"{}":
            return b'{"metadata":%b}' % metadata
        return b'{"metadata":%b,%b' % (metadata, content[1:])


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def fresh(content: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy of JSON values, which may then be changed."""
    copy: dict[str, Any] = _decode(_encode(content))
    return copy
