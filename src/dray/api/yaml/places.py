"""Where in its file each part of a document stands.

A composed document is made of dicts and lists, as decoders expect them, which also know their
lines. `line_of` follows a field path, as it stands in an error message, into such a document and
answers with the line of what it names or, where that is missing, of what it is missing from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dray.api.shapes import JSONObject

__all__ = ["PlacedList", "PlacedObject", "line_of"]


class PlacedObject(JSONObject):
    """An object that knows the line of each member's name."""

    __slots__ = ("line", "lines")

    def __init__(
        self, members: Mapping[str, Any], *, line: int, lines: dict[str, int], duplicates: list[str]
    ) -> None:
        super().__init__()
        self.update(members)
        self.duplicates = tuple(dict.fromkeys(duplicates))
        self.line = line
        self.lines = lines


class PlacedList(list[Any]):
    """A list that knows the line of each item."""

    __slots__ = ("line", "lines")

    def __init__(self, items: Sequence[Any], *, line: int, lines: list[int]) -> None:
        super().__init__(items)
        self.line = line
        self.lines = lines


_INDEX: Final = re.compile(r"\[(\d{1,9})\]")

# Validation names fields where the newest version of a kind has them. Older versions have no
# level `exactly`, and one more level `basic`.
_LEVEL_OF_NEW: Final = "exactly"
_LEVEL_OF_OLD: Final = "basic"


def line_of(root: Any, path: str) -> int:
    """The line of the field, or of the nearest thing around it that exists; 0 without places."""
    line = int(getattr(root, "line", 0))
    value = root
    rest = path
    while rest:
        if isinstance(value, PlacedList):
            match = _INDEX.match(rest)
            if match is None or int(match[1]) >= len(value):
                return line
            index = int(match[1])
            line, value, rest = value.lines[index], value[index], rest[match.end() :]
        elif isinstance(value, PlacedObject):
            name, after = _member(value, rest)
            if name is None:
                if after is None:
                    return line
                rest = after
            else:
                line, value, rest = value.lines.get(name, line), value[name], after or ""
        else:
            return line
        rest = rest.removeprefix(".")
    return line


def _member(value: PlacedObject, path: str) -> tuple[str | None, str | None]:
    """The member the path enters and what is left of it; no member if a level is to be skipped."""
    if path.startswith("["):
        # A map's key in brackets may itself hold dots and brackets: the longest one that fits.
        fitting = [name for name in value if path.startswith(f"[{name}]")]
        name = max(fitting, key=len, default=None)
        return (name, path[len(name) + 2 :]) if name is not None else (None, None)
    for end in [match.start() for match in re.finditer(r"[.\[]|\Z", path)]:
        if path[:end] in value:
            return path[:end], path[end:]
    if path.startswith(_LEVEL_OF_NEW + "."):
        return None, path.removeprefix(_LEVEL_OF_NEW + ".")
    if _LEVEL_OF_OLD in value:
        return _LEVEL_OF_OLD, path
    return None, None
