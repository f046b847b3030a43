"""The keywords of a schema: which there are, and what may stand behind each.

A schema is carried as JSON through everything that only stores it. Here is what its type would say:
a keyword of another type cannot be read, and one that does not exist is dropped. Upstream
counterpart: JSONSchemaProps in apiextensions-apiserver pkg/apis/apiextensions/v1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dray.errors import DecodeError

__all__ = ["cleaned"]


def cleaned(document: Any, path: str, unknown: list[str]) -> dict[str, Any]:
    """A schema with the keywords that exist; adds the paths of others to `unknown`.

    Raises DecodeError if a keyword is of another type.
    """
    if not isinstance(document, Mapping):
        raise DecodeError("expected an object", path=path)
    found: dict[str, Any] = {}
    for name, value in document.items():
        where = f"{path}.{name}"
        read = _KEYWORDS.get(name)
        if read is None:
            unknown.append(where)
        elif value is not None:
            found[name] = read(value, where, unknown)
        elif name == "default":
            found[name] = None
    return found


_Reader = Callable[[Any, str, list[str]], Any]


def _plain(kind: type | tuple[type, ...], title: str) -> _Reader:
    def read(value: Any, path: str, _unknown: list[str]) -> Any:
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not fits:
            raise DecodeError(f"expected {title}", path=path)
        return value

    return read


_TEXT: Final = _plain(str, "a string")
_BOOLEAN: Final = _plain(bool, "true or false")
_INTEGER: Final = _plain(int, "an integer")
_NUMBER: Final = _plain((int, float), "a number")


def _anything(value: Any, _path: str, _unknown: list[str]) -> Any:
    return value


def _list_of(read: _Reader) -> _Reader:
    def read_all(value: Any, path: str, unknown: list[str]) -> Any:
        if not isinstance(value, list):
            raise DecodeError("expected a list", path=path)
        return [read(item, f"{path}[{index}]", unknown) for index, item in enumerate(value)]

    return read_all


def _map_of(read: _Reader) -> _Reader:
    def read_all(value: Any, path: str, unknown: list[str]) -> Any:
        if not isinstance(value, Mapping):
            raise DecodeError("expected an object", path=path)
        return {name: read(member, f"{path}.{name}", unknown) for name, member in value.items()}

    return read_all


def _either(first: type, read: _Reader) -> _Reader:
    """A value of this type as it is, anything else by the reader."""
    return lambda value, path, unknown: (
        value if isinstance(value, first) else read(value, path, unknown)
    )


def _schema(value: Any, path: str, unknown: list[str]) -> Any:
    return cleaned(value, path, unknown)


def _items(value: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(value, list):
        return _list_of(_schema)(value, path, unknown)
    return cleaned(value, path, unknown)


def _members(readers: Mapping[str, _Reader]) -> _Reader:
    def read(value: Any, path: str, unknown: list[str]) -> Any:
        if not isinstance(value, Mapping):
            raise DecodeError("expected an object", path=path)
        found = {}
        for name, member in value.items():
            where = f"{path}.{name}"
            if name not in readers:
                unknown.append(where)
            elif member is not None:
                found[name] = readers[name](member, where, unknown)
        return found

    return read


_RULE: Final = _members(
    {
        "rule": _TEXT,
        "message": _TEXT,
        "messageExpression": _TEXT,
        "reason": _TEXT,
        "fieldPath": _TEXT,
        "optionalOldSelf": _BOOLEAN,
    }
)

_KEYWORDS: Final[Mapping[str, _Reader]] = {
    **dict.fromkeys(
        ("id", "$schema", "$ref", "description", "type", "format", "title", "pattern"), _TEXT
    ),
    **dict.fromkeys(("x-kubernetes-list-type", "x-kubernetes-map-type"), _TEXT),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), _NUMBER),
    **dict.fromkeys(
        ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"),
        _INTEGER,
    ),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "nullable"), _BOOLEAN),
    "x-kubernetes-preserve-unknown-fields": _BOOLEAN,
    "x-kubernetes-embedded-resource": _BOOLEAN,
    "x-kubernetes-int-or-string": _BOOLEAN,
    "x-kubernetes-list-map-keys": _list_of(_TEXT),
    "x-kubernetes-validations": _list_of(_RULE),
    "required": _list_of(_TEXT),
    "enum": _list_of(_anything),
    "default": _anything,
    "example": _anything,
    **dict.fromkeys(("allOf", "oneOf", "anyOf"), _list_of(_schema)),
    "not": _schema,
    "items": _items,
    **dict.fromkeys(("properties", "patternProperties", "definitions"), _map_of(_schema)),
    "additionalProperties": _either(bool, _schema),
    "additionalItems": _either(bool, _schema),
    "dependencies": _map_of(_either(list, _schema)),
    "externalDocs": _members({"description": _TEXT, "url": _TEXT}),
}
