"""Devices that are the same but for what marks them as individuals.

A fleet publishes one model of a device thousands of times, each with a serial number of its own.
Models tell what is common from what is individual by watching: an attribute of a driver with more
than a few different values is individual. The rest, with capacity, taints and counters, is the
model, and devices of one model are told apart by nobody who does not read the individual part.
Slices with the same models in the same order are one model of a slice.

When an attribute turns out to be individual, the models of its driver are made anew, once.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Final, NamedTuple

from dray.allocator.pools import SliceRecord
from dray.allocator.selection import readable
from dray.api.resource import (
    CapacityRequestPolicy,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
)

__all__ = ["CounterDraw", "Model", "Models", "SliceModel", "capacity_key", "counter_draws"]

# An attribute with more values than this tells individuals apart.
VALUES_MAX: Final = 64

# Models to keep. Drivers that publish more kinds of devices than this are looked at again.
MODELS_MAX: Final = 65_536


class CounterDraw(NamedTuple):
    """What a device takes from one counter set, in units of 10^-9."""

    counter_set: str
    amounts: tuple[tuple[str, int], ...]
    groups: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """One kind of device, with any one of them to look at."""

    index: int
    driver: str
    device: Device


@dataclass(frozen=True, slots=True, eq=False)
class SliceModel:
    """The models of a slice's devices, in order."""

    index: int
    models: tuple[Model, ...]


class Models:
    """The models met so far."""

    def __init__(self) -> None:
        self._models: dict[Hashable, Model] = {}
        self._slices: dict[tuple[int, ...], SliceModel] = {}
        self._values: dict[tuple[str, str], set[DeviceAttribute]] = {}
        self._individual: dict[str, frozenset[str]] = {}
        self._by_slice: dict[int, tuple[SliceRecord, frozenset[str], SliceModel]] = {}
        self._count = 0
        self.version = 0  # changes when something proved to be individual

    @property
    def drivers(self) -> Collection[str]:
        """The drivers with attributes that are no part of a model."""
        return self._individual.keys()

    def individual(self, driver: str) -> frozenset[str]:
        """The attributes of a driver that are no part of a model, as it names them."""
        return self._individual.get(driver, _NONE)

    def of(self, record: SliceRecord) -> SliceModel:
        """The model of a slice, kept until the slice changes."""
        driver = record.slice.spec.driver
        known = self._by_slice.get(record.sequence)
        if (
            known is not None
            and known[0] is record
            and known[1] is self._individual.get(driver, _NONE)
        ):
            return known[2]
        models = tuple([self._model(driver, device) for device in record.devices])
        key = tuple([model.index for model in models])
        found = self._slices.get(key)
        if found is None:
            if len(self._slices) >= MODELS_MAX:
                self._slices.clear()
            found = self._slices[key] = SliceModel(self._number(), models)
        self._by_slice[record.sequence] = (record, self.individual(driver), found)
        return found

    def forget(self, sequence: int) -> None:
        """Drop what is kept for a slice that is gone."""
        self._by_slice.pop(sequence, None)

    def _number(self) -> int:
        # Numbers are never used twice, so what others keep by them stays true.
        self._count += 1
        return self._count

    def _model(self, driver: str, device: Device) -> Model:
        key = self._key(driver, device)
        model = self._models.get(key)
        if model is None:
            if self._learn(driver, device):
                key = self._key(driver, device)
            if len(self._models) >= MODELS_MAX:
                self._models.clear()
                self._slices.clear()
            model = self._models[key] = Model(self._number(), driver, device)
        return model

    def _key(self, driver: str, device: Device) -> Hashable:
        individual = self._individual.get(driver, _NONE)
        attributes = device.attributes
        return (
            driver,
            tuple([item for item in attributes.items() if item[0] not in individual])
            if individual
            else tuple(attributes.items()),
            # A value that cannot be read spoils the device, whether anybody asks for it or not.
            not individual or readable(device),
            capacity_key(device),
            device.taints,
            counter_draws(device) if device.consumes_counters else (),
            device.allow_multiple_allocations,
            bool(device.binding_conditions),
        )

    def _learn(self, driver: str, device: Device) -> bool:
        """Count the values of a new kind of device; whether something proved to be individual."""
        individual = self._individual.get(driver, _NONE)
        learned = False
        for name, attribute in device.attributes.items():
            if name in individual:
                continue
            values = self._values.setdefault((driver, name), set())
            values.add(attribute)
            if len(values) > VALUES_MAX:
                individual |= {name}
                self._individual[driver] = individual
                self.version += 1
                del self._values[driver, name]
                learned = True
        return learned


_NONE: Final[frozenset[str]] = frozenset()


def capacity_key(device: Device) -> Hashable:
    """A device's capacities in full: how quantities are written can matter."""
    if not device.capacity:
        return ()
    return tuple([(name, _amount_key(held)) for name, held in device.capacity.items()])


def _amount_key(held: DeviceCapacity) -> Hashable:
    policy = held.request_policy
    return held.value.identity if policy is None else (held.value.identity, _policy_key(policy))


def _policy_key(policy: CapacityRequestPolicy) -> Hashable:
    allowed = policy.valid_range
    quantities = (
        policy.default,
        *policy.valid_values,
        *((allowed.min, allowed.max, allowed.step) if allowed is not None else ()),
    )
    return (allowed is None, *[q and (q.identity, q.format) for q in quantities])


def counter_draws(device: Device) -> tuple[CounterDraw, ...]:
    """What a device takes from counters."""
    return tuple([_counter_draw(one) for one in device.consumes_counters])


def _counter_draw(consumption: DeviceCounterConsumption) -> CounterDraw:
    counters = consumption.counters.items()
    return CounterDraw(
        consumption.counter_set,
        tuple(sorted((name, counter.value.nano) for name, counter in counters)),
        frozenset(consumption.compatibility_groups),
    )
