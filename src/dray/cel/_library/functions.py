"""All functions of device expressions, by name and by the type of their first argument."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Final

from dray.cel._library.table import merged

__all__ = ["FUNCTIONS"]


def _tables() -> Any:
    for name in ("arithmetic", "comprehensions", "conversions", "formats", "formatting", "list_extensions", "lists", "network", "optionals", "ordering", "quantities", "regexes", "semvers", "sets", "strings", "times", "urls"):
        if importlib.util.find_spec(f"dray.cel._library.{name}") is not None:
            module = importlib.import_module(f"dray.cel._library.{name}")
            if hasattr(module, "FUNCTIONS"):
                yield module.FUNCTIONS


FUNCTIONS: Final = merged(_tables())
"""Operators included; not those that decide whether an operand is evaluated at all."""
