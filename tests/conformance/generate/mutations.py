"""One change to a JSON object, found by walking it: the generic half of every battery.

A walk touches every field of a valid object once per kind of damage (gone, null, empty, another
type, out of range, too long, doubled), so no field can be forgotten. What needs two fields to
agree is written by hand beside each kind.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.conformance.generate.case import Request, chance

Path = tuple[str | int, ...]

# Every string of an object meets some of these; between them they break each name format.
STRANGE_TEXTS = (
    "-start", "end-", "Upper.Case", "UPPER", "two words", "dots.are.here", "a/b", "a/b/c",
    "under_score",
    "a..b", "/", "é", "*", "1", "Exists", "None", "All", "null", "a" * 33, "a" * 64, "a" * 254,
    "example.com/" + "i" * 33, "d" * 64 + "/id", "example.com/1id", "Example.com/id", "1Gi", "-1",
    "1.5",
)  # fmt: skip
STRANGE_NUMBERS = (-1, 0, 1, 3, 2**31, 2**63 - 1, -(2**63))


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value below the root with its path, parents first."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, child in items:
        if not path and key in ("apiVersion", "kind"):
            continue
        yield (*path, key), child
        yield from walk(child, (*path, key))


def at(root: Any, path: Path) -> Any:
    for key in path:
        root = root[key]
    return root


def replaced(root: Request, path: Path, value: Any) -> Request:
    """A copy with the value at `path` (which may be new) set."""
    result = copy.deepcopy(root)
    at(result, path[:-1])[path[-1]] = copy.deepcopy(value)
    return result


def removed(root: Request, path: Path) -> Request:
    result = copy.deepcopy(root)
    del at(result, path[:-1])[path[-1]]
    return result


def written(path: Path) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def damaged(
    random: Random, root: Request, *, below: Path = (), thoroughness: int = 3
) -> Iterator[tuple[str, Request]]:
    """The object with one thing wrong, for every field below `below`; each with a name."""
    for relative, value in walk(at(root, below)):
        path = (*below, *relative)
        where = written(path)
        yield f"remove {where}", removed(root, path)
        if chance(random, 0.3):
            yield f"null {where}", replaced(root, path, None)
        # What expressions mean is another battery's subject; here one broken one will do.
        count = 0 if path[-1] == "expression" else thoroughness
        for label, other in _others(random, value, count):
            yield f"{label} {where}", replaced(root, path, other)
        if chance(random, 0.1):
            yield f"another type {where}", replaced(root, path, _another_type(random, value))


def damaged_much(random: Random, root: Request, count: int) -> Iterator[tuple[str, Request]]:
    """The object with several things wrong at once, so that errors meet."""
    for number in range(count):
        result = root
        for _ in range(random.randint(2, 4)):
            places = [place for place in walk(result) if place[0][-1] != "expression"]
            if not places:
                break
            path, value = random.choice(places)
            others = [other for _, other in _others(random, value, 2)]
            if others and chance(random, 0.8):
                result = replaced(result, path, random.choice(others))
            else:
                result = removed(result, path)
        yield f"soup {number}", result


def _others(random: Random, value: Any, count: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool):
        yield "flip", not value
    elif isinstance(value, int):
        for number in random.sample(STRANGE_NUMBERS, min(count, len(STRANGE_NUMBERS))):
            yield f"{number} at", number
    elif isinstance(value, str):
        yield "empty", ""
        for text in random.sample(STRANGE_TEXTS, count):
            yield f"{text[:20]!r} at", text
    elif isinstance(value, list):
        if value:
            yield "empty", []
            yield "double the first of", [value[0], *value]
    elif isinstance(value, dict) and value:
        yield "empty", {}


def _another_type(random: Random, value: Any) -> Any:
    strangers: list[Any] = ["text", 7, True, ["x"], {"x": "y"}, 1.5]
    return random.choice([other for other in strangers if type(other) is not type(value)])
