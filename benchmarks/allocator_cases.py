"""Cases on which trying every combination takes forever, in the format of allocator recordings.

Most ask for a little more than there is, in ways that only show when everything has been tried: too
few devices, groups that are too small, amounts that do not add up. Some do fit, but the first
combination that does comes late. The node is always one, with at most a few dozen devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.allocator_go import Object

__all__ = ["GATES", "HARD_CASES", "HardCase"]

GATES: Final = (
    "DRAAdminAccess",
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADeviceTaints",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
)
"""What Kubernetes 1.37 has on by default and the allocator looks at."""

DRIVER: Final = "gpu.example.com"
POOL: Final = "pool"
NODE: Final = "node"
COUNTER_SET: Final = "chip"


@dataclass(frozen=True)
class HardCase:
    """A case, and whether its claims fit."""

    name: str
    fits: bool
    document: Object


# Devices ---------------------------------------------------------------------------------------


def gpus(count: int, **attributes: Any) -> list[Object]:
    """Devices; an attribute is a function of the index."""
    return [
        {
            "name": f"gpu-{index:02}",
            "attributes": {name: {"int": of(index)} for name, of in attributes.items()},
        }
        for index in range(count)
    ]


def partitions(amounts: Iterable[tuple[int, ...]]) -> list[Object]:
    """Devices that draw memory, and maybe cores, from one chip."""
    return [
        {
            "name": f"part-{index:02}",
            "consumesCounters": [{"counterSet": COUNTER_SET, "counters": _counters(*drawn)}],
        }
        for index, drawn in enumerate(amounts)
    ]


def shared(count: int, memory: str) -> list[Object]:
    """Devices that several claims may have a share of."""
    return [
        {
            "name": f"gpu-{index:02}",
            "allowMultipleAllocations": True,
            "capacity": {"memory": {"value": memory}},
        }
        for index in range(count)
    ]


def _counters(*amounts: int) -> Object:
    names = ("memory", "cores")[: len(amounts)]
    return {name: {"value": str(amount)} for name, amount in zip(names, amounts, strict=True)}


# Claims ----------------------------------------------------------------------------------------


def request(name: str, count: int = 1, *, selector: str = "", memory: str = "") -> Object:
    exactly: Object = {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": count,
    }
    if selector:
        exactly["selectors"] = [{"cel": {"expression": selector}}]
    if memory:
        exactly["capacity"] = {"requests": {"memory": memory}}
    return {"name": name, "exactly": exactly}


def requests(count: int) -> list[Object]:
    """So many requests for one device each."""
    return [request(f"r{index}") for index in range(count)]


def claim(wanted: list[Object], *constraints: Object, name: str = "claim") -> Object:
    devices: Object = {"requests": wanted}
    if constraints:
        devices["constraints"] = list(constraints)
    return {"metadata": {"name": name}, "spec": {"devices": devices}}


def claims(count: int, wanted: list[Object], *constraints: Object) -> list[Object]:
    """So many claims that ask for the same."""
    return [claim(wanted, *constraints, name=f"claim-{index}") for index in range(count)]


def match(attribute: str, *wanted: str) -> Object:
    return _constraint("matchAttribute", attribute, wanted)


def distinct(attribute: str, *wanted: str) -> Object:
    return _constraint("distinctAttribute", attribute, wanted)


def _constraint(kind: str, attribute: str, wanted: tuple[str, ...]) -> Object:
    constraint: Object = {kind: f"{DRIVER}/{attribute}"}
    if wanted:
        constraint["requests"] = list(wanted)
    return constraint


def model(number: int) -> str:
    return f'device.attributes["{DRIVER}"].model == {number}'


# Cases -----------------------------------------------------------------------------------------


def hard(
    name: str,
    devices: list[Object],
    wanted: list[Object],
    *,
    fits: bool = False,
    in_use: int = 0,
    chip: tuple[int, ...] = (),
) -> HardCase:
    """A case in which the first `in_use` devices with an odd index are taken."""
    specs: list[Object] = [{"devices": devices}]
    if chip:
        counters = {"name": COUNTER_SET, "counters": _counters(*chip)}
        specs.append({"sharedCounters": [counters]})
    pool = {"name": POOL, "generation": 1, "resourceSliceCount": len(specs)}
    slices = [
        {
            "metadata": {"name": f"slice-{index}"},
            "spec": {"driver": DRIVER, "nodeName": NODE, "pool": pool, **spec},
        }
        for index, spec in enumerate(specs)
    ]
    taken = [
        {"driver": DRIVER, "pool": POOL, "device": device["name"]}
        for device in devices[1 : 2 * in_use : 2]
    ]
    document = {
        "name": name,
        "features": list(GATES),
        "node": {"metadata": {"name": NODE}},
        "classes": [{"metadata": {"name": "gpu"}, "spec": {}}],
        "slices": slices,
        "claims": wanted,
        "allocated": taken,
    }
    return HardCase(name, fits, document)


def _too_few() -> Iterator[HardCase]:
    yield hard("25 wanted, there are 24", gpus(24), [claim([request("a", 25)])])
    yield hard("32 wanted of 32, one in use", gpus(32), [claim([request("a", 32)])], in_use=1)
    yield hard("31 wanted of 32, two in use", gpus(32), [claim([request("a", 31)])], in_use=2)
    yield hard(
        "16 of 32, then one that nothing can be",
        gpus(32),
        [claim([request("a", 16), request("b", selector="false")])],
    )
    yield hard(
        "12 of 24, then 13 of the 16 of a model",
        gpus(24, model=lambda index: 0 if index < 16 else 1),
        [claim([request("a", 12), request("b", 13, selector=model(0))])],
    )
    yield hard("16 requests, 12 devices", gpus(12), [claim(requests(16))])
    yield hard("16 claims, 12 devices", gpus(12), claims(16, requests(1)))
    yield hard("8 claims of 4 requests, 31 devices", gpus(31), claims(8, requests(4)))


def _groups() -> Iterator[HardCase]:
    numa = gpus(32, numa=lambda index: index % 8)
    yield hard("5 that match, in groups of 4", numa, [claim([request("a", 5)], match("numa"))])
    yield hard("5 requests match, groups of 4", numa, [claim(requests(5), match("numa"))])
    grid = gpus(36, numa=lambda index: index % 6, switch=lambda index: index // 6)
    yield hard(
        "2 that match twice, attributes cross",
        grid,
        [claim([request("a", 2)], match("numa"), match("switch"))],
    )
    pair = ("r0", "r1")
    yield hard(
        "8 of any, then 2 that match twice",
        grid,
        [claim([request("a", 8), *requests(2)], match("numa", *pair), match("switch", *pair))],
    )
    eight = gpus(40, numa=lambda index: index % 8)
    yield hard("9 that differ, 8 values", eight, [claim([request("a", 9)], distinct("numa"))])
    yield hard("9 requests differ, 8 values", eight, [claim(requests(9), distinct("numa"))])
    yield hard(
        "8 claims of 4 that match, 7 groups of 5",
        gpus(35, numa=lambda index: index // 5),
        claims(8, requests(4), match("numa")),
    )
    yield hard(
        "8 claims of 4 that match and differ, 3 values",
        gpus(48, numa=lambda index: index // 6, switch=lambda index: index % 3),
        claims(8, requests(4), match("numa"), distinct("switch")),
    )
    yield hard(
        "8 claims of 4 that match and differ, 7 groups",
        gpus(35, numa=lambda index: index // 5, switch=lambda index: index % 5 % 4),
        claims(8, requests(4), match("numa"), distinct("switch")),
    )


def _amounts() -> Iterator[HardCase]:
    even = partitions([(10,)] * 20)
    yield hard("counter: 5 of 10, out of 40", even, [claim([request("a", 5)])], chip=(40,))
    uneven = [(5 + 7 * index % 9,) for index in range(24)]
    yield hard(
        "counter: 7 of 5 to 13, out of 36",
        partitions(uneven),
        [claim([request("a", 7)])],
        chip=(36,),
    )
    yield hard(
        "counter: 7 requests of 5 to 13, out of 36",
        partitions(uneven),
        [claim(requests(7))],
        chip=(36,),
    )
    # Whatever draws little of one draws much of the other: each alone would do.
    crossing = [(4 + index % 8, 24 - 2 * (index % 8)) for index in range(24)]
    yield hard(
        "two counters that cross: 6 devices",
        partitions(crossing),
        [claim([request("a", 6)])],
        chip=(40, 100),
    )
    yield hard(
        "two counters that cross: 6 requests",
        partitions(crossing),
        [claim(requests(6))],
        chip=(40, 100),
    )
    ten = [request("r", memory="10Gi")]
    yield hard("17 shares of 10Gi, 4 of 40Gi", shared(4, "40Gi"), claims(17, ten))
    mixed = [
        claim([request("r", memory=f"{(9, 13, 17)[index % 3]}Gi")], name=f"claim-{index}")
        for index in range(13)
    ]
    yield hard("13 shares of 9, 13, 17Gi, 4 of 40Gi", shared(4, "40Gi"), mixed)


def _late() -> Iterator[HardCase]:
    """Cases that fit, though not with the devices that are tried first."""
    yield hard(
        "fits: 5 that match, only the last group has 5",
        gpus(32, numa=lambda index: min(index // 3, 9)),
        [claim([request("a", 5)], match("numa"))],
        fits=True,
    )
    yield hard(
        "fits: 12 of 24, then 12 of the 16 of a model",
        gpus(24, model=lambda index: 0 if index < 16 else 1),
        [claim([request("a", 12), request("b", 12, selector=model(0))])],
        fits=True,
    )
    yield hard(
        "fits: 8 claims of 4 that match, 8 groups of 4",
        gpus(32, numa=lambda index: index % 8),
        claims(8, requests(4), match("numa")),
        fits=True,
    )
    # The first claims must leave room for the later ones in every group.
    yield hard(
        "fits: 4 claims of 2, then 4 of 4, groups of 6",
        gpus(24, numa=lambda index: index // 6),
        claims(4, requests(2), match("numa"))
        + [claim(requests(4), match("numa"), name=f"large-{index}") for index in range(4)],
        fits=True,
    )
    ten = [request("r", memory="10Gi")]
    yield hard("fits: 16 shares of 10Gi, 4 of 40Gi", shared(4, "40Gi"), claims(16, ten), fits=True)


HARD_CASES: Final = (*_too_few(), *_groups(), *_amounts(), *_late())
