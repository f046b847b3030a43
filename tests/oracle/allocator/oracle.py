"""The oracle's program, from Python: building it, and asking it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).resolve().parent
BINARY = HERE.parent / ".build" / "allocator"
UPSTREAM = "k8s.io/dynamic-resource-allocation v0.37.2"

Object = dict[str, Any]


def build() -> None:
    subprocess.run(["go", "build", "-o", BINARY, "."], cwd=HERE, check=True)


def ask(cases: Iterable[Object], *flags: str) -> list[Object]:
    """Upstream's answers, in order."""
    lines = "".join(json.dumps(one) + "\n" for one in cases)
    answered = subprocess.run(
        [BINARY, *flags], input=lines.encode(), capture_output=True, check=True
    )
    return [json.loads(line) for line in answered.stdout.splitlines()]


class Asked:
    """A running program, for cases of which the next depends on the answer to the last."""

    def __init__(self, *flags: str) -> None:
        self._process = subprocess.Popen(
            [BINARY, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._questions: IO[bytes] = self._process.stdin
        self._answers: IO[bytes] = self._process.stdout

    def __call__(self, one: Object) -> Object:
        self._questions.write(json.dumps(one).encode() + b"\n")
        self._questions.flush()
        answer: Object = json.loads(self._answers.readline())
        return answer

    def close(self) -> None:
        self._questions.close()
        self._process.wait()
