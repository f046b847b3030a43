"""Kubernetes' own allocator, in a process that does one round when told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from benchmarks.yardstick import Yardstick
from dray.api.resource import DeviceID

__all__ = ["AllocatorGo", "Object", "Placed", "Solved"]

Object = dict[str, Any]
"""An object of the API, as JSON."""


class Solved(NamedTuple):
    """What became of a case."""

    seconds: float
    steps: int
    gave_up: bool
    devices: tuple[DeviceID, ...]


class Placed(NamedTuple):
    """What became of pods: the seconds for each, and the devices they got, in order."""

    seconds: float
    devices: tuple[DeviceID, ...]


class AllocatorGo(Yardstick):
    """The process, tests/oracle/allocbench."""

    def __init__(self, *, deadline_seconds: float) -> None:
        """The deadline is for one case."""
        super().__init__("allocbench", f"-deadline={deadline_seconds}s")

    def solve(self, case: Object, *, repeats: int) -> Solved:
        """Make an allocator and ask it about the node of a case, on average of some repeats."""
        answer = self._ask(
            operation="solve",
            nodes=[case["node"]],
            classes=case["classes"],
            slices=case["slices"],
            claims=case["claims"],
            allocated=case["allocated"],
            repeats=repeats,
        )
        devices = _devices(answer)
        return Solved(answer["nanoseconds"] * 1e-9, answer["steps"], answer["gaveUp"], devices)

    def load(self, nodes: list[Object], slices: list[Object], classes: list[Object]) -> None:
        """Hand over a fleet in which nothing is in use; the one before is forgotten."""
        self._ask(operation="load", nodes=nodes, slices=slices, classes=classes)

    def occupy(self, devices: Iterable[DeviceID]) -> None:
        """Let these devices of the fleet be in use, and no others."""
        self._ask(operation="empty")
        self._ask(operation="hold", allocated=_names(devices))

    def release(self, devices: Iterable[DeviceID]) -> None:
        """Let these devices no longer be in use."""
        self._ask(operation="release", allocated=_names(devices))

    def forget(self) -> None:
        """Forget compiled expressions."""
        self._ask(operation="forget")

    def place(self, claims: Sequence[Object], *, pods: int) -> Placed:
        """Give pods the first node that fits, one after the other; what they get is in use."""
        answer = self._ask(operation="pods", claims=claims, pods=pods)
        return Placed(answer["nanoseconds"] * 1e-9, _devices(answer))

    def ask_all(self, claims: Sequence[Object]) -> tuple[float, int]:
        """Ask about every node: the seconds it took, and how many nodes fit."""
        answer = self._ask(operation="all", claims=claims)
        return answer["nanoseconds"] * 1e-9, answer["fits"]

    def heap_bytes(self, claims: Sequence[Object] = ()) -> int:
        """Memory in use; with claims, while an allocator is that was asked about every node."""
        return int(self._ask(operation="heap", claims=claims)["bytes"])


def _names(devices: Iterable[DeviceID]) -> list[Object]:
    return [{"driver": one.driver, "pool": one.pool, "device": one.device} for one in devices]


def _devices(answer: Object) -> tuple[DeviceID, ...]:
    return tuple(
        DeviceID(one["driver"], one["pool"], one["device"]) for one in answer["devices"] or ()
    )
