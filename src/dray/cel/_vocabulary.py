"""The names a set of devices uses: which attributes and capacities exist, in which domains.

A name an expression reads and no device has is nearly always a mistake: misspelt, in the wrong
domain, or an attribute taken for a capacity. What was probably meant is found here.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from dray.cel._device import DeviceView
from dray.cel._references import MAPS_BY_DOMAIN, Reference
from dray.cel._values import Value
from dray.errors import shorten

__all__ = ["Vocabulary", "nearest", "nearest_value"]

_NAMES_KEPT_MAX: Final = 5000
"""Distinct names of attributes and capacities: a cluster has tens, a hostile dump has millions."""

_VALUES_KEPT_MAX: Final = 100
"""Distinct texts of one attribute: models and the like; with more it is a serial number."""

_VALUE_LENGTH_MIN: Final = 6
"""Shorter texts differ by one letter and mean something else: L4 and T4, A100 and H100."""

_COMPARED_MAX: Final = 500
_COMPARED_CHARACTERS_MAX: Final = 64
_DRIVER: Final = Reference("driver")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that someone who wrote this one probably meant."""
    candidates = [one for _, one in zip(range(_COMPARED_MAX), known, strict=False)]
    same = [one for one in candidates if one.lower() == name.lower() and one != name]
    if same:
        return same[0]
    short = shorten(name, characters_max=_COMPARED_CHARACTERS_MAX)
    close = get_close_matches(short, [one for one in candidates if one != name], n=1, cutoff=0.7)
    return close[0] if close else None


def nearest_value(value: str, known: Iterable[str]) -> str | None:
    """The known text that someone who wrote this one probably meant; other digits mean another."""
    candidates = [one for _, one in zip(range(_COMPARED_MAX), known, strict=False)]
    bare = value.strip().lower()
    same = [one for one in candidates if one.strip().lower() == bare and one != value]
    if same:
        return same[0]
    if len(value) < _VALUE_LENGTH_MIN:
        return None
    digits = [character for character in value if character.isdigit()]
    alike = [one for one in candidates if [char for char in one if char.isdigit()] == digits]
    short = shorten(value, characters_max=_COMPARED_CHARACTERS_MAX)
    close = get_close_matches(short, [one for one in alike if one != value], n=1, cutoff=0.85)
    return close[0] if close else None


class Vocabulary:
    """What devices have: names with one value of each, and the texts there are."""

    def __init__(self, views: Iterable[DeviceView]) -> None:
        self.drivers: dict[str, int] = {}
        self.device_count = 0
        self._examples: dict[Reference, Value] = {}
        self._texts: dict[Reference, dict[str, None]] = {}
        for view in views:
            self._add(view)

    def _add(self, view: DeviceView) -> None:
        if view.value is None:
            return
        self.device_count += 1
        driver = view.value["driver"]
        self.drivers[driver] = self.drivers.get(driver, 0) + 1
        for field in MAPS_BY_DOMAIN:
            for domain, names in view.value[field].items():
                if len(self._examples) >= _NAMES_KEPT_MAX:
                    return
                for name, value in names.items():
                    reference = Reference(field, domain, name)
                    self._examples.setdefault(reference, value)
                    if type(value) is str:
                        texts = self._texts.setdefault(reference, {})
                        if len(texts) <= _VALUES_KEPT_MAX:
                            texts.setdefault(value)

    def __contains__(self, reference: Reference) -> bool:
        return reference in self._examples

    def example(self, reference: Reference) -> Value:
        """A value some device has there; None if none has."""
        return self._examples.get(reference)

    def values(self, reference: Reference) -> list[str]:
        """The texts devices have there; none if there are too many to tell."""
        known = self.drivers if reference == _DRIVER else self._texts.get(reference, {})
        return sorted(known) if len(known) <= _VALUES_KEPT_MAX else []

    def domains(self, field: str) -> list[str]:
        return sorted({one.domain for one in self._examples if one.field == field and one.domain})

    def names(self, field: str, domain: str) -> list[str]:
        """The names of one domain."""
        return sorted(
            one.name
            for one in self._examples
            if (one.field, one.domain) == (field, domain) and one.name
        )

    def named(self, name: str) -> list[Reference]:
        """The places that have exactly this name, attributes first."""
        return sorted(one for one in self._examples if one.name == name)

    def meant(self, reference: Reference) -> Reference | None:
        """What someone who reads a place that does not exist probably meant."""
        field, domain, name = reference.field, reference.domain, reference.name
        if domain is None or name is None:
            return None
        same = self.named(name)
        for wanted in (
            [one for one in same if one.field == field],
            [one for one in same if one.domain == domain],
            same,
        ):
            if wanted:
                return wanted[0]
        for other in (field, *(one for one in MAPS_BY_DOMAIN if one != field)):
            near = nearest(name, self.names(other, domain))
            if near is not None:
                return Reference(other, domain, near)
        close = nearest(domain, self.domains(field))
        if close is not None:
            near = nearest(name, self.names(field, close))
            return Reference(field, close, near) if near is not None else None
        return None
