"""Says where two answers differ, in words that can be counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Difference", "differences"]

# Beyond this many one answer is simply another one.
DIFFERENCES_MAX = 40
SHOWN_MAX = 160
# Enough of a message to know what sort it is.
GENERAL_MAX = 110


class _Absent:
    """A member that is not there, which is not the same as null."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """One disagreement: where in the answer, what was expected and what came."""

    where: str
    expected: Any
    got: Any

    @property
    def sort(self) -> str:
        """What kind of disagreement it is, the same for every object it shows up on."""
        if self.where in ("code", "failure"):
            return f"{self.where} {self.expected} became {shorten(self.got)}"
        if self.where.endswith("message") and isinstance(self.expected, str):
            return f"{self.where}: {_general(self.expected)}"
        what = (
            "missing" if self.got is ABSENT else "extra" if self.expected is ABSENT else "differs"
        )
        return f"{self.where} {what}"

    def __str__(self) -> str:
        return f"{self.where}: expected {shorten(self.expected)}, got {shorten(self.got)}"


def _general(message: str) -> str:
    """A message without the names and values in it, so that messages of one sort are one."""
    message = re.sub(r'"(?:[^"\\]|\\.)*"', '"…"', message)
    message = re.sub(r"\b[\w-]+(?:\.[\w-]+)*(?:\.k8s\.io|\.example\.com)\b|\d+", "…", message)
    message = re.sub(r"(?<=of type )\w+(?=\):)", "Kind", message)
    message = re.sub(r"(?<=: )[a-z][\w.\[\]]*(?=: )", "field", message)
    message = re.sub(r"\b[A-Z][A-Za-z]+(?= in version| \"…\" is invalid)", "Kind", message)
    return message.split("\n")[0][:GENERAL_MAX]


def differences(expected: dict[str, Any], got: dict[str, Any]) -> list[Difference]:
    """All disagreements between two normalised answers; only the code's when that differs."""
    if expected.get("code") != got.get("code"):
        first = Difference("code", expected.get("code"), got.get("code", got.get("failure")))
        return [first, *_named(expected, got)]
    found: list[Difference] = []
    for difference in _walk("", expected, got):
        found.append(difference)
        if len(found) >= DIFFERENCES_MAX:
            break
    return found


def _named(expected: dict[str, Any], got: dict[str, Any]) -> Iterator[Difference]:
    """Beside another code, what both had to say about it."""
    bodies = [side.get("body") for side in (expected, got)]
    texts = [body.get("message", "") if isinstance(body, dict) else body for body in bodies]
    if texts[0] != texts[1]:
        yield Difference("beside another code", texts[0], texts[1])


def _walk(where: str, expected: Any, got: Any) -> Iterator[Difference]:
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in [*expected, *(key for key in got if key not in expected)]:
            inside = f"{where}.{key}" if where else key
            yield from _walk(inside, expected.get(key, ABSENT), got.get(key, ABSENT))
    elif isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            yield Difference(f"{where}[] length", len(expected), len(got))
        for left, right in zip(expected, got, strict=False):
            yield from _walk(f"{where}[]", left, right)
    elif expected != got or type(expected) is not type(got):
        yield Difference(where, expected, got)


def shorten(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
