"""Kubernetes' own evaluator of selectors, in a process that does one round when told."""

from __future__ import annotations

from typing import Any

from benchmarks.yardstick import Yardstick

__all__ = ["CelGo", "Counts"]

Counts = tuple[int, int, int]
"""How many devices fit, do not fit, and give an error."""


class CelGo(Yardstick):
    """The process, tests/oracle/celbench."""

    def __init__(self) -> None:
        super().__init__("celbench")

    def load(self, fleet: str, devices: list[dict[str, Any]]) -> None:
        """Hand over devices, under a name; each is resource.k8s.io/v1 JSON with a driver."""
        self._ask(operation="load", fleet=fleet, devices=devices)

    def count(self, fleet: str, expression: str) -> Counts:
        """What the selector says of the fleet."""
        answer = self._ask(operation="count", fleet=fleet, expression=expression)
        return answer["yes"], answer["no"], answer["errors"]

    def matches(self, fleet: str, expression: str) -> float:
        """Seconds per device of what the scheduler calls, inputs made from the API's types."""
        return self._seconds(operation="matches", fleet=fleet, expression=expression, repeats=1)

    def program(self, fleet: str, expression: str) -> float:
        """Seconds per device of the program alone, inputs made beforehand."""
        return self._seconds(operation="program", fleet=fleet, expression=expression, repeats=1)

    def compile(self, expression: str, *, repeats: int) -> float:
        """Seconds per compilation with its cost estimated, as admission does."""
        return self._seconds(operation="compile", expression=expression, repeats=repeats)

    def _seconds(self, **command: object) -> float:
        nanoseconds: float = self._ask(**command)["nanoseconds"]
        return nanoseconds * 1e-9
