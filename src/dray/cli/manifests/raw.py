"""Large lists of JSON, cut into objects that nobody has parsed yet.

A dump of a thousand nodes has millions of values, and whoever reads it needs few of them: parsing
it all into dicts first takes most of the time. So a large list is cut into the bytes of its items,
each with the type it says it has, and the reader parses what it wants the way it wants.

What this cannot cut comes from read_documents, as does everything small: there, more of what is
wrong with a document is noticed. Objects that nobody parses are checked for the syntax of JSON, and
for no more than that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from dray.api import codec
from dray.api.yaml.errors import ManifestError
from dray.cli.manifests.documents import (
    JSON_VALUES_MAX,
    OBJECTS_MAX,
    Document,
    EmptyList,
    Manifest,
    decode_text,
    read_documents,
)
from dray.errors import DecodeError

__all__ = ["RawObject", "read_raw"]

RAW_BYTES_MIN: Final = 1024 * 1024
"""What people write by hand is smaller; below it exact reading takes a tenth of a second."""


class _Listing(msgspec.Struct):
    kind: str
    items: list[msgspec.Raw]
    api_version: str = msgspec.field(default="", name="apiVersion")


class _Header(msgspec.Struct):
    """What an object says it is."""

    api_version: str | UnsetType = msgspec.field(default=UNSET, name="apiVersion")
    kind: str | UnsetType = UNSET


_LISTING: Final = msgspec.json.Decoder(_Listing)
_HEADER: Final = msgspec.json.Decoder(_Header)


@dataclass(frozen=True, slots=True)
class RawObject:
    """One object of a list, as its bytes."""

    document: Document
    data: bytes
    api_version: str
    kind: str
    item: int  # counted from 1

    def manifest(self) -> Manifest | ManifestError:
        """The object, parsed exactly; or why it cannot be."""
        try:
            return self._manifest(codec.parse_json(self.data))
        except DecodeError as error:
            return ManifestError(f"items[{self.item - 1}]: {error.rule}", self.document.line)

    def outline(self) -> Manifest:
        """The object as far as its type."""
        return self._manifest({"apiVersion": self.api_version, "kind": self.kind})

    def _manifest(self, value: Any) -> Manifest:
        return Manifest(self.document, value, f"items[{self.item - 1}]", self.item)


def read_raw(data: bytes) -> Iterator[RawObject | Manifest | EmptyList | ManifestError]:
    """The objects in a file's bytes, in order; those of a large list of JSON not yet parsed."""
    cut = _cut(data) if len(data) >= RAW_BYTES_MIN else None
    return read_documents(data) if cut is None else iter(cut)


def _cut(data: bytes) -> list[RawObject] | None:
    """The items of the list that this is; None if it is no list, or not one that is plain."""
    if data.count(b",") > JSON_VALUES_MAX:
        # Even uncut, so many items would take gigabytes.
        return None
    try:
        text = decode_text(data)
        listing = _LISTING.decode(data)
        headers = [_HEADER.decode(item) for item in listing.items]
    except (ManifestError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    if not listing.kind.endswith("List") or not 0 < len(headers) <= OBJECTS_MAX:
        return None
    document = Document(1, 1 + text.count("\n", 0, text.index("{")), None, text.lstrip())
    found = []
    for number, (item, header) in enumerate(zip(listing.items, headers, strict=True), 1):
        raw = _object(document, number, bytes(item), header, listing)
        if raw is None:
            return None
        found.append(raw)
    return found


def _object(
    document: Document, number: int, data: bytes, header: _Header, listing: _Listing
) -> RawObject | None:
    api_version, kind = header.api_version, header.kind
    if api_version is UNSET and kind is UNSET:
        # Items of a typed list may leave out what the list says.
        api_version, kind = listing.api_version, listing.kind.removesuffix("List")
        rest = data[1:].lstrip()
        if not kind or rest.startswith(b"}"):
            return None
        said = msgspec.json.encode({"apiVersion": api_version, "kind": kind})
        data = said[:-1] + b"," + rest
    if not isinstance(api_version, str) or not isinstance(kind, str) or kind.endswith("List"):
        return None
    if len(data) > codec.DOCUMENT_BYTES_MAX:
        return None
    return RawObject(document, data, api_version, kind, number)
