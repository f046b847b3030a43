"""Objects as servers write them, read at one go.

Servers write JSON without anything out of the ordinary. What is out of the ordinary, a field that
is not known or an amount written as a number, is not read here but left to the exact decoder, which
has a word on everything. Upstream's leniencies are all the exact decoder's (dray.api.codec).
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, Final, TypeVar

import msgspec

from dray.api.quantity import Quantity
from dray.api.wire import Struct, Time
from dray.errors import ParseError

__all__ = ["read_plain"]

S = TypeVar("S", bound=Struct)

_REMEMBERED_CHARACTERS_MAX: Final = 32


def read_plain(data: bytes, kind: type[S]) -> S | None:
    """The object, equal to what the exact decoder makes of it; None if that has to decide."""
    try:
        found: S = _decoder(kind).decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ParseError, TypeError):
        # A TypeError is a list or an object where an amount belongs: it has no hash.
        return None
    return found


@cache
def _decoder(kind: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=_read)


# Amounts and times repeat all over a dump.
@lru_cache(maxsize=8192)
def _read(kind: type[Any], value: Any) -> Any:
    is_plain = type(value) is str and len(value) <= _REMEMBERED_CHARACTERS_MAX
    if not is_plain or not issubclass(kind, (Quantity, Time)):
        raise ParseError(kind.__name__, "not in its plain form")
    return kind.parse(value)
