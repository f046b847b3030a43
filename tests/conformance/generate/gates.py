"""One question: which feature gates are there, and how do they stand."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.conformance.generate.case import Request


def gates(_random: Random) -> Iterator[Request]:
    yield {"op": "gates"}
