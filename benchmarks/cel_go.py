"""Kubernetes' own evaluator of selectors, in a process that does one round when told.

The process is tests/oracle/celbench; it times itself, so what passes through the pipe does not
count. Building it needs Go.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

__all__ = ["CelGo", "Counts"]

SOURCE: Final = Path(__file__).resolve().parent.parent / "tests" / "oracle" / "celbench"
BINARY: Final = SOURCE.parent / ".build" / "celbench"

Counts = tuple[int, int, int]
"""How many devices fit, do not fit, and give an error."""


class CelGo:
    """The process. `available` says whether there can be one."""

    def __init__(self) -> None:
        subprocess.run(["go", "build", "-o", BINARY, "."], cwd=SOURCE, check=True)
        self._process = subprocess.Popen(
            [BINARY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    @staticmethod
    def available() -> bool:
        return shutil.which("go") is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # It ends when there is nothing left to read.
        self._process.communicate()

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

    def _ask(self, **command: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the program ended; what it wrote to stderr says why")
        answer: dict[str, Any] = json.loads(line)
        return answer
