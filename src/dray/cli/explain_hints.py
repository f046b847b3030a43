"""What looks like a mistake in the selectors of claims that do not fit.

A name that no device has, or a selector without an answer for some device: `dray cel` knows these,
and here it is asked about the selectors of claims and of the classes they name. A selector sees
only the devices that those before it let through, as the allocator has it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final

from dray.allocator.requests import claim_key
from dray.api.resource import Device, DeviceID, DeviceSelector, ResourceClaim
from dray.cel import DeviceView, Environment, Selector, compile_selector, explain, hints
from dray.cli.devices import Found
from dray.cli.explain_answer import Hint
from dray.cli.snapshot import Snapshot
from dray.cli.trial import try_on

__all__ = ["selector_hints"]

SELECTORS_MAX: Final = 20
"""A claim may have 32 requests with 32 selectors each; mistakes are copied with the rest."""

HINTS_MAX: Final = 5

DEVICES_MAX: Final = 500
"""Devices that are told apart; those that differ in nothing a selector reads count as one."""

Devices = Sequence[tuple[DeviceID, Device]]


def selector_hints(snapshot: Snapshot, claims: Iterable[ResourceClaim]) -> Iterator[Hint]:
    """Hints for each selector, each once."""
    told: set[str] = set()
    seen: set[tuple[str, ...]] = set()
    all_devices = _devices(snapshot)
    for where, class_name, selectors, own in _requests(snapshot, claims):
        expressions = tuple(one.cel.expression for one in selectors if one.cel is not None)
        if expressions in seen or len(seen) >= SELECTORS_MAX:
            continue
        seen.add(expressions)
        devices = all_devices
        for index, expression in enumerate(expressions):
            compilation = compile_selector(expression, Environment(stored=True))
            if not compilation.ok:
                break
            selector = Selector(compilation)
            various = _various(selector, devices)
            found = [*hints(compilation, [one.view for one in various])]
            found += [hint for failed in try_on(selector, various).errors for hint in failed.hints]
            source = where if index >= own else f"class {class_name}"
            for hint in found:
                if hint.text not in told and len(told) < HINTS_MAX:
                    told.add(hint.text)
                    yield Hint(source, hint.text, hint.expression)
            devices = _passing(selector, devices)


def _requests(
    snapshot: Snapshot, claims: Iterable[ResourceClaim]
) -> Iterator[tuple[str, str, tuple[DeviceSelector, ...], int]]:
    """What each request is called, its class, its selectors, and how many are of the class.

    An alternative counts as a request.
    """
    for claim in claims:
        for request in claim.spec.devices.requests or ():
            asked = [(request.name, request.exactly)] if request.exactly is not None else []
            asked_of = [
                *((name, one.device_class_name, one.selectors) for name, one in asked),
                *(
                    (f"{request.name}/{one.name}", one.device_class_name, one.selectors)
                    for one in request.first_available
                ),
            ]
            for name, class_name, selectors in asked_of:
                device_class = snapshot.classes.get(class_name)
                first = device_class.spec.selectors if device_class is not None else ()
                where = f"request {name} of claim {claim_key(claim)}"
                yield where, class_name, (*first, *selectors), len(first)


def _devices(snapshot: Snapshot) -> Devices:
    return [
        (DeviceID(slice_.spec.driver, slice_.spec.pool.name, device.name), device)
        for slice_ in snapshot.slices
        for device in slice_.spec.devices or ()
    ]


def _various(selector: Selector, devices: Devices) -> list[Found]:
    """One device of each sort, as far as this selector can tell and names go."""
    names = [reference.name for reference in selector.references]
    sorts: dict[Hashable, tuple[DeviceID, Device]] = {}
    for id_, device in devices:
        read: Hashable = id_
        if None not in names:
            read = tuple(
                (kept, value)
                for kept, value in (*device.attributes.items(), *device.capacity.items())
                if kept.rpartition("/")[2] in names
            )
        key = (id_.driver, tuple(device.attributes), tuple(device.capacity), read)
        if key not in sorts:
            if len(sorts) == DEVICES_MAX:
                break
            sorts[key] = (id_, device)
    return [Found(id_, DeviceView.of(id_.driver, device)) for id_, device in sorts.values()]


def _passing(selector: Selector, devices: Devices) -> Devices:
    drivers = {id_.driver for id_, _ in devices}
    if {reference.field for reference in selector.references} == {"driver"}:
        # The usual selector of a class, and all devices of a driver are one to it.
        kept = {
            driver
            for driver in drivers
            if explain(selector, DeviceView.of(driver, Device())).verdict == "true"
        }
        return [(id_, device) for id_, device in devices if id_.driver in kept]
    return [
        (id_, device)
        for id_, device in devices
        if explain(selector, DeviceView.of(id_.driver, device)).verdict == "true"
    ]
