"""A Go program under tests/oracle that does one round when told.

It times itself, so what passes through the pipe does not count. Building it needs Go.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

__all__ = ["Yardstick"]

ORACLE: Final = Path(__file__).resolve().parent.parent / "tests" / "oracle"


class Yardstick:
    """The process. `available` says whether there can be one."""

    def __init__(self, name: str, *options: str) -> None:
        binary = ORACLE / ".build" / name
        subprocess.run(["go", "build", "-o", binary, "."], cwd=ORACLE / name, check=True)
        self._process = subprocess.Popen(
            [binary, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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
