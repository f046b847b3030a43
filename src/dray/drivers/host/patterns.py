"""Globs that remember what their wildcards matched, and texts that use it.

`/dev/nvme{disk}n*` finds paths as a shell does, and every wildcard is captured: by number from 0
on, or by the name it has in braces, which stands for `*`. A wildcard never matches a slash, nor the
dot that hides a file. `Template` fills captures into a text: "disk-{disk}"; braces are doubled to
stand for themselves.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["PATHS_MAX", "Glob", "Match", "PatternError", "Template"]

# More devices than this are not offered on a node; whoever matches more has mistyped.
PATHS_MAX: Final = 16_384

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN: Final = re.compile(
    r"\{(?P<name>[^{}]*)\}|(?P<wild>\*+|\?)|(?P<set>\[[^\]/]+\])|(?P<text>.)"
)
_FORMATTER: Final = string.Formatter()


class PatternError(ValueError):
    """A glob or a template cannot be what it is, or cannot be filled."""


@dataclass(frozen=True, slots=True)
class Match:
    """A path, and what wildcards matched in it."""

    path: str
    captures: Mapping[str, str]


class Template:
    """A text with captures to fill in."""

    __slots__ = ("keys", "text")

    def __init__(self, text: str) -> None:
        self.text: Final = text
        keys: list[str] = []
        try:
            for _literal, key, specification, conversion in _FORMATTER.parse(text):
                if key is None:
                    continue
                if specification or conversion or not re.fullmatch(r"\w+", key):
                    raise PatternError(f"{{{key}}} is not the name of a capture")
                keys.append(key)
        except ValueError as error:
            raise PatternError(f"{text!r}: {error}") from error
        self.keys: Final = frozenset(keys)

    def fill(self, captures: Mapping[str, str]) -> str:
        """The text for one device."""
        missing = sorted(self.keys - captures.keys())
        if missing:
            raise PatternError(f"{self.text!r}: nothing is captured as {missing[0]!r}")
        return "".join(
            literal + (captures[key] if key is not None else "")
            for literal, key, _specification, _conversion in _FORMATTER.parse(self.text)
        )


class Glob:
    """A pattern of absolute paths."""

    def __init__(self, text: str) -> None:
        self.text: Final = text
        if not text.startswith("/"):
            raise PatternError(f"{text!r} must be an absolute path")
        names: list[str] = []
        self._parts = [_part(part, names) for part in text.split("/")[1:]]
        if any(part in ("", ".", "..") for part in self._parts):
            raise PatternError(f"{text!r} must not have empty parts, nor . or ..")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise PatternError(f"{text!r} has two wildcards named {twice[0]!r}")
        # What every match captures.
        self.names: Final = tuple(names)

    def matches(self, root: Path = Path("/")) -> Iterator[Match]:
        """Every path there is below this root, in order; raises OSError for what is not readable.

        A directory that is not there holds nothing.
        """
        for path, captured in _walk(str(root).rstrip("/"), self._parts, "", ()):
            yield Match(path, dict(zip(self.names, captured, strict=True)))


def _part(text: str, names: list[str]) -> str | re.Pattern[str]:
    """One part of a path: a name, or an expression with one group per wildcard."""
    expression, plain = "", True
    # Numbers go on over the whole path, so names count as well.
    for token in _TOKEN.finditer(text):
        if (name := token["name"]) is not None:
            if not _NAME.fullmatch(name):
                raise PatternError(f"{{{name}}}: the name of a wildcard is letters, digits and _")
            names.append(name)
            expression += "(.*)"
        elif wild := token["wild"]:
            if len(wild) > 1:
                raise PatternError("** is not supported: say how deep paths are")
            names.append(_next_number(names))
            expression += "(.*)" if wild == "*" else "(.)"
        elif group := token["set"]:
            names.append(_next_number(names))
            inner = group[1:-1]
            negated, inner = inner[:1] in "!^", inner.lstrip("!^")
            if not inner:
                raise PatternError(f"{group}: an empty set matches nothing")
            escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", inner)
            expression += f"([{'^' if negated else ''}{escaped}])"
        else:
            if token["text"] in "[]{}":
                raise PatternError(f"{text!r}: {token['text']} without its counterpart")
            expression += re.escape(token["text"])
            continue
        plain = False
    if plain:
        return text
    try:
        hidden = "" if text.startswith(".") else r"(?!\.)"
        return re.compile(hidden + expression, re.DOTALL)
    except re.error as error:
        raise PatternError(f"{text!r}: {error}") from error


def _next_number(names: Sequence[str]) -> str:
    return str(sum(name.isdecimal() for name in names))


def _walk(
    root: str, parts: Sequence[str | re.Pattern[str]], above: str, captured: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    if not parts:
        if os.path.lexists(f"{root}{above}"):
            yield above, captured
        return
    part, rest = parts[0], parts[1:]
    if isinstance(part, str):
        yield from _walk(root, rest, f"{above}/{part}", captured)
        return
    try:
        names = sorted(os.listdir(f"{root}{above}/"))
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if found := part.fullmatch(name):
            yield from _walk(root, rest, f"{above}/{name}", (*captured, *found.groups()))
