"""Small cases, made to be difficult: a few devices and requests that get in each other's way.

Large cases mostly fit at the first try or fail for one reason. Here devices are so few that the
search has to turn back, and each case is about a few themes at once, so that rules meet which
seldom meet: an administrator and counters, alternatives and the limit of a claim, a constraint and
a selector that fails. Small cases can also be decided by trying everything.

One seed is one case, in the format of dray.testing.allocation.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final, TypeVar

__all__ = ["Object", "tiny"]

Object = dict[str, Any]
T = TypeVar("T")

DRIVER: Final = "driver"
NODE: Final = "node"
ATTRIBUTES: Final = f'device.attributes["{DRIVER}"]'

# What a case may be about, and how often.
THEMES: Final = {
    "admin access": 0.25,
    "all devices": 0.25,
    "alternatives": 0.35,
    "capacity errors": 0.06,
    "compatibility groups": 0.1,
    "constraints": 0.55,
    "counters": 0.35,
    "derived attributes": 0.12,
    "device taints": 0.15,
    "devices for some nodes": 0.08,
    "errors": 0.35,
    "in use": 0.35,
    "incomplete pools": 0.04,
    "kinds": 0.2,
    "limit": 0.15,
    "lists": 0.15,
    "negative counters": 0.03,
    "none": 0.06,
    "over-drawn counters": 0.08,
    "shares": 0.3,
    "skipped node operations": 0.05,
    "twins": 0.25,
    "unknown types": 0.12,
}

ALWAYS_ON: Final = (
    "DRAAdminAccess",
    "DRADeviceTaints",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
)
GATES: Final = {
    "compatibility groups": "DRADeviceCompatibilityGroups",
    "derived attributes": "DRADerivedAttributes",
    "lists": "DRAListTypeAttributes",
    "skipped node operations": "DRAOptionalNodeOperations",
}
# Themes that make no sense without others.
NEEDS: Final = {
    "capacity errors": ("shares",),
    "compatibility groups": ("counters",),
    "derived attributes": ("constraints",),
    "negative counters": ("counters",),
    "over-drawn counters": ("counters", "in use"),
}

BEYOND_INT64: Final = "9223372036854775808"


def tiny(seed: int) -> Object:
    """The case of a seed."""
    return _Maker(seed).case()


class _Maker:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = Random(seed)
        # One case in four is about anything; the others are about little, and tighter.
        self._tight = bool(seed % 4)
        self._themes = self._some_themes()
        self._shares = "shares" in self._themes or self._chance(0.5)
        self._numas = self._any((1, 2, 2, 3))
        self._wishes: list[Object] = []  # those made so far, to be made again

    def _some_themes(self) -> set[str]:
        if self._tight:
            count = self._any((1, 2, 2, 3, 3, 4))
            chosen = set(self._random.choices(list(THEMES), list(THEMES.values()), k=count))
        else:
            chosen = {name for name, often in THEMES.items() if self._chance(often)}
        return chosen.union(*(NEEDS[theme] for theme in chosen & NEEDS.keys()))

    def _chance(self, often: float) -> bool:
        return self._random.random() < often

    def _any(self, of: Sequence[T]) -> T:
        return self._random.choice(of)

    def _about(self, theme: str, often: float = 1.0) -> bool:
        return theme in self._themes and self._chance(often)

    def case(self) -> Object:
        features = [*ALWAYS_ON, *(GATES[theme] for theme in GATES if theme in self._themes)]
        if self._shares:
            features.append("DRAConsumableCapacity")
        pools = self._pools()
        return {
            "name": f"tiny-{self._seed}",
            "features": sorted(features),
            "node": self._node(),
            "classes": [self._class()],
            "slices": [
                slice_ for number, pool in enumerate(pools) for slice_ in self._slices(number, pool)
            ],
            **self._usage(pools),
            "claims": self._claims(),
        }

    def _node(self) -> Object:
        node: Object = {"metadata": {"name": NODE, "labels": {"k": "v"}}}
        if self._about("skipped node operations", 0.5):
            node["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}
        return node

    def _class(self) -> Object:
        spec: Object = {}
        if self._about("errors", 0.1):
            spec["selectors"] = [_cel(f"{ATTRIBUTES}.ok")]
        return {"metadata": {"name": "any"}, "spec": spec}

    # Devices -----------------------------------------------------------------------------------

    def _pools(self) -> list[list[Object]]:
        sizes = (3, 4, 4, 5, 5, 6, 7) if self._tight else (1, 2, 3, 3, 4, 4, 5, 6, 7)
        pools: list[list[Object]] = [[] for _ in range(self._any((1, 1, 1, 2, 3)))]
        made: list[Object] = []
        for number in range(self._any(sizes)):
            name = f"d{number}"
            device = (
                self._like(self._any(made), name)
                if made and self._chance(0.35)
                else self._device(name)
            )
            made.append(device)
            self._any(pools).append(device)
        return pools

    def _like(self, other: Object, name: str) -> Object:
        """A device that differs from another in its name, and maybe in where it is."""
        device = {**other, "name": name}
        if "attributes" in device and self._chance(0.3):
            numa = {"int": self._random.randrange(3)}
            device["attributes"] = {**device["attributes"], "numa": numa}
        return device

    def _device(self, name: str) -> Object:
        device: Object = {"name": name, "attributes": self._attributes()}
        if self._about("counters", 0.8):
            device["consumesCounters"] = self._draws()
        if self._about("shares", 0.6):
            if self._chance(0.8):
                device["allowMultipleAllocations"] = True
            if self._chance(0.85):
                device["capacity"] = self._capacity()
        if self._about("device taints", 0.35):
            device["taints"] = [{"key": "k", "effect": "NoSchedule"}]
        return device

    def _attributes(self) -> Object:
        attributes: Object = {}
        if self._chance(0.9):
            attributes["model"] = {"string": self._any("ab")}
        if self._chance(0.97 if self._tight else 0.92):
            attributes["numa"] = self._numa()
        if "errors" not in self._themes or self._chance(0.75):
            attributes["ok"] = {"bool": self._chance(0.7)}
        return attributes

    def _numa(self) -> Object:
        if self._about("lists", 0.6):
            return {"ints": sorted(self._random.sample(range(3), self._any((1, 2, 2, 3))))}
        if self._about("unknown types", 0.35):
            return {"ints": [self._random.randrange(2)]} if self._chance(0.6) else {}
        return {"int": self._random.randrange(self._numas)}

    def _draws(self) -> list[Object]:
        amounts = (-1, 1, 2) if "negative counters" in self._themes else (0, 1, 1, 2, 3)
        counters = {"mem": _counter(self._any(amounts))}
        if self._chance(0.4):
            counters["slots"] = _counter(self._any((1, 1, 2)))
        first: Object = {"counterSet": self._any("sst"), "counters": counters}
        if self._about("compatibility groups", 0.7):
            first["compatibilityGroups"] = self._random.sample("xyz", self._any((1, 1, 2)))
        if self._chance(0.9):
            return [first]
        return [first, {"counterSet": self._any("st"), "counters": {"mem": _counter(1)}}]

    def _capacity(self) -> Object:
        memory: Object = {"value": str(self._any((1, 2, 3, 4)))}
        if self._chance(0.6):
            memory["requestPolicy"] = {"default": "1"}
        if self._about("capacity errors", 0.5):
            memory["requestPolicy"] = {"default": "1", "validRange": {"min": "1", "step": "1"}}
        capacity: Object = {"memory": memory}
        if self._chance(0.2):
            other = {"value": str(self._any((1, 2))), "requestPolicy": {"default": "1"}}
            capacity["other"] = other
        return capacity

    # Slices ------------------------------------------------------------------------------------

    def _slices(self, number: int, devices: list[Object]) -> list[Object]:
        pool: Object = {"name": f"p{number}", "generation": 1, "resourceSliceCount": 1}
        spec: Object = {"driver": DRIVER, "pool": pool, "devices": devices}
        if self._about("devices for some nodes") and devices:
            spec["perDeviceNodeSelection"] = True
            spec["devices"] = [{**device, **self._some_nodes()} for device in devices]
        else:
            spec["nodeName"] = NODE
        if self._about("skipped node operations", 0.4):
            spec["skipNodeOperations"] = ["NodePrepare"]
        if self._about("incomplete pools", 0.3):
            pool["resourceSliceCount"] = 3
        slices = [{"metadata": {"name": f"s{number}"}, "spec": spec}]
        if any(device.get("consumesCounters") for device in devices):
            pool["resourceSliceCount"] += 1
            slices.append(self._counters(number, pool))
        return slices

    def _counters(self, number: int, pool: Object) -> Object:
        sets = []
        for name in "st":
            memory, slots = self._any((1, 2, 3, 4, 5)), self._any((1, 2, 3))
            if self._about("over-drawn counters", 0.6):
                memory = 1
            sets.append(
                {"name": name, "counters": {"mem": _counter(memory), "slots": _counter(slots)}}
            )
        spec = {"driver": DRIVER, "pool": pool, "nodeName": NODE, "sharedCounters": sets}
        return {"metadata": {"name": f"s{number}-counters"}, "spec": spec}

    def _some_nodes(self) -> Object:
        if self._chance(0.7):
            return {"allNodes": True}
        if self._chance(0.6):
            return {"nodeName": "elsewhere"}
        # "In" without values cannot be parsed.
        expression = {"key": "k", "operator": self._any(("In", "Exists"))}
        return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}

    def _usage(self, pools: list[list[Object]]) -> Object:
        usage: Object = {"allocated": [], "shared": [], "consumed": []}
        if "in use" not in self._themes:
            return usage
        often = 0.15 if self._tight else 0.3
        if "over-drawn counters" in self._themes:
            often = 0.4
        for number, devices in enumerate(pools):
            for device in devices:
                if not self._chance(often):
                    continue
                name = {"driver": DRIVER, "pool": f"p{number}", "device": device["name"]}
                shareable = self._shares and device.get("allowMultipleAllocations")
                if not shareable or self._chance(0.2):
                    usage["allocated"].append(name)
                    continue
                if self._chance(0.7):
                    usage["shared"].append({**name, "shareID": "other"})
                if device.get("capacity") and self._chance(0.8):
                    amount = str(self._any((1, 1, 2)))
                    usage["consumed"].append({**name, "capacity": {"memory": amount}})
        return usage

    # Claims ------------------------------------------------------------------------------------

    def _claims(self) -> list[Object]:
        requests = self._any((2, 3, 3, 4, 4, 5) if self._tight else (1, 2, 3, 3, 4, 4, 5))
        specs: list[Object] = []
        while requests > 0:
            if specs and len(specs[-1]["requests"]) == 1 and self._about("twins", 0.5):
                specs.append(specs[-1])
            else:
                specs.append(self._claim(self._random.randint(1, requests)))
            requests -= len(specs[-1]["requests"])
        return [
            {"metadata": {"name": f"c{number}"}, "spec": {"devices": spec}}
            for number, spec in enumerate(specs)
        ]

    def _claim(self, count: int) -> Object:
        requests = [self._request(f"r{number}") for number in range(count)]
        spec: Object = {"requests": requests}
        if self._about("constraints", 0.8):
            names = []
            for request in requests:
                name = request["name"]
                names += [
                    name,
                    *(f"{name}/{sub['name']}" for sub in request.get("firstAvailable", ())),
                ]
            spec["constraints"] = [self._constraint(names) for _ in range(self._any((1, 1, 2)))]
        return spec

    def _constraint(self, names: list[str]) -> Object:
        attribute = self._any(("numa", "numa", "model"))
        kind = self._any(("matchAttribute", "distinctAttribute"))
        constraint: Object = {kind: f"{DRIVER}/{attribute}"}
        if self._about("derived attributes", 0.3):
            constraint[kind] = "x/y"
        if self._chance(0.4):
            count = self._random.randint(1, min(2, len(names)))
            constraint["requests"] = self._random.sample(names, count)
        return constraint

    def _request(self, name: str) -> Object:
        if self._themes & {"alternatives", "limit"} and self._chance(0.45):
            subs = [
                {**self._wish(alternative=True), "name": f"a{number}"}
                for number in range(self._any((1, 2, 2, 3)))
            ]
            return {"name": name, "firstAvailable": subs}
        wish = self._wish()
        if self._about("admin access", 0.4):
            wish = {**wish, "adminAccess": True}
        return {"name": name, "exactly": wish}

    def _wish(self, *, alternative: bool = False) -> Object:
        """What is asked for: as often as not, what was asked for before."""
        if self._wishes and self._chance(0.8 if "twins" in self._themes else 0.35):
            return self._any(self._wishes)
        wish: Object = {"deviceClassName": "any", "allocationMode": "ExactCount"}
        if self._about("all devices", 0.3):
            wish["allocationMode"] = "All"
        else:
            wish["count"] = self._count(alternative=alternative)
        if selectors := self._selectors():
            wish["selectors"] = [_cel(one) for one in selectors]
        if self._about("device taints", 0.4):
            wish["tolerations"] = [{"operator": "Exists"}]
        if self._about("shares", 0.4):
            amounts = ("1", "2", BEYOND_INT64) if "capacity errors" in self._themes else "1123"
            wish["capacity"] = {"requests": {"memory": self._any(amounts)}}
        if self._about("derived attributes", 0.6):
            wish["derivedAttributes"] = [self._derived()]
        self._wishes.append(wish)
        return wish

    def _count(self, *, alternative: bool) -> int:
        if alternative and "limit" in self._themes:
            return self._any((1, 2, 28, 29, 30, 31, 32, 33))
        if "twins" in self._themes:
            return self._any((1, 1, 1, 2))
        return self._any((0, 1, 2) if "none" in self._themes else (1, 1, 1, 1, 2, 2, 3))

    def _selectors(self) -> list[str]:
        made = []
        # Requests for different kinds have only counters and constraints in common.
        if "kinds" in self._themes or self._chance(0.2 if self._tight else 0.35):
            made.append(f'{ATTRIBUTES}.?model.orValue("") == "{self._any("ab")}"')
        if "errors" not in self._themes:
            if self._chance(0.25):
                made.append(f"{ATTRIBUTES}.?ok.orValue(false)")
            return made
        if self._chance(0.45):
            made.append(f"{ATTRIBUTES}.ok")
        if self._chance(0.1):
            made.append(f"{ATTRIBUTES}.?numa.orValue(0) / ({ATTRIBUTES}.?numa.orValue(1) - 1) == 0")
        return made

    def _derived(self) -> Object:
        expressions = (
            f"{ATTRIBUTES}.numa",
            f"{ATTRIBUTES}.?numa.orValue(0) % 2",
            f'{ATTRIBUTES}.?model.orValue("a")',
            f"1 / {ATTRIBUTES}.?numa.orValue(0)",
        )
        return {"name": self._any((f"{DRIVER}/numa", "x/y")), "expression": self._any(expressions)}


def _cel(expression: str) -> Object:
    return {"cel": {"expression": expression}}


def _counter(value: int) -> Object:
    return {"value": str(value)}
