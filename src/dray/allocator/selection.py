"""Whether selectors accept a device, asked once for all devices that look alike to them.

A selector reads a few attributes of a device. Devices that agree in those get the same answer, so
a fleet of a hundred thousand devices of five models costs five evaluations; what remains is to
look up what a device has at the places the selector reads. What it has is compared as published,
without making the value an expression works on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from enum import IntEnum
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

from dray.api.resource import Device, DeviceAttribute
from dray.api.semver import Semver
from dray.cel import (
    DerivedAttribute,
    DeviceView,
    Environment,
    Reference,
    Selector,
    compile_derived_attribute,
    compile_selector,
)
from dray.errors import CELError, ParseError

__all__ = ["DerivedValue", "Reader", "SelectorVerdicts", "Selectors", "Verdict", "readable"]

# Compiled expressions to keep: those of all classes of a cluster and of the claims that wait.
EXPRESSIONS_MAX: Final = 1024

# Answers to keep per expression. More kinds of devices than this are asked again.
ANSWERS_MAX: Final = 65_536

_HINT: Final = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check "
    "with has() for optional fields"
)


T = TypeVar("T")


class Verdict(IntEnum):
    """What a selector says of a device."""

    NO = 0
    ERROR = 1
    YES = 2


Reader: TypeAlias = Callable[[str, Device], Hashable]


class SelectorVerdicts:
    """One selector and its answers so far."""

    def __init__(self, expression: str, environment: Environment) -> None:
        self.expression = expression
        compilation = compile_selector(expression, environment)
        self.compile_error = compilation.error.detail if compilation.error is not None else ""
        self.selector = None if self.compile_error else Selector(compilation)
        places = self.selector.references if self.selector is not None else ()
        self.places: tuple[Reference, ...] = tuple(sorted(places, key=str))
        self.readers: tuple[Reader, ...] = tuple(map(_reader, self.places))
        self._answers: dict[Hashable, Verdict] = {}

    def verdict(self, driver: str, device: Device) -> Verdict:
        if self.selector is None:
            return Verdict.ERROR
        if not readable(device):
            return Verdict.ERROR
        looks = (driver, *[read(driver, device) for read in self.readers])
        answer = self._answers.get(looks)
        if answer is None:
            answer = self._ask(driver, device)
            if len(self._answers) >= ANSWERS_MAX:
                self._answers.clear()
            self._answers[looks] = answer
        return answer

    def failure(self, driver: str, device: Device) -> str:
        """Why there is no answer for a device, in upstream's words."""
        if self.selector is None:
            return f"CEL compile error: {self.compile_error}"
        try:
            self.selector.matches(DeviceView.of(driver, device))
        except CELError as error:
            hint = _HINT if "no such key:" in error.message else ""
            return f"CEL runtime error: {error.message}{hint}"
        return ""

    def _ask(self, driver: str, device: Device) -> Verdict:
        assert self.selector is not None
        try:
            fits = self.selector.matches(DeviceView.of(driver, device))
        except CELError:
            return Verdict.ERROR
        return Verdict.YES if fits else Verdict.NO


class DerivedValue:
    """An expression that gives a device one more attribute."""

    def __init__(self, expression: str, environment: Environment) -> None:
        compilation = compile_derived_attribute(expression, environment)
        self.compile_error = compilation.error.detail if compilation.error is not None else ""
        self._derived = None if self.compile_error else DerivedAttribute(compilation)

    def value(self, driver: str, device: Device) -> DeviceAttribute:
        """The attribute; CELError if there is none."""
        if self._derived is None:
            raise CELError(self.compile_error)
        return self._derived.evaluate(DeviceView.of(driver, device))[0]


class Selectors:
    """The expressions in use, compiled once. Bounded: those not asked for longest are forgotten."""

    def __init__(self, environment: Environment, *, expressions_max: int = EXPRESSIONS_MAX) -> None:
        self.environment = environment
        self._expressions_max = expressions_max
        self._selectors: OrderedDict[str, SelectorVerdicts] = OrderedDict()
        self._derived: OrderedDict[str, DerivedValue] = OrderedDict()

    def selector(self, expression: str) -> SelectorVerdicts:
        return self._remembered(self._selectors, expression, SelectorVerdicts)

    def derived(self, expression: str) -> DerivedValue:
        return self._remembered(self._derived, expression, DerivedValue)

    def _remembered(
        self,
        known: OrderedDict[str, T],
        expression: str,
        make: Callable[[str, Environment], T],
    ) -> T:
        found = known.get(expression)
        if found is None:
            found = known[expression] = make(expression, self.environment)
            if len(known) > self._expressions_max:
                known.popitem(last=False)
        else:
            known.move_to_end(expression)
        return found


# What a selector sees of a device ---------------------------------------------------------------


def readable(device: Device) -> bool:
    """Whether expressions can work on the device at all: every attribute has a proper value."""
    for attribute in device.attributes.values():
        if attribute.version_values is None:
            # Most attributes are one of these, and asking for them is what makes it quick.
            if (
                attribute.string_value is not None
                or attribute.int_value is not None
                or attribute.bool_value is not None
            ):
                continue
            if attribute.version_value is not None and _is_version(attribute.version_value):
                continue
        if DeviceView.of("", Device(attributes={"any": attribute})).failure is not None:
            return False
    return True


@lru_cache(maxsize=4096)
def _is_version(text: str) -> bool:
    try:
        Semver.parse(text)
    except ParseError:
        return False
    return True


def _reader(place: Reference) -> Reader:
    """A function that looks up what a device publishes at a place, in any form that tells apart
    what the selector tells apart.
    """
    if place.field == "driver":
        return lambda driver, _: driver
    if place.field == "allowMultipleAllocations":
        return lambda _, device: bool(device.allow_multiple_allocations)
    name = place.name
    capacity = place.field == "capacity"
    if place.domain is None or name is None:
        return _all_capacity if capacity else _all_attributes
    qualified = f"{place.domain}/{name}"
    domain = place.domain

    def attribute(driver: str, device: Device) -> Hashable:
        found = device.attributes.get(qualified)
        if found is None and domain == driver:
            found = device.attributes.get(name)
        return found

    def amount(driver: str, device: Device) -> Hashable:
        found = device.capacity.get(qualified)
        if found is None and domain == driver:
            found = device.capacity.get(name)
        return found.value.identity if found is not None else None

    return amount if capacity else attribute


def _all_attributes(_driver: str, device: Device) -> Hashable:
    # The order of members is part of what an expression can see.
    return tuple(device.attributes.items())


def _all_capacity(_driver: str, device: Device) -> Hashable:
    return tuple((name, held.value.identity) for name, held in device.capacity.items())
