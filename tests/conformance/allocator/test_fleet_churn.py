"""A fleet through random changes: after each, it answers as a new allocator would for every node.

Bounds are set so low that models are learned late, and what is remembered is often forgotten.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from dray.allocator import Allocation, Allocator, Features, Fleet, Inventory, Occupancy
from dray.api.codec import encode
from dray.api.core import Node
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    Counter,
    CounterSet,
    Device,
    DeviceClass,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceSlice,
)
from dray.api.wire import replace
from dray.errors import AllocationError
from tests.unit.allocator.builders import (
    CLASS,
    DRIVER,
    amount,
    claim,
    device,
    device_class,
    labelled,
    node,
    request,
    slice_,
    taint,
    toleration,
)

NODES = [f"node-{number}" for number in range(4)]
SLICES = 7
OTHER = "other"
OWN = f'device.attributes["{DRIVER}"]'
MATCH = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
DISTINCT = DeviceConstraint(distinct_attribute=f"{DRIVER}/serial")

SHAPES: tuple[Callable[[str], ResourceClaim], ...] = (
    lambda name: claim(name=name),
    lambda name: claim(request(count=2), name=name),
    lambda name: claim(request(select=[f'{OWN}.?model.orValue("") == "a"']), name=name),
    # These look at what tells individuals apart; the second fails where there is none.
    lambda name: claim(request(select=[f"{OWN}.?serial.orValue(0) > 12"]), name=name),
    lambda name: claim(request(select=[f"{OWN}.serial > 12"]), name=name),
    lambda name: claim(request(mode="All"), name=name),
    lambda name: claim(request("a"), request("b"), constraints=(MATCH,), name=name),
    lambda name: claim(request("a"), request("b"), constraints=(DISTINCT,), name=name),
    lambda name: claim(request(tolerations=(toleration(),), count=3), name=name),
    lambda name: claim(request(capacity={"memory": "1"}, device_class=OTHER), name=name),
)


class World:
    """A fleet, and by its side what a new one would be made of."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.classes: dict[str, DeviceClass] = {CLASS: device_class(), OTHER: device_class(OTHER)}
        self.allocator = Allocator(
            Inventory(Features.everything()), Occupancy(), self.classes, share_id=lambda: "share"
        )
        self.fleet = Fleet(self.allocator, shapes_max=chance.choice((2, 64)))
        self.nodes: dict[str, Node] = {}
        self.rules: dict[str, DeviceTaintRule] = {}
        self.held: list[ResourceClaim] = []
        self.made = 0

    # Changes -----------------------------------------------------------------------------------

    def change(self) -> None:
        changes = [self.publish] * 7 + [self.withdraw] + [self.join] * 3 + [self.leave]
        changes += [self.rule, self.unrule, self.classify, self.release] + [self.take] * 4
        self.chance.choice(changes)()

    def publish(self) -> None:
        self.fleet.apply_slice(self._slice())

    def withdraw(self) -> None:
        self.fleet.remove_slice(f"s{self.chance.randrange(SLICES)}")

    def join(self) -> None:
        name = self.chance.choice(NODES)
        features = self.chance.choice(((), ("DRAOptionalNodeOperations",)))
        self.nodes[name] = node(name, labels={"zone": self.chance.choice("ab")}, features=features)
        self.fleet.apply_node(self.nodes[name])

    def leave(self) -> None:
        name = self.chance.choice(NODES)
        self.nodes.pop(name, None)
        self.fleet.remove_node(name)

    def rule(self) -> None:
        name = self.chance.choice("rq")
        selector = DeviceTaintSelector(pool=self.chance.choice(("p0", "p1", None)))
        spec = DeviceTaintRuleSpec(device_selector=selector, taint=taint("rule"))
        self.rules[name] = DeviceTaintRule(metadata=ObjectMeta(name=name), spec=spec)
        self.fleet.apply_rule(self.rules[name])

    def unrule(self) -> None:
        name = self.chance.choice("rq")
        self.rules.pop(name, None)
        self.fleet.remove_rule(name)

    def classify(self) -> None:
        select = self.chance.choice(
            ([], [f'{OWN}.?model.orValue("") == "b"'], [f"{OWN}.?serial.orValue(0) < 9"])
        )
        self.classes[OTHER] = device_class(OTHER, select=select)

    def release(self) -> None:
        if self.held:
            self.fleet.remove_claim(self.held.pop(self.chance.randrange(len(self.held))))

    def take(self) -> None:
        if not self.nodes:
            return
        self.made += 1
        asked = self.chance.choice(SHAPES)(f"claim-{self.made}")
        try:
            answer = self.fleet.survey([asked]).on(self.chance.choice(sorted(self.nodes)))
        except AllocationError:
            return
        if isinstance(answer, Allocation):
            status = ResourceClaimStatus(allocation=answer.results[0])
            self.held.append(replace(asked, status=status))
            self.fleet.add_claim(self.held[-1])

    def _slice(self) -> ResourceSlice:
        chance = self.chance
        name, where = f"s{chance.randrange(SLICES)}", self._where()
        spec: dict[str, Any] = {
            "name": name,
            "pool": chance.choice(("p0", "p1", "p2")),
            "generation": chance.choice((1, 1, 2)),
            "slice_count": chance.choice((1, 1, 1, 2, 2, 3)),
        }
        if chance.random() < 0.15:
            counters = {"c": Counter(value=amount(chance.choice("12")))}
            shared = (CounterSet(name="set", counters=counters),)
            return slice_(**spec, **where, shared_counters=shared)
        partitioned = chance.random() < 0.2
        each = "per_device_node_selection" in where
        devices = [
            self._device(f"{name}-{i}", partitioned=partitioned, each=each)
            for i in range(chance.randrange(4))
        ]
        return slice_(*devices, **spec, **where)

    def _where(self) -> dict[str, Any]:
        zone = labelled("zone", *(self.chance.choice("ab") if self.chance.random() < 0.93 else ""))
        own: dict[str, Any] = {"node_name": self.chance.choice(NODES)}
        return self.chance.choice(
            [
                own,
                own,
                own,
                {"all_nodes": True},
                {"node_selector": zone},
                {"per_device_node_selection": True},
                {"all_nodes": True, "skip_node_operations": ("*",)},
            ]
        )

    def _device(self, name: str, *, partitioned: bool, each: bool) -> Device:
        chance = self.chance
        fields: dict[str, Any] = {}
        attributes: dict[str, str | int] = {"model": chance.choice("ab")}
        if chance.random() < 0.8:
            attributes["serial"] = chance.randrange(30)
        if chance.random() < 0.3:
            attributes["numa"] = chance.randrange(2)
        if chance.random() < 0.3:
            fields["taints"] = (taint(value=chance.choice("xy")),)
        if chance.random() < 0.3:
            fields["allow_multiple_allocations"] = True
            fields["capacity"] = {"memory": chance.choice("23")}
        if partitioned and chance.random() < 0.6:
            counters = {"c": Counter(value=amount("1"))}
            consumption = DeviceCounterConsumption(counter_set="set", counters=counters)
            fields["consumes_counters"] = (consumption,)
        if each:
            zone = labelled("zone", chance.choice("ab"))
            places: list[dict[str, Any]] = [
                {"node_name": chance.choice(NODES)},
                {"all_nodes": True},
                {"node_selector": zone},
            ]
            fields |= chance.choice(places)
        return device(name, attributes=attributes, **fields)

    # Checks ------------------------------------------------------------------------------------

    def check(self) -> None:
        alone = Allocator(
            Inventory(
                Features.everything(), self.allocator.inventory.slices(), self.rules.values()
            ),
            Occupancy.of(self.held),
            dict(self.classes),
            share_id=lambda: "share",
        )
        for shape in self.chance.sample(SHAPES, 4):
            asked = [shape("asked")]
            survey = self.fleet.survey(asked)
            expected = {
                name: outcome(partial(alone.allocate, self.nodes[name], asked))
                for name in self.fleet
            }
            found = {name: outcome(partial(survey.on, name)) for name in self.fleet}
            assert found == expected
            fitting = tuple(name for name in self.fleet if isinstance(expected[name], list))
            assert survey.fitting() == fitting
            failing = [expected[n] for n in self.fleet if str(expected[n]).startswith("error")]
            assert outcome(survey.check) == (failing[0] if failing else None)
            assert outcome(survey.first) == next(
                (
                    name if isinstance(answer, list) else answer
                    for name, answer in expected.items()
                    if isinstance(answer, list) or str(answer).startswith("error")
                ),
                None,
            )


def outcome(ask: Callable[[], object]) -> object:
    """An answer in a form that can be compared."""
    try:
        answer = ask()
    except AllocationError as error:
        return f"error: {error}"
    if isinstance(answer, Allocation):
        return [encode(result) for result in answer.results]
    return answer.report if hasattr(answer, "report") else answer


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_after_every_change_a_fleet_answers_as_a_new_one_would(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr("dray.allocator.models.VALUES_MAX", chance.choice((1, 3, 64)))
    monkeypatch.setattr("dray.allocator.models.MODELS_MAX", 12)
    monkeypatch.setattr("dray.allocator.faces.FACES_MAX", 6)
    monkeypatch.setattr("dray.allocator.fleet.OUTCOMES_MAX", 5)
    world = World(chance)
    for _ in range(chance.randrange(5, 25)):
        world.change()
        world.check()
