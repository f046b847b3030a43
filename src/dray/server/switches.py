"""Switches in a query: on once they are named, unless they say that they are off.

Upstream counterpart: the conversion of query parameters to booleans in apimachinery pkg/runtime.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["is_on", "is_said"]

_OFF: Final = frozenset({"0", "false"})


def is_said(query: Mapping[str, Sequence[str]], name: str) -> bool:
    """Whether the query names the switch at all."""
    return bool(query.get(name))


def is_on(query: Mapping[str, Sequence[str]], name: str) -> bool:
    """Whether the switch is on: any word but a known no is a yes, even none at all."""
    values = query.get(name)
    return values is not None and len(values) > 0 and values[0].lower() not in _OFF
