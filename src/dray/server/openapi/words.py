"""What dray says about types and fields, read from files beside the schemas.

One file holds the words of one API group, for all its versions; its first line is the name that
OpenAPI has for the group, then comes a line for each of

    Device.name: What the field does.
    Device: What the type is.
    BasicDevice = Device

The last says that BasicDevice's fields mean what Device's do, unless they have words of their own;
the other type may be of another group, under its whole name. A version in front of the type
(`v1beta1.Device.basic`) is about that version only. `#` starts a comment. Types called `*` and
`*List` stand for every kind and every list of objects.

The files are read when the first document is written: nobody else needs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from dray.errors import InternalError

__all__ = ["Words", "all_words", "words_about"]

_FOLDER: Final = ("dray.api.schemas", "descriptions")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one group: by type or type and field, and which types borrow from which."""

    group: str  # as in OpenAPI: io.k8s.api.resource
    texts: Mapping[str, str]
    borrowed: Mapping[str, str]

    def about(self, version: str, type_: str, field: str = "") -> str:
        """What there is to say about a type or its field at a version, empty if nothing."""
        name = f"{type_}.{field}" if field else type_
        text = self.texts.get(f"{version}.{name}") or self.texts.get(name, "")
        if text or not field:
            return text
        other = self.borrowed.get(f"{version}.{type_}") or self.borrowed.get(type_, "")
        if "." in other:
            group, _, type_ = other.rpartition(".")
            return _of_group(group).about(version, type_, field)
        return self.about(version, other, field) if other else ""


def words_about(name: str, field: str = "") -> str:
    """What there is to say about a definition, or about one of its fields; empty if nothing."""
    package, _, type_ = name.rpartition(".")
    group, _, version = package.rpartition(".")
    words = all_words().get(group)
    return "" if words is None else words.about(version, type_, field)


@cache
def all_words() -> Mapping[str, Words]:
    """Everything there is, by group."""
    return {words.group: words for words in map(_read, _texts())}


def _of_group(group: str) -> Words:
    found = all_words().get(group)
    if found is None:
        raise InternalError(f"words are borrowed from {group}, of which there are none")
    return found


def _texts() -> Iterator[str]:
    package, folder = _FOLDER
    for entry in resources.files(package).joinpath(folder).iterdir():
        if entry.name.endswith(".txt"):
            yield entry.read_text("utf-8")


def _read(text: str) -> Words:
    group, *lines = text.splitlines()
    texts: dict[str, str] = {}
    borrowed: dict[str, str] = {}
    for line in lines:
        if not line or line.startswith("#"):
            continue
        name, colon, words = line.partition(": ")
        if colon:
            found, value = texts, words
        else:
            name, _, value = line.partition(" = ")
            found = borrowed
        if name in found or not value:
            raise InternalError(f"the words of {group} have a line they cannot have: {line}")
        found[name] = value
    return Words(group, texts, borrowed)
