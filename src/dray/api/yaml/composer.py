"""YAML text of one document to JSON values that know their lines, within bounds.

libyaml splits the text into events; this composer builds the values from them on a stack of its
own, so no input reaches Python's or C's stack. Three limits keep hostile text cheap: levels,
nodes, and nodes repeated through aliases. An anchored value is built once and shared, but counted
as often as it is used, because whoever walks the document meets it that often.

Duplicate names are recorded, the last one wins; merge keys are followed in reading order, so that
whichever comes later wins, as kubectl has it. Upstream counterpart: go.yaml.in/yaml/v2 decode.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import yaml

from dray.api.codec import NESTING_MAX
from dray.api.yaml.errors import ManifestError
from dray.api.yaml.places import PlacedList, PlacedObject
from dray.api.yaml.scalars import read_key, read_scalar
from dray.errors import ParseError, shorten

__all__ = ["ALIASED_NODES_MAX", "NODES_MAX", "NOTHING", "Composer"]

# A dump of 16 MiB has about 1.3 million; each takes some 3 microseconds and 150 bytes.
NODES_MAX: Final = 1_500_000

# Anchors save typing in a manifest of some hundred lines; nobody means this many.
ALIASED_NODES_MAX: Final = 100_000

# What an empty document composes to: null is something.
NOTHING: Final = object()

# libyaml's parser keeps its own stack, and so does PyYAML's in Python, which is only slower.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# libyaml's words for a document that has ended, but not at a separator.
_CLEARER: Final = {
    "did not find expected <document start>": "the document ended before; begin another with ---"
}

_MERGE: Final = "<<"
_MERGE_TAG: Final = "tag:yaml.org,2002:merge"
_MERGE_RULE: Final = "<< takes an object, or a list of objects"
_TOO_DEEP: Final = f"nested deeper than {NESTING_MAX} levels"


class _Anchored:
    """What an alias stands for."""

    __slots__ = ("levels", "nodes", "scalar", "value")

    def __init__(self, scalar: yaml.ScalarEvent | None = None) -> None:
        self.scalar = scalar
        self.value: Any = NOTHING  # as long as it is being built
        self.nodes = 1
        self.levels = 0


class _Frame:
    """A mapping or a list being built."""

    __slots__ = ("anchored", "levels", "line", "nodes_before")

    def __init__(self, line: int, anchored: _Anchored | None, nodes_before: int) -> None:
        self.line = line
        self.anchored = anchored
        self.nodes_before = nodes_before
        self.levels = 1  # this one and the deepest below it


class _ListFrame(_Frame):
    __slots__ = ("items", "lines")

    def __init__(self, line: int, anchored: _Anchored | None, nodes_before: int) -> None:
        super().__init__(line, anchored, nodes_before)
        self.items: list[Any] = []
        self.lines: list[int] = []

    def put(self, value: Any, line: int) -> None:
        self.items.append(value)
        self.lines.append(line)

    def build(self) -> PlacedList:
        return PlacedList(self.items, line=self.line, lines=self.lines)


class _MappingFrame(_Frame):
    __slots__ = ("duplicates", "lines", "members", "merged", "merging", "name")

    def __init__(self, line: int, anchored: _Anchored | None, nodes_before: int) -> None:
        super().__init__(line, anchored, nodes_before)
        self.members: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        self.duplicates: list[str] = []
        self.merged: set[str] | None = None  # names that only a merge has given so far
        self.name: str | None = None  # the member whose value comes next
        self.merging = False  # what comes next is to be merged

    @property
    def wants_name(self) -> bool:
        return self.name is None and not self.merging

    def give_name(self, name: str, line: int) -> None:
        if self.merged and name in self.merged:
            self.merged.discard(name)
        elif name in self.members:
            self.duplicates.append(name)
        self.name = name
        self.lines[name] = line

    def put(self, value: Any, line: int) -> None:
        if self.merging:
            self._merge(value, line)
            self.merging = False
            return
        assert self.name is not None
        self.members[self.name] = value
        self.name = None

    def build(self) -> PlacedObject:
        return PlacedObject(
            self.members, line=self.line, lines=self.lines, duplicates=self.duplicates
        )

    def _merge(self, value: Any, line: int) -> None:
        self.merged = self.merged or set()
        # In a list of objects the first has precedence, so it comes last.
        for source in reversed(value) if isinstance(value, list) else [value]:
            if not isinstance(source, PlacedObject):
                raise ManifestError(_MERGE_RULE, line)
            self.merged.update(name for name in source if name not in self.members)
            self.members.update(source)
            self.lines.update(source.lines)


class Composer:
    """Composes the documents of one file; its limits are for all of them together."""

    def __init__(
        self, *, nodes_max: int = NODES_MAX, aliased_nodes_max: int = ALIASED_NODES_MAX
    ) -> None:
        self._nodes_max = nodes_max
        self._aliased_nodes_max = aliased_nodes_max
        self._nodes = 0
        self._aliased_nodes = 0
        self._first_line = 1
        self._stack: list[_MappingFrame | _ListFrame] = []
        self._anchors: dict[str, _Anchored] = {}
        self._root: Any = NOTHING

    def compose(self, text: str, *, first_line: int = 1) -> Any:
        """The document's value, or NOTHING if there is none. Raises ManifestError."""
        self._first_line = first_line
        self._stack = []
        self._anchors = {}
        self._root = NOTHING
        for event in self._events(text):
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._take_scalar(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._open(event, mapping=kind is yaml.MappingStartEvent)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._close()
            elif kind is yaml.AliasEvent:
                self._take_alias(event)
            elif kind is yaml.DocumentStartEvent and self._root is not NOTHING:
                # Only where libyaml sees the end of a line and kubectl does not.
                raise self._error("a document separator must follow a line feed", event.start_mark)
        return self._root

    def _events(self, text: str) -> Iterator[Any]:
        try:
            yield from yaml.parse(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = error.problem or error.context or "unreadable"
            rule = f"not YAML: {_CLEARER.get(problem, problem)}"
            began = error.context_mark
            if error.context and began and mark and began.line < mark.line:
                rule += f" {error.context} that begins in line {self._line(began)}"
            if mark is not None and _indented_with_tab(text, mark.line):
                rule += "; indent with spaces, not with tabs"
            if mark is not None and mark.index >= len(text):
                # It is missing at the end, not in the line after it.
                raise self._error_at_end(rule, text) from error
            raise self._error(rule, mark) from error
        except yaml.YAMLError as error:
            raise self._error(f"not YAML: {shorten(str(error))}", None) from error

    def _count(self, nodes: int, mark: Any) -> None:
        self._nodes += nodes
        if self._nodes > self._nodes_max:
            raise self._error(f"more than {self._nodes_max} values", mark)

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        self._count(1, event.start_mark)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(event)
        self._put_scalar(event, event.start_mark)

    def _put_scalar(self, scalar: yaml.ScalarEvent, mark: Any) -> None:
        frame = self._stack[-1] if self._stack else None
        text, tag, plain = scalar.value, scalar.tag, scalar.implicit[0]
        try:
            if isinstance(frame, _MappingFrame) and frame.wants_name:
                if text == _MERGE and (plain or tag == _MERGE_TAG):
                    frame.merging = True
                else:
                    frame.give_name(read_key(text, tag, plain=plain), self._line(mark))
            else:
                self._put(read_scalar(text, tag, plain=plain), self._line(mark))
        except ParseError as error:
            raise self._error(str(error), mark) from error

    def _take_alias(self, event: yaml.AliasEvent) -> None:
        mark = event.start_mark
        name = event.anchor or ""
        anchored = self._anchors.get(name)
        if anchored is None:
            raise self._error(f"*{shorten(name)} comes before its anchor, or has none", mark)
        self._aliased_nodes += anchored.nodes
        if self._aliased_nodes > self._aliased_nodes_max:
            raise self._error(f"aliases repeat more than {self._aliased_nodes_max} values", mark)
        self._count(anchored.nodes, mark)
        if anchored.scalar is not None:
            self._put_scalar(anchored.scalar, mark)
            return
        if anchored.value is NOTHING:
            raise self._error(f"*{shorten(name)} stands inside its own anchor", mark)
        if len(self._stack) + anchored.levels > NESTING_MAX:
            raise self._error(_TOO_DEEP, mark)
        self._check_place(mark)
        # An alias has an anchor before it, so it is never the whole document.
        parent = self._stack[-1]
        parent.levels = max(parent.levels, anchored.levels + 1)
        merging = isinstance(parent, _MappingFrame) and parent.merging
        if merging and isinstance(anchored.value, list):
            # The objects to merge may be listed in place only.
            raise self._error(_MERGE_RULE, mark)
        self._put(anchored.value, self._line(mark))

    def _open(self, event: Any, *, mapping: bool) -> None:
        if len(self._stack) >= NESTING_MAX:
            raise self._error(_TOO_DEEP, event.start_mark)
        self._check_place(event.start_mark)
        anchored = None
        if event.anchor is not None:
            anchored = self._anchors[event.anchor] = _Anchored()
        frame = (_MappingFrame if mapping else _ListFrame)(
            self._line(event.start_mark), anchored, self._nodes
        )
        self._count(1, event.start_mark)
        self._stack.append(frame)

    def _close(self) -> None:
        frame = self._stack.pop()
        value = frame.build()
        if frame.anchored is not None:
            frame.anchored.value = value
            frame.anchored.nodes = self._nodes - frame.nodes_before
            frame.anchored.levels = frame.levels
        if self._stack:
            parent = self._stack[-1]
            parent.levels = max(parent.levels, frame.levels + 1)
        self._put(value, frame.line)

    def _check_place(self, mark: Any) -> None:
        if self._stack:
            parent = self._stack[-1]
            if isinstance(parent, _MappingFrame) and parent.wants_name:
                rule = "an object or a list cannot be a key"
                raise self._error(f"{rule}; if {{{{ … }}}} is meant, render the template", mark)

    def _put(self, value: Any, line: int) -> None:
        if self._stack:
            self._stack[-1].put(value, line)
        else:
            self._root = value

    def _line(self, mark: Any) -> int:
        line: int = mark.line + self._first_line
        return line

    def _error_at_end(self, rule: str, text: str) -> ManifestError:
        text = text.rstrip()
        column = len(text) - text.rfind("\n")
        return ManifestError(rule, self._first_line + text.count("\n"), column)

    def _error(self, rule: str, mark: Any) -> ManifestError:
        if mark is None:
            return ManifestError(rule, self._first_line)
        return ManifestError(rule, self._line(mark), int(mark.column) + 1)


def _indented_with_tab(text: str, line: int) -> bool:
    lines = text.splitlines()
    if line >= len(lines):
        return False
    found = lines[line]
    return "\t" in found[: len(found) - len(found.lstrip())]
