"""Bytes of a file to the objects in it, each with its place.

A file is a stream of documents, in JSON (`{…}{…}`) or in YAML (between `---` lines), told apart as
kubectl does it, by the first brace. Each YAML document is read on its own, so a slip in one does
not hide the others. A list (`kind: List`, `kind: PodList`) stands for its items, which is what
`kubectl get -o yaml` writes. Everything that is not a document comes out as a ManifestError with
line and column; nothing else is raised. Not here: what the objects mean (dray.api.scheme).
Upstream counterpart: apimachinery util/yaml and kubectl's resource builder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from dray.api import codec
from dray.api.yaml.composer import NOTHING, Composer
from dray.api.yaml.errors import ManifestError
from dray.api.yaml.places import line_of
from dray.errors import DecodeError

__all__ = [
    "JSON_BYTES_MAX",
    "JSON_VALUES_MAX",
    "OBJECTS_MAX",
    "YAML_BYTES_MAX",
    "Document",
    "EmptyList",
    "Manifest",
    "decode_text",
    "read_documents",
]

# A dump of a few thousand nodes with their slices; it fits into memory some ten times over.
JSON_BYTES_MAX: Final = 64 * 1024 * 1024

# YAML takes about 20 times as long to read as JSON: this much takes some seconds.
YAML_BYTES_MAX: Final = 16 * 1024 * 1024

# Real dumps have a value every 20 to 30 bytes; two bytes each would take gigabytes.
JSON_VALUES_MAX: Final = 4_000_000

# All of a large cluster's pods, or more slices than nodes.
OBJECTS_MAX: Final = 100_000

# JSON is read without places. Where an error needs one, it is read again, slowly.
_PLACED_JSON_BYTES_MAX: Final = 4 * 1024 * 1024


@dataclass(frozen=True)
class Document:
    """One document of a file, counted from 1; `line` is where it begins."""

    index: int
    line: int
    value: Any
    text: str | None = field(default=None, repr=False)  # of JSON, which has yet to find its places

    def line_of(self, path: str) -> int:
        """The line of a field, or of the nearest thing around it that is there."""
        return line_of(self._placed, path) or self.line

    @cached_property
    def _placed(self) -> Any:
        if self.text is None or len(self.text) > _PLACED_JSON_BYTES_MAX:
            return self.value
        try:
            return Composer().compose(self.text, first_line=self.line)
        except ManifestError:
            # YAML is not quite a superset of JSON: it has shorter names, for one.
            return None


@dataclass(frozen=True)
class Manifest:
    """One object of a document: the document itself, or an item of a list."""

    document: Document
    value: Any
    path: str = ""  # where the object is in its document
    item: int | None = None  # counted from 1

    @property
    def line(self) -> int:
        return self.line_of("")

    def line_of(self, path: str) -> int:
        """The line of a field of the object."""
        separator = "." if self.path and path and not path.startswith("[") else ""
        return self.document.line_of(f"{self.path}{separator}{path}")


@dataclass(frozen=True)
class EmptyList:
    """A list without items: there is nothing to look at, and that is no mistake."""

    line: int


def read_documents(data: bytes) -> Iterator[Manifest | EmptyList | ManifestError]:
    """The objects in a file's bytes, in order, with an error in place of what is not readable."""
    try:
        text = decode_text(data)
    except ManifestError as error:
        yield error
        return
    objects = 0
    for document in _documents(text):
        if isinstance(document, ManifestError):
            yield document
            continue
        for found in _objects(document, oversized=len(data) > codec.DOCUMENT_BYTES_MAX):
            objects += 1
            if objects > OBJECTS_MAX:
                yield _too_many(document.line)
                return
            yield found


# Lists -----------------------------------------------------------------------------------------


def _objects(
    document: Document, *, oversized: bool
) -> Iterator[Manifest | EmptyList | ManifestError]:
    for manifest in _expand(document):
        if oversized and isinstance(manifest, Manifest):
            size = len(codec.encode([manifest.value]))
            if size > codec.DOCUMENT_BYTES_MAX:
                rule = f"object has {size} bytes, the limit is {codec.DOCUMENT_BYTES_MAX}"
                yield ManifestError(rule, manifest.line)
                continue
        yield manifest


def _expand(document: Document) -> Iterator[Manifest | EmptyList | ManifestError]:
    # Lists may hold lists; the stack keeps their order.
    waiting = [Manifest(document, document.value)]
    item = 0
    while waiting:
        manifest = waiting.pop()
        items = _items(manifest.value)
        if items == []:
            yield EmptyList(document.line)
            continue
        if items is None:
            if manifest.path:
                item += 1
                manifest = Manifest(document, manifest.value, manifest.path, item)
            yield manifest
            continue
        if not isinstance(items, list):
            where = f"{manifest.path}.items" if manifest.path else "items"
            rule = f"{where}: expected a list, because the kind is {manifest.value['kind']}"
            yield ManifestError(rule, document.line_of(where))
            continue
        if len(items) + len(waiting) > OBJECTS_MAX:
            yield _too_many(document.line)
            return
        prefix = f"{manifest.path}." if manifest.path else ""
        for index in reversed(range(len(items))):
            value = _typed_by(manifest.value, items[index])
            waiting.append(Manifest(document, value, f"{prefix}items[{index}]"))


def _too_many(line: int) -> ManifestError:
    return ManifestError(f"more than {OBJECTS_MAX} objects", line)


def _items(value: Any) -> Any:
    """What a list holds; None if this is no list."""
    if not isinstance(value, dict):
        return None
    kind = value.get("kind")
    if not isinstance(kind, str) or not kind.endswith("List"):
        return None
    items = value.get("items", [])
    return [] if items is None else items


def _typed_by(listing: dict[str, Any], item: Any) -> Any:
    """The item with the type its list gives it: items of a typed list may leave it out."""
    kind = listing["kind"].removesuffix("List")
    if not kind or not isinstance(item, dict) or "kind" in item or "apiVersion" in item:
        return item
    return {"apiVersion": listing.get("apiVersion"), "kind": kind, **item}


# Text ------------------------------------------------------------------------------------------

_BYTE_ORDER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")

# What YAML does not allow anywhere, and JSON only in ways nobody uses.
_CONTROL: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# The bytes that are text in ASCII.
_PLAIN: Final = bytes([*b"\t\n\r", *range(0x20, 0x7F)])


def decode_text(data: bytes) -> str:
    """The text in a file's bytes. Raises ManifestError if it is none."""
    if data.startswith(_BYTE_ORDER_MARKS):
        raise ManifestError("is UTF-16: save it as UTF-8", 1, 1)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = _line_and_column(before, len(before))
        rule = f"not UTF-8: byte {data[error.start]:#04x}"
        raise ManifestError(rule, line, column) from error
    text = text.removeprefix("\ufeff")
    if text.isascii() and not data.translate(None, _PLAIN):
        # Nearly all dumps, in a tenth of the time.
        return text
    found = _CONTROL.search(text)
    if found is not None:
        line, column = _line_and_column(text, found.start())
        raise ManifestError(f"not text: control character {ord(found[0]):#04x}", line, column)
    return text


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    line = text.count("\n", 0, offset) + 1
    return line, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _documents(text: str) -> Iterator[Document | ManifestError]:
    if not text.lstrip().startswith("{"):
        return _yaml_documents(text)
    # `{a: b}` is YAML too, and a stream may separate its JSON with `---`.
    if _QUOTED_FIRST.match(text) is None or _is_separated(text):
        return _yaml_documents(text)
    return _json_documents(text)


def _is_separated(text: str) -> bool:
    # Looking for a plain text first is much faster, and it is rarely there.
    if "\n---" not in text and "\n..." not in text:
        return False
    return _SEPARATOR.search(text) is not None


# JSON ------------------------------------------------------------------------------------------

_QUOTED_FIRST: Final = re.compile(r'\s*\{\s*["}]')
_JSON_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]', re.DOTALL)
_SPACE: Final = re.compile(r"\s*+")


def _json_documents(text: str) -> Iterator[Document | ManifestError]:
    values = text.count(",") + text.count("[") + text.count("{")
    if values > JSON_VALUES_MAX:
        yield ManifestError(f"more than {JSON_VALUES_MAX} values", 1)
        return
    found = _parse(text, 1, 1)
    if not isinstance(found, ManifestError):
        start = _end_of_space(text, 0)
        yield Document(1, text.count("\n", 0, start) + 1, found, text[start:])
        return
    spans = list(_json_spans(text))
    if len(spans) < 2:
        yield found
        return
    for index, (start, end) in enumerate(spans, 1):
        line, column = _line_and_column(text, start)
        part = text[start:end]
        value = _parse(part, line, column)
        yield value if isinstance(value, ManifestError) else Document(index, line, value, part)


def _parse(text: str, first_line: int, first_column: int) -> Any:
    """The value, or the ManifestError that says why there is none."""
    try:
        return codec.parse_json(text.encode(), bytes_max=JSON_BYTES_MAX)
    except DecodeError as error:
        cause = error.__cause__
        if isinstance(cause, json.JSONDecodeError):
            column = cause.colno + (first_column - 1 if cause.lineno == 1 else 0)
            line = cause.lineno + first_line - 1
            return ManifestError(f"not JSON: {cause.msg}", line, column)
        return ManifestError(error.rule, first_line)


def _json_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each of several values begins and ends; the last one takes what is left."""
    depth = 0
    start = _end_of_space(text, 0)
    for match in _JSON_BRACKETS.finditer(text):
        if match[0] in "[{":
            depth += 1
        elif match[0] in "]}":
            depth -= 1
            if depth <= 0:
                yield start, match.end()
                start = _end_of_space(text, match.end())
                depth = 0
    if start < len(text):
        yield start, len(text)


def _end_of_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


# YAML ------------------------------------------------------------------------------------------

_SEPARATOR: Final = re.compile(r"^(---|\.\.\.(?=\s|\Z))(.*)$", re.MULTILINE)
_DIRECTIVE: Final = re.compile(r"(?:[ \t]*(?:#.*)?\n)*%")


def _yaml_documents(text: str) -> Iterator[Document | ManifestError]:
    if len(text) > YAML_BYTES_MAX:
        yield ManifestError(
            f"has {len(text)} characters, the limit for YAML is {YAML_BYTES_MAX}; write it as JSON"
        )
        return
    composer = Composer()
    index = 0
    for part, line in _yaml_parts(text):
        if isinstance(part, ManifestError):
            yield part
            continue
        try:
            value = composer.compose(part, first_line=line)
        except ManifestError as error:
            index += 1
            yield error
            continue
        if value is NOTHING or value is None:
            continue
        index += 1
        yield Document(index, int(getattr(value, "line", 0)) or line, value)


def _yaml_parts(text: str) -> Iterator[tuple[str | ManifestError, int]]:
    """The text of each document and the line it begins in."""
    start = 0
    line = 1
    for match in _SEPARATOR.finditer(text):
        yield _checked(text[start : match.start()], line), line
        line += text.count("\n", start, match.start())
        start = match.end()
        after = match[2].strip()
        # YAML would let a document begin in this line, or a word with three dashes.
        if after and not after.startswith("#"):
            yield ManifestError("nothing may follow --- but a comment", line, 4), line
    yield _checked(text[start:], line), line


def _checked(part: str, line: int) -> str | ManifestError:
    # kubectl has no use for directives, and libyaml compares each with all others.
    if _DIRECTIVE.match(part):
        return ManifestError("YAML directives (%YAML, %TAG) are not for manifests", line)
    return part
