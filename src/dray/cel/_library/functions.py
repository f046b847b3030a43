"""All functions of device expressions, by name and by the type of their first argument.

OVERLOADS has the few that go by the overload found when the expression was checked instead, because
two functions of one name do different things to the same values.
"""

from __future__ import annotations

from typing import Final

from dray.cel._library import (
    arithmetic,
    comprehensions,
    conversions,
    formats,
    formatting,
    list_extensions,
    lists,
    network,
    optionals,
    ordering,
    quantities,
    regexes,
    semvers,
    sets,
    strings,
    times,
    urls,
)
from dray.cel._library.table import merged

__all__ = ["FUNCTIONS", "OVERLOADS"]

FUNCTIONS: Final = merged(
    module.FUNCTIONS
    for module in (
        arithmetic,
        comprehensions,
        conversions,
        formats,
        formatting,
        list_extensions,
        lists,
        network,
        optionals,
        ordering,
        quantities,
        regexes,
        semvers,
        sets,
        strings,
        times,
        urls,
    )
)
"""Operators included; not those that decide whether an operand is evaluated at all."""

OVERLOADS: Final = {**lists.OVERLOADS, **network.OVERLOADS}
