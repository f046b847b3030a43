"""Whether an allocation breaks a rule, told from what was asked and what was given alone.

Nothing of dray.allocator is used, and nothing is said about what should have been chosen instead:
another allocation that breaks no rule is as good here. Cases and answers are the JSON of
dray.testing.allocation; expressions are evaluated by dray.cel, amounts read by dray.api.

    violations(case, results) -> what is wrong, in sentences; nothing if all is well
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from dray.api.codec import decode
from dray.api.quantity import Quantity
from dray.api.resource import Device, DeviceAttribute
from dray.cel import (
    DerivedAttribute,
    DeviceView,
    Environment,
    Selector,
    compile_derived_attribute,
    compile_selector,
)
from dray.errors import CELError

__all__ = ["violations"]

Object = Mapping[str, Any]
Key = tuple[str, str, str]

RESULTS_MAX: Final = 32
REPELLING: Final = ("NoSchedule", "NoExecute")
SCALARS: Final = ("string", "int", "bool", "version")
LISTS: Final = ("strings", "ints", "bools", "versions")


def violations(case: Object, results: Sequence[Object]) -> list[str]:
    """Every rule that an allocation breaks."""
    world = _World(case)
    given = list(_given(world, results))
    wrong = [
        *(
            f"{one}: there is no such device for the node"
            for one in given
            if one.key not in world.devices
        ),
        *(f"{one}: nobody asked for it" for one in given if not one.wish),
    ]
    if wrong:
        return wrong
    return [
        *_numbers(case, given),
        *_held_twice(world, given),
        *_selectors(world, given),
        *_taints(world, given),
        *_capacity(world, given),
        *_counters(world, given),
        *_groups(world, given),
        *_constraints(world, given),
    ]


# What there is -----------------------------------------------------------------------------------


class _World:
    """The devices a node may use, and what is known of them."""

    def __init__(self, case: Object) -> None:
        self.case = case
        self.on = frozenset(case["features"])
        self.allocated = frozenset(map(_key, case.get("allocated") or ()))
        self.shared = frozenset(
            _key(one) for one in (*(case.get("shared") or ()), *(case.get("consumed") or ()))
        )
        self.consumed: Counter[tuple[Key, str]] = Counter()
        for one in case.get("consumed") or ():
            for name, amount in one["capacity"].items():
                self.consumed[_key(one), name] += _nano(amount)

    @cached_property
    def devices(self) -> dict[Key, Object]:
        found: dict[Key, Object] = {}
        node = self.case["node"]
        declared = node.get("status", {}).get("declaredFeatures", ())
        for slice_ in self._current():
            spec = slice_["spec"]
            if spec.get("skipNodeOperations") and "DRAOptionalNodeOperations" not in declared:
                continue
            for device in spec.get("devices", ()):
                where = device if spec.get("perDeviceNodeSelection") else spec
                if _for_node(where, node):
                    found[spec["driver"], spec["pool"]["name"], device["name"]] = device
        return found

    def _current(self) -> Iterator[Object]:
        """The slices of complete pools, of their newest generation."""
        pools: dict[tuple[str, str], list[Object]] = {}
        for slice_ in self.case["slices"]:
            spec = slice_["spec"]
            pools.setdefault((spec["driver"], spec["pool"]["name"]), []).append(slice_)
        for slices in pools.values():
            newest = max(one["spec"]["pool"]["generation"] for one in slices)
            kept = [one for one in slices if one["spec"]["pool"]["generation"] == newest]
            if len(kept) == kept[0]["spec"]["pool"]["resourceSliceCount"]:
                yield from kept

    @cached_property
    def counters(self) -> dict[tuple[str, str, str, str], int]:
        """What there is of each counter: by driver, pool, counter set and name."""
        return {
            (spec["driver"], spec["pool"]["name"], each["name"], name): _nano(counter["value"])
            for spec in (one["spec"] for one in self.case["slices"])
            for each in spec.get("sharedCounters", ())
            for name, counter in each["counters"].items()
        }

    @cached_property
    def environment(self) -> Environment:
        return Environment(
            stored=True,
            consumable_capacity="DRAConsumableCapacity" in self.on,
            list_type_attributes="DRAListTypeAttributes" in self.on,
        )

    def shareable(self, key: Key) -> bool:
        return "DRAConsumableCapacity" in self.on and bool(
            self.devices[key].get("allowMultipleAllocations")
        )

    def view(self, key: Key) -> DeviceView:
        return DeviceView.of(key[0], decode(json.dumps(self.devices[key]).encode(), Device))


@dataclass(frozen=True)
class _Given:
    """One device of a result, and the wish it is for."""

    claim: int
    request: str  # as the result names it
    key: Key
    result: Object
    wish: Object  # empty if there is none of that name

    def __str__(self) -> str:
        return f"claim {self.claim}, request {self.request}, device {'/'.join(self.key)}"

    @property
    def admin(self) -> bool:
        return bool(self.result.get("adminAccess"))


def _given(world: _World, results: Sequence[Object]) -> Iterator[_Given]:
    for number, (claim, result) in enumerate(zip(world.case["claims"], results, strict=True)):
        wishes = dict(_wishes(claim))
        for device in result.get("devices", {}).get("results", ()):
            name = device["request"]
            yield _Given(number, name, _key(device), device, wishes.get(name, {}))


def _wishes(claim: Object) -> Iterator[tuple[str, Object]]:
    """The exact requests and alternatives of a claim, by full name."""
    for request in claim["spec"]["devices"]["requests"]:
        if "exactly" in request:
            yield request["name"], request["exactly"]
        for alternative in request.get("firstAvailable", ()):
            yield f"{request['name']}/{alternative['name']}", alternative


def _key(one: Object) -> Key:
    return one["driver"], one["pool"], one["device"]


def _nano(amount: object) -> int:
    return Quantity.parse(str(amount)).nano


def _for_node(where: Object, node: Object) -> bool:
    if "nodeName" in where:
        return bool(where["nodeName"] == node["metadata"]["name"])
    if where.get("allNodes"):
        return True
    labels = node["metadata"].get("labels", {})
    return any(
        all(_matches(expression, labels) for expression in term["matchExpressions"])
        for term in where.get("nodeSelector", {}).get("nodeSelectorTerms", ())
    )


def _matches(expression: Object, labels: Object) -> bool:
    if expression["operator"] == "Exists":
        return expression["key"] in labels
    assert expression["operator"] == "In", "cases for this checker need no other"
    return labels.get(expression["key"]) in expression.get("values", ())


# Rules -------------------------------------------------------------------------------------------


def _numbers(case: Object, given: Sequence[_Given]) -> Iterator[str]:
    """Each request has what it asked for, of one alternative, and no claim has too much."""
    for number, claim in enumerate(case["claims"]):
        got = Counter(one.request for one in given if one.claim == number)
        if got.total() > RESULTS_MAX:
            yield f"claim {number}: {got.total()} devices"
        for request in claim["spec"]["devices"]["requests"]:
            served = [
                (name, wish)
                for name, wish in _wishes(claim)
                if name.partition("/")[0] == request["name"] and got[name]
            ]
            if len(served) > 1:
                yield f"claim {number}, request {request['name']}: of several alternatives"
            for name, wish in served:
                if wish["allocationMode"] == "ExactCount" and got[name] != wish["count"]:
                    yield f"claim {number}, request {name}: {got[name]} devices"
            if not served and all(
                wish["allocationMode"] == "All" or wish["count"]
                for name, wish in _wishes(claim)
                if name.partition("/")[0] == request["name"]
            ):
                yield f"claim {number}, request {request['name']}: nothing"


def _held_twice(world: _World, given: Sequence[_Given]) -> Iterator[str]:
    for one in given:
        if not one.admin and one.key in world.allocated:
            yield f"{one}: is allocated already"
    for one, other in itertools.combinations(given, 2):
        if one.key != other.key:
            continue
        same_request = one.claim == other.claim and one.request == other.request
        if world.shareable(one.key) and not same_request:
            continue
        if one.claim == other.claim or not (one.admin or other.admin):
            yield f"{other}: was given to claim {one.claim}, request {one.request}"


def _selectors(world: _World, given: Sequence[_Given]) -> Iterator[str]:
    classes = {one["metadata"]["name"]: one for one in world.case["classes"]}
    for one in given:
        selectors = [
            *classes[one.wish["deviceClassName"]]["spec"].get("selectors", ()),
            *one.wish.get("selectors", ()),
        ]
        for selector in selectors:
            text = selector["cel"]["expression"]
            compiled = Selector(compile_selector(text, world.environment))
            try:
                fits = compiled.matches(world.view(one.key))
            except CELError as error:
                yield f"{one}: {text} fails: {error}"
                continue
            if not fits:
                yield f"{one}: is not for {text}"


def _taints(world: _World, given: Sequence[_Given]) -> Iterator[str]:
    for one in given:
        for taint in world.devices[one.key].get("taints", ()):
            tolerated = any(_tolerates(each, taint) for each in one.wish.get("tolerations", ()))
            if taint["effect"] in REPELLING and not tolerated:
                yield f"{one}: has the taint {taint['key']}"


def _tolerates(toleration: Object, taint: Object) -> bool:
    return (
        toleration.get("effect", taint["effect"]) == taint["effect"]
        and toleration.get("key", taint["key"]) == taint["key"]
        and (
            toleration.get("operator") == "Exists"
            or toleration.get("value", "") == taint.get("value", "")
        )
    )


def _capacity(world: _World, given: Sequence[_Given]) -> Iterator[str]:
    """Everybody gets as much as they asked for, and all together no more than there is."""
    if "DRAConsumableCapacity" not in world.on:
        return
    taken = Counter(world.consumed)
    touched = set()
    for one in given:
        capacity = world.devices[one.key].get("capacity", {})
        asked = one.wish.get("capacity", {}).get("requests", {})
        got = one.result.get("consumedCapacity", {}) if world.shareable(one.key) else None
        for name, amount in asked.items():
            there = capacity[name]["value"] if got is None and name in capacity else "0"
            enough = _nano(there if got is None else got.get(name, "0"))
            if enough < _nano(amount):
                yield f"{one}: has not {amount} of {name}"
        for name, amount in (got or {}).items():
            taken[one.key, name] += _nano(amount)
            touched.add((one.key, name))
        if got is not None and ("shareID" not in one.result or got.keys() != capacity.keys()):
            yield f"{one}: does not say which share it is, or of what"
    for key, name in sorted(touched):
        there = world.devices[key]["capacity"][name]["value"]
        if taken[key, name] > _nano(there):
            yield f"device {'/'.join(key)}: more of {name} is taken than there is"


def _counters(world: _World, given: Sequence[_Given]) -> Iterator[str]:
    """Where a partition was given, no counter of its pool is over-drawn."""
    drawn: Counter[tuple[str, ...]] = Counter()
    charged = _charged(world, given)
    for key in (*(world.allocated | world.shared), *(one.key for one in charged)):
        for draw in world.devices.get(key, {}).get("consumesCounters", ()):
            for name, counter in draw["counters"].items():
                drawn[key[0], key[1], draw["counterSet"], name] += _nano(counter["value"])
    pools = {one.key[:2] for one in charged}
    for counter_key, there in world.counters.items():
        if counter_key[:2] in pools and drawn[counter_key] > there:
            yield f"counter {'/'.join(counter_key)}: is over-drawn"


def _charged(world: _World, given: Iterable[_Given]) -> list[_Given]:
    """The partitions that draw from counters: each, but shared ones only for the first share."""
    charged: list[_Given] = []
    paid = set(world.shared)
    for one in given:
        if not world.devices[one.key].get("consumesCounters"):
            continue
        if world.shareable(one.key):
            if one.key in paid:
                continue
            paid.add(one.key)
        charged.append(one)
    return charged


def _groups(world: _World, given: Sequence[_Given]) -> Iterator[str]:
    """Partitions given together from one counter set are compatible with each other."""
    if "DRADeviceCompatibilityGroups" not in world.on:
        return
    together: dict[tuple[str, ...], list[frozenset[str]]] = {}
    for one in _charged(world, given):
        for draw in world.devices[one.key]["consumesCounters"]:
            place = (*one.key[:2], draw["counterSet"])
            together.setdefault(place, []).append(frozenset(draw.get("compatibilityGroups", ())))
    for counter_set, groups in together.items():
        if any(groups) and not frozenset.intersection(*groups):
            yield f"counter set {'/'.join(counter_set)}: the devices have no group in common"


def _constraints(world: _World, given: Sequence[_Given]) -> Iterator[str]:
    for number, claim in enumerate(world.case["claims"]):
        for constraint in claim["spec"]["devices"].get("constraints", ()):
            scope = constraint.get("requests")
            values = [
                _values(world, one, constraint)
                for one in given
                if one.claim == number
                and (not scope or one.request in scope or one.request.partition("/")[0] in scope)
            ]
            pairs = itertools.combinations(values, 2)
            if not all(values):
                yield f"claim {number}: a device lacks what {dict(constraint)} compares"
            elif "matchAttribute" in constraint:
                if values and not frozenset.intersection(*values):
                    yield f"claim {number}: {dict(constraint)} does not hold"
            elif any(one & other for one, other in pairs):
                yield f"claim {number}: {dict(constraint)} does not hold"


def _values(world: _World, one: _Given, constraint: Object) -> frozenset[object]:
    """What a device has of an attribute: one value, or those of a list; none if it lacks it."""
    name = constraint.get("matchAttribute") or constraint["distinctAttribute"]
    for derived in one.wish.get("derivedAttributes", ()):
        if derived["name"] == name:
            return _derived_values(world, one, derived["expression"])
    attributes = world.devices[one.key].get("attributes", {})
    domain, _, bare = name.partition("/")
    attribute = attributes.get(name, attributes.get(bare) if domain == one.key[0] else None)
    if attribute is None:
        return frozenset()
    if "DRAListTypeAttributes" in world.on:
        for kind in LISTS:
            if attribute.get(kind):
                return frozenset((kind[:-1], value) for value in attribute[kind])
    for kind in SCALARS:
        if kind in attribute:
            return frozenset(((kind, attribute[kind]),))
    if "DRAListTypeAttributes" in world.on:
        return frozenset()
    # A type that cannot be compared is like no other, not even its own kind.
    return frozenset((object(),))


def _derived_values(world: _World, one: _Given, expression: str) -> frozenset[object]:
    compiled = compile_derived_attribute(expression, world.environment)
    attribute: DeviceAttribute = DerivedAttribute(compiled).evaluate(world.view(one.key))[0]
    found = {
        "string": attribute.string_values or attribute.string_value,
        "int": attribute.int_values or attribute.int_value,
        "bool": attribute.bool_values or attribute.bool_value,
        "version": attribute.version_values or attribute.version_value,
    }
    for kind, value in found.items():
        if isinstance(value, tuple | list):
            return frozenset((kind, each) for each in value)
        if value is not None:
            return frozenset(((kind, value),))
    return frozenset()
