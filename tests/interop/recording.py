"""Recordings: scripts with the answers a real server gave, one script a line, one area a file."""

from __future__ import annotations

import gzip
import io
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.compare import Difference, differences
from tests.interop.corpus import AREAS
from tests.interop.normalise import Normaliser
from tests.interop.player import Player
from tests.interop.script import Step, step_from_data

__all__ = [
    "OPEN",
    "RECORDINGS",
    "Recorded",
    "areas",
    "open_scripts",
    "play",
    "read",
    "replay",
    "write",
]

RECORDINGS = Path(__file__).parent.parent / "conformance" / "server"

# Scripts that dray does not answer as recorded yet, one a line; the suite expects them to fail.
OPEN = RECORDINGS / "open.txt"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A script and the normalised answer to each of its steps."""

    area: str
    name: str
    namespace: str
    steps: tuple[Step, ...]
    answers: tuple[dict[str, Any], ...]

    def as_data(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "namespace": self.namespace,
            "steps": [
                {"request": step.as_data(), "answer": answer}
                for step, answer in zip(self.steps, self.answers, strict=True)
            ],
        }


def open_scripts() -> frozenset[str]:
    return frozenset(OPEN.read_text().split()) if OPEN.exists() else frozenset()


def areas() -> list[str]:
    """The recorded areas; other tests keep recordings of another form in the same folder."""
    return sorted(area for area in AREAS if (RECORDINGS / f"{area}.jsonl.gz").exists())


def read(area: str) -> Iterator[Recorded]:
    with gzip.open(RECORDINGS / f"{area}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            data = json.loads(line)
            yield Recorded(
                area=area,
                name=data["name"],
                namespace=data["namespace"],
                steps=tuple(step_from_data(step["request"]) for step in data["steps"]),
                answers=tuple(step["answer"] for step in data["steps"]),
            )


def write(area: str, scripts: list[Recorded]) -> None:
    """The same scripts and answers give the same bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9, mtime=0) as lines:
        for script in scripts:
            text = json.dumps(script.as_data(), separators=(",", ":"), ensure_ascii=True)
            lines.write(text.encode() + b"\n")
    (RECORDINGS / f"{area}.jsonl.gz").write_bytes(packed.getvalue())


# How often a step is asked again that follows one that takes effect later, and for how many times
# as long as was waited when it was recorded: machines that run tests are busy.
LOOK_SECONDS = 0.1
PATIENCE = 5


def literals(steps: tuple[Step, ...]) -> str:
    """All that a script says by itself, to know it again in the answers."""
    return json.dumps([step.as_data() for step in steps], ensure_ascii=False)


def play(
    player: Player,
    namespace: str,
    steps: tuple[Step, ...],
    *,
    events: tuple[int | None, ...] = (),
    patient: bool = False,
    codes: tuple[int | None, ...] = (),
) -> list[dict[str, Any]]:
    """Normalised answers to all steps. A watch is read to its end, or up to so many events.

    Who records waits after steps that take effect later. Who plays a recording knows the `codes`
    to expect instead, and asks the step after those again for as long.
    """
    player.prepare(namespace)
    normaliser = Normaliser(literals(steps))
    limits = events or (None,) * len(steps)
    answers = []
    pause = 0.0
    for step, limit, code in zip(steps, limits, codes or (None,) * len(steps), strict=True):
        answer = player.play(step, events_max=limit)
        if step.method == "GET" and limit is None and code is not None:
            deadline = time.monotonic() + PATIENCE * pause
            while answer.code != code and time.monotonic() < deadline:
                time.sleep(LOOK_SECONDS)
                answer = player.play(step)
        answers.append(normaliser.answer(step, answer))
        pause = step.pause
        if pause and patient:
            time.sleep(pause)
    return answers


def replay(player: Player, script: Recorded) -> list[list[Difference]]:
    """Where a server differs from the recording, for each step."""
    events = tuple(
        len(answer["events"]) if "events" in answer else None for answer in script.answers
    )
    codes = tuple(answer.get("code") for answer in script.answers)
    got = play(player, script.namespace, script.steps, events=events, codes=codes)
    return [
        differences(expected, answer) for expected, answer in zip(script.answers, got, strict=True)
    ]
