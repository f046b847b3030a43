"""A hint: something to do, and where it is known, what to write."""

from __future__ import annotations

from dataclasses import dataclass

from dray.cel._references import Reference

__all__ = ["Hint"]


@dataclass(frozen=True, slots=True)
class Hint:
    """Something to do, in a sentence, and the place of a device it is about, if it is about one.

    `expression` is the whole expression to use instead: never a part of it, never shortened, and
    tried before it was given.
    """

    text: str
    reference: Reference | None = None
    expression: str | None = None
