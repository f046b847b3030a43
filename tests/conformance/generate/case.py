"""The shape of a question, and small helpers every generator shares."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, TypeVar

Item = TypeVar("Item")

# One line of the oracle's protocol: plain JSON.
Request = dict[str, Any]


def unique(requests: Iterable[Request]) -> Iterator[Request]:
    """The requests in order, each asked once."""
    seen: set[str] = set()
    for request in requests:
        key = json.dumps(request, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield request


def chance(random: Random, probability: float) -> bool:
    return random.random() < probability


def some(random: Random, items: Iterable[Item], count_max: int) -> list[Item]:
    """Between none and `count_max` of the items, in random order, never one twice."""
    pool = list(items)
    return random.sample(pool, random.randint(0, min(count_max, len(pool))))
