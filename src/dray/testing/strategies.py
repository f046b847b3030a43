"""Hypothesis strategies for values of the API: any struct, built from its own annotations.

`structs(Kind)` fills every declared field with something the wire can carry, valid or not: it is
for properties of codec, conversion and equality, which hold for every value, not only valid ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st
from msgspec import Meta

from dray.api.codec import encode
from dray.api.quantity import Quantity
from dray.api.wire import Holds, MicroTime, Struct, Time, UnknownFields

__all__ = ["json_objects", "json_values", "quantities", "structs", "texts", "times"]

S = TypeVar("S", bound=Struct)

# Lists and maps stay short: what a second item can break, a fifth cannot break differently.
ITEMS_MAX = 2


def texts() -> st.SearchStrategy[str]:
    """Strings as the wire has them: names mostly, and anything that is UTF-8."""
    return st.one_of(
        st.sampled_from(["", "gpu-0", "example.com/model", "$unknown", "é\n\u2028"]),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    )


def quantities() -> st.SearchStrategy[Quantity]:
    """Quantities in every format, small and beyond 64 bits.

    Without the few whose canonical text upstream gets wrong, and so do we: 1000E is written "1".
    """
    suffixes = ["", "n", "u", "m", "k", "M", "G", "E", "Ki", "Mi", "Gi", "Ei", "e3", "E-3"]
    return st.builds(
        lambda number, suffix: Quantity.parse(f"{number}{suffix}"),
        st.one_of(st.integers(-(10**6), 10**20), st.sampled_from(["1.5", "0.001", "-0.1"])),
        st.sampled_from(suffixes),
    ).filter(lambda quantity: Quantity.parse(str(quantity)) == quantity)


def times() -> st.SearchStrategy[datetime]:
    """Instants in UTC that every form of time can hold."""
    return st.datetimes(
        min_value=datetime(1000, 1, 2),  # noqa: DTZ001 - hypothesis wants naive bounds
        max_value=datetime(9999, 12, 30),  # noqa: DTZ001
        timezones=st.just(UTC),
    )


def json_values() -> st.SearchStrategy[Any]:
    """Any JSON, not deep."""
    return st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts(),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts(), inner, max_size=2),
        max_leaves=4,
    )


def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects, whose members no type declares."""
    return st.dictionaries(texts().map(lambda text: f"x-{text}"), json_values(), max_size=2)


@cache
def structs(kind: type[S], *, unknown: bool = True) -> st.SearchStrategy[S]:
    """Any value of a struct type; with `unknown`, structs may carry undeclared members."""
    fields = {
        field.name: _strategy(field.type, unknown)
        for field in msgspec.structs.fields(kind)
        if field.name not in ("unknown_fields", "api_version", "kind")
    }
    if unknown:
        extra = st.one_of(st.just(None), st.just(None), json_objects())
        return st.builds(
            lambda members, **known: kind(
                **known, **({"unknown_fields": UnknownFields(members)} if members else {})
            ),
            extra,
            **fields,
        )
    return st.builds(kind, **fields)


def _strategy(annotation: Any, unknown: bool) -> st.SearchStrategy[Any]:
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if annotation is str:
        return texts()
    if annotation is bool:
        return st.booleans()
    if annotation is int:
        return st.integers(-(2**63), 2**63 - 1)
    if annotation is Quantity:
        return quantities()
    if annotation in (Time, MicroTime):
        return times().map(annotation)
    if annotation is msgspec.Raw:
        return json_values().map(_carried)
    if origin is Annotated:
        held = next((item.kind for item in arguments[1:] if isinstance(item, Holds)), None)
        if held is not None:
            return st.none() | st.deferred(lambda: _strategy(held, unknown)).map(_part)
        bounds = next(item for item in arguments[1:] if isinstance(item, Meta))
        return st.integers(bounds.ge, bounds.le)  # type: ignore[arg-type]  # always whole numbers
    if origin is tuple:
        return st.lists(_strategy(arguments[0], unknown), max_size=ITEMS_MAX).map(tuple)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return st.dictionaries(texts(), _strategy(arguments[1], unknown), max_size=ITEMS_MAX)
    if origin in (Union, type(int | str)):
        return st.one_of(
            *(st.none() if item is type(None) else _strategy(item, unknown) for item in arguments)
        )
    # Late, so that a type may contain itself; rarely there, so that values stay small.
    return st.deferred(lambda: structs(annotation, unknown=unknown))


def _part(value: Any) -> msgspec.Raw:
    return msgspec.Raw(encode(value))


def _carried(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))
