"""Objects inside objects: x-kubernetes-embedded-resource.

Their metadata is that of any object, so it is read as such when they come in, and judged with the
rest. Upstream counterpart: apiextensions-apiserver pkg/apiserver/schema/objectmeta.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dray.api import names
from dray.api.codec import decode_builtins, to_builtins
from dray.api.meta import ObjectMeta
from dray.api.pruning import drop_unknown
from dray.api.wire import replace
from dray.errors import BadRequest, DecodeError, FieldError, FieldErrorType
from dray.server.custom.structural import Structural
from dray.validation.meta import name_is_path_segment, validate_object_meta

__all__ = ["coerce_embedded", "embedded_errors", "has_embedded"]

# Stands in for a name that an embedded object need not have.
_NAME: Final = "fakename"


def has_embedded(schema: Structural | None) -> bool:
    """Whether there are objects anywhere inside objects of this schema."""
    if schema is None:
        return False
    inner = (schema.items, schema.values, *schema.properties.values())
    return schema.embedded or any(has_embedded(part) for part in inner)


def _parts(value: Any, schema: Structural, path: str) -> Iterator[tuple[Any, Structural, str]]:
    """What is inside a value, with its schema and its path."""
    if type(value) is dict:
        for name, member in value.items():
            part = schema.properties.get(name)
            if part is not None:
                yield member, part, f"{path}.{name}" if path else name
            elif schema.values is not None:
                yield member, schema.values, f"{path}[{name}]"
    elif type(value) is list and schema.items is not None:
        for index, item in enumerate(value):
            yield item, schema.items, f"{path}[{index}]"


def coerce_embedded(value: Any, schema: Structural, path: str = "") -> list[str]:
    """Read embedded metadata as what it is, in place; the paths of fields that it does not have.

    Raises BadRequest if it cannot be read.
    """
    unknown: list[str] = []
    if schema.embedded and type(value) is dict:
        for name in ("apiVersion", "kind"):
            if name in value and not isinstance(value[name], str):
                error = FieldError(
                    FieldErrorType.INVALID, f"{path}.{name}", value[name], "must be a string"
                )
                raise BadRequest(str(error))
        if "metadata" in value:
            metadata, found = _read_metadata(value["metadata"], f"{path}.metadata")
            value["metadata"] = metadata
            unknown += found
    for member, part, where in _parts(value, schema, path):
        unknown += coerce_embedded(member, part, where)
    return unknown


def _read_metadata(value: Any, path: str) -> tuple[dict[str, Any], list[str]]:
    try:
        decoded = decode_builtins(value, ObjectMeta)
    except DecodeError as error:
        refusal = FieldError(FieldErrorType.INVALID, path, value, str(error))
        raise BadRequest(str(refusal)) from error
    metadata = drop_unknown(decoded.value) if decoded.unknown else decoded.value
    return to_builtins(metadata), [f"{path}.{name}" for name in decoded.unknown]


def embedded_errors(value: Any, schema: Structural, path: str = "") -> Iterator[FieldError]:
    """What is wrong with objects inside the value."""
    if schema.embedded and type(value) is dict:
        yield from _errors(value, path)
    for member, part, where in _parts(value, schema, path):
        yield from embedded_errors(member, part, where)


def _errors(value: dict[str, Any], path: str) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        if name not in value:
            yield FieldError(FieldErrorType.REQUIRED, f"{path}.{name}", "")
        elif not isinstance(value[name], str):
            yield _invalid(f"{path}.{name}", value[name], "must be a string")
        elif not value[name]:
            yield _invalid(f"{path}.{name}", "", "must not be empty")
    version, kind = value.get("apiVersion"), value.get("kind")
    if isinstance(version, str) and version.count("/") > 1:
        told = f"unexpected GroupVersion string: {version}"
        yield _invalid(f"{path}.apiVersion", version, told)
    if isinstance(kind, str) and kind:
        messages = names.dns_1035_label(kind.lower())
        if messages:
            told = "may have mixed case, but should otherwise match: " + ",".join(messages)
            yield _invalid(f"{path}.kind", kind, told)
    if "metadata" in value:
        metadata = decode_builtins(value["metadata"], ObjectMeta).value
        yield from validate_object_meta(
            replace(metadata, name=metadata.name or _NAME),
            namespaced=bool(metadata.namespace),
            path=f"{path}.metadata",
            name_rule=name_is_path_segment,
            standard_finalizers=False,
        )


def _invalid(path: str, value: Any, told: str) -> FieldError:
    return FieldError(FieldErrorType.INVALID, path, value, told)
