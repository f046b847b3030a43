"""Values that many objects have in common, and what was found out about each of them.

A thousand pods of one template have one and the same spec, as soon as whoever reads them makes it
one (`share`). From then on a pure function of a spec need be asked once: `remembering` keeps what
it answered beside the value, and `deriving` also shares the answer, so that what is made of the one
spec in several steps is one value after each step. About values that are not shared nothing is
kept, and the functions are as they were.

A value is found by its identity, which costs next to nothing whatever its size; it is kept as long
as it is shared, so nobody else can have its identity meanwhile. Values are frozen, so sharing is
invisible but for the time and memory it saves. Upstream has no counterpart: it does all work for
every object.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, Final, TypeVar, TypeVarTuple

__all__ = ["NOTES_MAX", "SHARED_MAX", "deriving", "is_shared", "remembering", "share"]

# The specs of some hundred templates that are in use at a time, each after a handful of steps. Who
# shares sees to it that they are small: at a few kilobytes each, this is a few megabytes.
SHARED_MAX: Final = 512

# A function is asked about a value with one or two sorts of other arguments, seldom more.
NOTES_MAX: Final = 64

T = TypeVar("T")
R = TypeVar("R")
Rest = TypeVarTuple("Rest")

_UNASKED: Final[Any] = object()

# By identity: the value, and what functions answered about it.
_shared: dict[int, tuple[Any, dict[Any, Any]]] = {}
_changing: Final = Lock()


def share(value: T) -> T:
    """The value, about which functions remember what they answer; the oldest makes room."""
    if id(value) not in _shared:
        with _changing:
            if len(_shared) >= SHARED_MAX:
                del _shared[next(iter(_shared))]
            _shared[id(value)] = (value, {})
    return value


def is_shared(value: object) -> bool:
    """Whether functions remember what they answer about the value."""
    return id(value) in _shared


def remembering(function: Callable[[T, *Rest], R]) -> Callable[[T, *Rest], R]:
    """A pure function that is asked once about a shared value and the same other arguments."""

    @wraps(function)
    def asked(value: T, *rest: *Rest) -> R:
        found = _shared.get(id(value))
        if found is None:
            return function(value, *rest)
        notes, question = found[1], (function, *rest)
        answer: R = notes.get(question, _UNASKED)
        if answer is not _UNASKED:
            return answer
        answer = function(value, *rest)
        if len(notes) < NOTES_MAX:
            notes[question] = answer
        return answer

    return asked


def deriving(function: Callable[[T, *Rest], R]) -> Callable[[T, *Rest], R]:
    """The same for a function whose answer is a value of the sort, and is shared in turn."""
    remembered = remembering(function)

    @wraps(function)
    def asked(value: T, *rest: *Rest) -> R:
        answer = remembered(value, *rest)
        return share(answer) if is_shared(value) else answer

    return asked
