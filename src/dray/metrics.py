"""Counters, gauges and histograms in Prometheus' text format, for processes that have a few.

A library would be larger than all of it, and renames what upstream named. Labels are meant to have
a few values: what has more is counted together, so that a peer that invents names fills no memory.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

__all__ = ["CONTENT_TYPE", "Family", "Histogram", "render"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

SERIES_MAX: Final = 1000
OTHER: Final = "other"

_Labels = tuple[str, ...]


class Family:
    """A counter or a gauge: one value for every combination of labels."""

    def __init__(self, name: str, text: str, *, kind: str, labels: Sequence[str] = ()) -> None:
        """`kind` is counter or gauge; `text` is what it counts."""
        self.name: Final = name
        self._text = text
        self._kind = kind
        self._labels = tuple(labels)
        self._values: dict[_Labels, float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, amount: float = 1.0) -> None:
        """Count something."""
        key = _bounded(self._values, labels)
        self._values[key] = self._values.get(key, 0.0) + amount

    def set(self, value: float, *labels: str) -> None:
        """Show another value."""
        self._values[_bounded(self._values, labels)] = value

    def replace(self, values: Mapping[_Labels, float]) -> None:
        """Show these values and no others."""
        self._values = dict(list(values.items())[:SERIES_MAX])

    def lines(self, common: Mapping[str, str]) -> Iterator[str]:
        """The text of the family; `common` labels are those of every series."""
        yield from _head(self.name, self._text, self._kind)
        for values, value in sorted(self._values.items()):
            labels = {**common, **dict(zip(self._labels, values, strict=True))}
            yield f"{self.name}{_show(labels)} {_number(value)}"


class Histogram:
    """How long something took, or how large it was."""

    def __init__(
        self, name: str, text: str, *, buckets: Sequence[float], labels: Sequence[str] = ()
    ) -> None:
        self.name: Final = name
        self._text = text
        self._labels = tuple(labels)
        self._buckets = tuple(buckets)
        # By labels: a count for each bucket and one for what is beyond, and the sum.
        self._series: dict[_Labels, tuple[list[int], list[float]]] = {}

    def observe(self, value: float, *labels: str) -> None:
        """Note one value."""
        key = _bounded(self._series, labels)
        counts, total = self._series.setdefault(key, ([0] * (len(self._buckets) + 1), [0.0]))
        counts[bisect_left(self._buckets, value)] += 1
        total[0] += value

    def lines(self, common: Mapping[str, str]) -> Iterator[str]:
        """The text of the family; `common` labels are those of every series."""
        yield from _head(self.name, self._text, "histogram")
        for values, (counts, total) in sorted(self._series.items()):
            labels = {**common, **dict(zip(self._labels, values, strict=True))}
            below = 0
            for bound, count in zip((*self._buckets, float("inf")), counts, strict=True):
                below += count
                yield f"{self.name}_bucket{_show({**labels, 'le': _number(bound)})} {below}"
            yield f"{self.name}_sum{_show(labels)} {_number(total[0])}"
            yield f"{self.name}_count{_show(labels)} {below}"


def render(
    families: Iterable[Family | Histogram], common: Mapping[str, str] | None = None
) -> bytes:
    """All families as one text."""
    lines = [line for family in families for line in family.lines(common or {})]
    return ("\n".join(lines) + "\n").encode()


def _bounded(series: Mapping[_Labels, object], labels: _Labels) -> _Labels:
    """The labels to count under: those asked for, unless there are too many different ones."""
    if labels in series or len(series) < SERIES_MAX:
        return labels
    return (OTHER,) * len(labels)


def _head(name: str, text: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def _show(labels: Mapping[str, str]) -> str:
    inside = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)
