"""Where a custom object keeps its number of replicas, and what may be there.

Upstream counterpart: ValidateScaleSpec and ValidateScaleStatus in apiextensions-apiserver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dray.api.apiextensions import CustomResourceSubresourceScale
from dray.errors import FieldError, FieldErrorType

__all__ = [
    "ABSENT",
    "WrongPlace",
    "integer_at",
    "scale_spec_errors",
    "scale_status_errors",
    "steps",
    "text_at",
]

# Stands for a value that is not there.
ABSENT: Final = object()

_INT32_MAX: Final = 2**31 - 1


class WrongPlace(ValueError):
    """What is found at a path is not what belongs there."""


def steps(path: str) -> tuple[str, ...]:
    """The fields that lead to a value: .spec.replicas is spec, then replicas."""
    return tuple(path.removeprefix(".").split("."))


def _value_at(document: Mapping[str, Any], path: str, wanted: str) -> Any:
    value: Any = document
    for count, name in enumerate(steps(path)):
        if not isinstance(value, Mapping):
            where = "." + ".".join(steps(path)[:count])
            raise WrongPlace(
                f"{where} accessor error: {_shown(value)} is of the type {_go_type(value)}, "
                "expected map[string]interface {}"
            )
        if name not in value:
            return ABSENT
        value = value[name]
    if not _fits(value, wanted):
        where = "." + ".".join(steps(path))
        raise WrongPlace(
            f"{where} accessor error: {_shown(value)} is of the type {_go_type(value)}, "
            f"expected {wanted}"
        )
    return value


def _fits(value: Any, wanted: str) -> bool:
    return type(value) is (int if wanted == "int64" else str)


def integer_at(document: Mapping[str, Any], path: str) -> Any:
    """The number at a path, or ABSENT. Raises WrongPlace."""
    return _value_at(document, path, "int64")


def text_at(document: Mapping[str, Any], path: str) -> Any:
    """The text at a path, or ABSENT. Raises WrongPlace."""
    return _value_at(document, path, "string")


def scale_spec_errors(
    document: Mapping[str, Any], scale: CustomResourceSubresourceScale | None
) -> Iterator[FieldError]:
    """What is wrong with the replicas somebody wants."""
    if scale is not None:
        yield from _replicas_errors(document, scale.spec_replicas_path)


def scale_status_errors(
    document: Mapping[str, Any], scale: CustomResourceSubresourceScale | None
) -> Iterator[FieldError]:
    """What is wrong with the replicas there are, and with the selector of their pods."""
    if scale is None:
        return
    yield from _replicas_errors(document, scale.status_replicas_path)
    path = scale.label_selector_path
    if path is not None:
        try:
            text_at(document, path)
        except WrongPlace as error:
            yield FieldError(FieldErrorType.INVALID, path, "", str(error))


def _replicas_errors(document: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    try:
        replicas = integer_at(document, path)
    except WrongPlace as error:
        yield FieldError(FieldErrorType.INVALID, path, 0, str(error))
        return
    if replicas is ABSENT:
        return
    if replicas < 0:
        yield FieldError(FieldErrorType.INVALID, path, replicas, "should be a non-negative integer")
    elif replicas > _INT32_MAX:
        told = f"should be less than or equal to {_INT32_MAX}"
        yield FieldError(FieldErrorType.INVALID, path, replicas, told)


_GO_TYPES: Final = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    type(None): "<nil>",
}


def _go_type(value: Any) -> str:
    return _GO_TYPES.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)
