"""Metrics as text, the way Prometheus reads them.

Written here because the library insists on its own endings of names, and some of upstream's names
are older than that custom. Version 0.0.4 of the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dray.server.operations.measures import Distribution

__all__ = ["CONTENT_TYPE", "Family", "Page"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_VALUE_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_HELP_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\n": "\\n"})


@dataclass(frozen=True, slots=True)
class Family:
    """A metric: its name, what sort of number it is, what it says, and what it is told apart by."""

    name: str
    kind: str  # counter, gauge or histogram
    help: str
    labels: tuple[str, ...] = ()


class Page:
    """What a scrape gets, built one family after the other."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def family(self, family: Family, samples: Iterable[tuple[Sequence[str], float]]) -> None:
        """A counter or gauge: label values and number of each sample."""
        self._head(family.name, family.kind, family.help)
        for values, number in samples:
            labels = _labels(zip(family.labels, values, strict=True))
            self._lines.append(f"{family.name}{labels} {_number(number)}")

    def histogram(
        self, family: Family, samples: Iterable[tuple[Sequence[str], Distribution]]
    ) -> None:
        """A histogram: label values and distribution of each sample."""
        name = family.name
        self._head(name, family.kind, family.help)
        for values, distribution in samples:
            pairs = list(zip(family.labels, values, strict=True))
            for bound, count in distribution.buckets():
                labels = _labels([*pairs, ("le", bound)])
                self._lines.append(f"{name}_bucket{labels} {_number(count)}")
            labels = _labels(pairs)
            self._lines.append(f"{name}_sum{labels} {_number(distribution.total)}")
            self._lines.append(f"{name}_count{labels} {distribution.count}")

    def foreign(
        self,
        name: str,
        kind: str,
        text: str,
        samples: Iterable[tuple[str, Mapping[str, str], float]],
    ) -> None:
        """A family that somebody else collected, with the full name of each sample."""
        self._head(name, kind, text)
        for sample, labels, number in samples:
            self._lines.append(f"{sample}{_labels(labels.items())} {_number(number)}")

    def encode(self) -> bytes:
        return ("\n".join(self._lines) + "\n").encode()

    def _head(self, name: str, kind: str, text: str) -> None:
        self._lines.append(f"# HELP {name} {text.translate(_HELP_ESCAPES)}")
        self._lines.append(f"# TYPE {name} {kind}")


def _labels(pairs: Iterable[tuple[str, str]]) -> str:
    text = ",".join(f'{name}="{value.translate(_VALUE_ESCAPES)}"' for name, value in pairs)
    return f"{{{text}}}" if text else ""


def _number(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)
