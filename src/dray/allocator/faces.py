"""What the claims of a pod see of a device, before asking whether it is free.

A Face holds the answers of every want's selectors, tolerations and capacity requests, the values
that constraints compare, and what the device draws from counters. Devices with equal faces are
interchangeable until somebody holds one of them. Names and serial numbers are no part of a face,
so a fleet has few: they are made once per kind of device and shared.

Nothing here raises: where upstream would stop with an error as soon as it looks at a device, the
face says so, and the search raises if it really gets there.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from dray.allocator.devices import PlacedDevice
from dray.allocator.features import Features
from dray.allocator.models import CounterDraw, Model, Models, capacity_key, counter_draws
from dray.allocator.pools import SliceRecord
from dray.allocator.preparation import Preparation
from dray.allocator.requests import Want
from dray.allocator.rules.capacity import consume
from dray.allocator.rules.constraints import Value, attribute_of, published, value_of
from dray.allocator.rules.taints import untolerated
from dray.allocator.selection import Reader, Selectors, SelectorVerdicts, Verdict, readable
from dray.api.quantity import Quantity
from dray.api.resource import Device, DeviceSelector
from dray.errors import AllocationError, CELError

__all__ = ["FAILED", "FITS", "Draw", "Face", "FaceMaker", "Fit", "Refusal", "SliceFaces"]

# Kinds of devices to remember per set of claims. More kinds than this are looked at again.
FACES_MAX: Final = 65_536


class Refusal(Enum):
    """Why a device is not for a want, whoever holds it."""

    BINDING_CONDITIONS = "has binding conditions, which are not supported here"
    SELECTOR = "does not match a selector"
    SELECTOR_FAILS = "makes a selector fail"
    CAPACITY = "has not the capacity, or does not hand it out in such amounts"
    CAPACITY_FAILS = "cannot say what the request would consume"
    COUNTERS = "draws from counters, which are not supported here"
    TAINT = "has a taint that is not tolerated"


class Fit(NamedTuple):
    """A want's view of a device: accepted, or refused and by what.

    `detail` is the position of the selector among the class' and then the request's, the name of
    the capacity, or the taint.
    """

    refusal: Refusal | None
    detail: int | str = ""


FITS: Final = Fit(None)

FAILED: Final = ("failed",)
"""Stands for the value of a derived attribute whose expression fails on the device."""


class Draw(NamedTuple):
    """What a want takes of one capacity, in units of 10^-9."""

    name: str
    amount: int
    value: int  # how much there is in all


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """What the wants see of one kind of device."""

    index: int  # faces are numbered as they are met
    fits: tuple[Fit, ...]  # by want
    draws: tuple[tuple[Draw, ...], ...]  # by want; empty without consumable capacity
    values: tuple[tuple[Value, ...], ...]  # by constraint, then by want
    counters: tuple[CounterDraw, ...]
    shareable: bool


@dataclass(frozen=True, slots=True, eq=False)
class SliceFaces:
    """The devices of a slice, one face each; equal slices share one of these."""

    index: int
    faces: tuple[Face, ...]


class FaceMaker:
    """Looks at devices with the eyes of one set of claims."""

    def __init__(
        self,
        preparation: Preparation,
        selectors: Selectors,
        features: Features,
        models: Models | None = None,
    ) -> None:
        """`models` are those of the inventory; without them devices are looked at one by one."""
        self._models = models
        self._preparation = preparation
        self._selectors = selectors
        self._features = features
        self._asked = tuple(_Asked(want, selectors) for want in preparation.wants)
        # Many claims ask for the same: what one want sees of a device, those like it see too.
        alike: dict[Hashable, int] = {}
        self._like = tuple(
            alike.setdefault(_asks_for(want), want.index) for want in preparation.wants
        )
        self._attributes = sorted({attribute_of(one) for _, one in preparation.constraints})
        self._derives = any(want.derived_attributes for want in preparation.wants)
        readers = {
            id(verdicts): verdicts for asked in self._asked for verdicts in asked.verdicts
        }.values()
        self._readers: tuple[Reader, ...] = tuple(
            reader for verdicts in readers for reader in verdicts.readers
        )
        self._by_looks: dict[Hashable, Face] = {}
        self._faces: dict[Hashable, Face] = {}
        self._by_slice: dict[int, tuple[SliceRecord, SliceFaces]] = {}
        self._slices: dict[tuple[int, ...], SliceFaces] = {}
        self._by_model: dict[int, Face] = {}
        self._by_slice_model: dict[int, SliceFaces] = {}
        self._read: dict[str, frozenset[str] | None] = {}
        self._count = 0

    def of_slice(self, record: SliceRecord) -> SliceFaces:
        """The faces of a slice's devices."""
        if self._models is None or self._reads_individuals(record.slice.spec.driver):
            return self._one_by_one(record)
        model = self._models.of(record)
        found = self._by_slice_model.get(model.index)
        if found is None:
            if len(self._by_slice_model) >= FACES_MAX:
                self._forget_all()
            faces = tuple([self._of_model(one) for one in model.models])
            found = self._by_slice_model[model.index] = self._slice_faces(faces)
        return found

    def _one_by_one(self, record: SliceRecord) -> SliceFaces:
        known = self._by_slice.get(record.sequence)
        if known is not None and known[0] is record:
            return known[1]
        driver = record.slice.spec.driver
        found = self._slice_faces(tuple([self.of(driver, device) for device in record.devices]))
        self._by_slice[record.sequence] = (record, found)
        return found

    def _slice_faces(self, faces: tuple[Face, ...]) -> SliceFaces:
        key = tuple([face.index for face in faces])
        found = self._slices.get(key)
        if found is None:
            found = self._slices[key] = SliceFaces(self._number(), faces)
        return found

    def _of_model(self, model: Model) -> Face:
        face = self._by_model.get(model.index)
        if face is None:
            face = self._by_model[model.index] = self.of(model.driver, model.device)
        return face

    @property
    def reads_individuals(self) -> bool:
        """Whether the claims look at what tells devices of one model apart."""
        return self._models is None or any(map(self._reads_individuals, self._models.drivers))

    def _reads_individuals(self, driver: str) -> bool:
        assert self._models is not None
        individual = self._models.individual(driver)
        if not individual:
            return False
        if driver not in self._read:
            self._read[driver] = self._reads(driver)
        read = self._read[driver]
        return read is None or not individual.isdisjoint(read)

    def _reads(self, driver: str) -> frozenset[str] | None:
        """The attributes the claims look at, as a driver may publish them; None for any."""
        if self._derives:
            return None
        names = set(self._attributes)
        for asked in self._asked:
            for verdicts in asked.verdicts:
                for place in verdicts.places:
                    if place.field != "attributes":
                        continue
                    if place.domain is None or place.name is None:
                        return None
                    names.add(f"{place.domain}/{place.name}")
        own = f"{driver}/"
        return frozenset(names | {name[len(own) :] for name in names if name.startswith(own)})

    def forget(self, sequence: int) -> None:
        """Drop what is kept for a slice that is gone."""
        self._by_slice.pop(sequence, None)

    def of(self, driver: str, device: Device) -> Face:
        looks = self._looks(driver, device)
        face = self._by_looks.get(looks)
        if face is None:
            if len(self._by_looks) >= FACES_MAX:
                self._forget_all()
            face = self._by_looks[looks] = self._make(driver, device)
        return face

    def _forget_all(self) -> None:
        """Begin anew. Numbers go on, so that nothing kept by an old one is mistaken."""
        self._by_looks.clear()
        self._faces.clear()
        self._slices.clear()
        self._by_model.clear()
        self._by_slice_model.clear()
        self._by_slice.clear()

    def _number(self) -> int:
        self._count += 1
        return self._count

    def failure(self, want: Want, driver: str, device: Device, fit: Fit) -> str:
        """What a selector or a capacity request that fails has to say, in upstream's words."""
        if fit.refusal is Refusal.CAPACITY_FAILS:
            try:
                self._consume(want, device)
            except AllocationError as error:
                return str(error)
            return ""
        assert isinstance(fit.detail, int)
        return self._asked[want.index].verdicts[fit.detail].failure(driver, device)

    def derived_failure(self, want: Want, name: str, placed: PlacedDevice) -> str:
        """Why a derived attribute has no value, in upstream's words."""
        derived = self._selectors.derived(want.derived_attributes[name])
        if derived.compile_error:
            return f"compile derived attribute {name} failed: {derived.compile_error}"
        try:
            derived.value(placed.id.driver, placed.device)
        except CELError as error:
            return (
                f"evaluate derived attribute {name} on device {placed.id} failed: {error.message}"
            )
        return ""

    def broken(self, want: Want, position: int) -> bool:
        """Whether the selector at a position does not even compile."""
        return self._asked[want.index].verdicts[position].selector is None

    def _consume(self, want: Want, device: Device) -> Mapping[str, Quantity] | None:
        fractional = self._features.fractional_capacity_range
        return consume(want.capacity, device.capacity, fractional=fractional)

    # What of a device decides its face ---------------------------------------------------------

    def _looks(self, driver: str, device: Device) -> Hashable:
        if not readable(device):
            # Every expression fails on it; which attribute is to blame only the text says.
            readings: Hashable = None
        else:
            readings = tuple([read(driver, device) for read in self._readers])
        return (
            driver,
            readings,
            tuple(device.attributes.items())
            if self._derives
            else tuple([published(driver, device, name) for name in self._attributes]),
            device.taints if self._features.device_taints else (),
            capacity_key(device) if self._features.consumable_capacity else (),
            counter_draws(device) if device.consumes_counters else (),
            bool(device.allow_multiple_allocations),
            bool(device.binding_conditions),
        )

    def _make(self, driver: str, device: Device) -> Face:
        first = {like: self._asked[like] for like in self._like}
        fit = {like: self._fit(asked, driver, device) for like, asked in first.items()}
        draw = {like: self._draws(asked.want, device) for like, asked in first.items()}
        fits = tuple([fit[like] for like in self._like])
        draws = tuple([draw[like] for like in self._like])
        values = self._values(driver, device)
        counters = counter_draws(device)
        shareable = self._features.consumable_capacity and bool(device.allow_multiple_allocations)
        key = (fits, draws, values, counters, shareable)
        face = self._faces.get(key)
        if face is None:
            face = self._faces[key] = Face(self._number(), *key)
        return face

    def _fit(self, asked: _Asked, driver: str, device: Device) -> Fit:
        if device.binding_conditions and not self._features.binding_conditions:
            return Fit(Refusal.BINDING_CONDITIONS)
        for position, verdicts in enumerate(asked.verdicts):
            verdict = verdicts.verdict(driver, device)
            if verdict is Verdict.NO:
                return Fit(Refusal.SELECTOR, position)
            if verdict is Verdict.ERROR:
                return Fit(Refusal.SELECTOR_FAILS, position)
        if self._features.consumable_capacity:
            try:
                consumed = self._consume(asked.want, device)
            except AllocationError:
                return Fit(Refusal.CAPACITY_FAILS)
            if consumed is None:
                return Fit(Refusal.CAPACITY)
        if device.consumes_counters and not self._features.partitionable_devices:
            return Fit(Refusal.COUNTERS)
        if self._features.device_taints:
            taint = untolerated(device.taints, asked.want.tolerations)
            if taint is not None:
                return Fit(Refusal.TAINT, str(taint))
        return FITS

    def _draws(self, want: Want, device: Device) -> tuple[Draw, ...]:
        if not self._features.consumable_capacity or not device.capacity:
            return ()
        try:
            consumed = self._consume(want, device)
        except AllocationError:
            return ()
        return tuple(
            Draw(name, amount.nano, device.capacity[name].value.nano)
            for name, amount in sorted((consumed or {}).items())
        )

    def _values(self, driver: str, device: Device) -> tuple[tuple[Value, ...], ...]:
        lists = self._features.list_type_attributes
        wants = self._preparation.wants
        rows = []
        for claim_index, constraint in self._preparation.constraints:
            name = attribute_of(constraint)
            plain = value_of(published(driver, device, name), lists=lists)
            row = (plain,) * len(wants)
            if self._derives:
                row = tuple(
                    [
                        self._derived(driver, device, want.derived_attributes[name])
                        if want.claim_index == claim_index and name in want.derived_attributes
                        else plain
                        for want in wants
                    ]
                )
            rows.append(row)
        return tuple(rows)

    def _derived(self, driver: str, device: Device, expression: str) -> Value:
        try:
            attribute = self._selectors.derived(expression).value(driver, device)
        except CELError:
            return FAILED
        return value_of(attribute, lists=self._features.list_type_attributes)


class _Asked:
    """A want with its selectors: those of the class, then its own."""

    def __init__(self, want: Want, selectors: Selectors) -> None:
        self.want = want
        self.verdicts: tuple[SelectorVerdicts, ...] = tuple(
            selectors.selector(_expression(selector))
            for selector in (*want.device_class.spec.selectors, *want.selectors)
        )


def _asks_for(want: Want) -> Hashable:
    return (
        id(want.device_class),
        want.selectors,
        want.tolerations,
        tuple(sorted((name, held.identity, held.format) for name, held in want.capacity.items())),
    )


def _expression(selector: DeviceSelector) -> str:
    return selector.cel.expression if selector.cel is not None else ""
