"""What a controller wrote and its view does not show yet.

A view is always a little behind. Who decides by a view that lacks the pods it has just made makes
them again. So a controller notes what it writes about an object, and looks at that object again
only once its view has caught up; what it then sees includes everything it did. A write that is
never seen lapses after a while.

That a view has caught up is told by revisions, which are numbers that grow. What counts is that of
the view and not of what is in it: a list is put into the view part by part, and an object that came
and went between two lists is never in it. Upstream counterparts: ControllerExpectations and the
consistency store in pkg/controller.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from dray.api.meta import Object
from dray.client import Informer
from dray.clock import Clock
from dray.controllers.reconciler import Key, Result

__all__ = ["LAPSE_SECONDS", "WAITING", "Expectations"]

# Upstream's: views are seconds behind at worst; waiting longer for something that never comes
# would leave an object alone for no reason.
LAPSE_SECONDS: Final = 300.0

# How often to look whether a view has caught up of which nothing is heard.
LOOK_SECONDS: Final = 5.0

WAITING: Final = Result(LOOK_SECONDS)
"""Of who waits for its view: what it waits for brings it up again, unless that came and went."""

T = TypeVar("T", bound=Object)


class Expectations(Generic[T]):
    """What is to be seen in one view, by the object that it was written for."""

    def __init__(self, view: Informer[T], clock: Clock) -> None:
        self._view = view
        self._clock = clock
        self._expected: dict[Key, _Expected] = {}

    def created(self, key: Key, obj: T) -> None:
        """An object was made."""
        revision = _revision(obj)
        if revision > _number(self._view.revision):
            expected = self._begun(key)
            expected.revision = max(expected.revision, revision)

    def changed(self, key: Key, obj: T) -> None:
        """An object that was in the view is now as this, or is gone because of the change."""
        if self._is_behind(obj.metadata.uid, Key.of(obj), _revision(obj)):
            self._begun(key).changes[obj.metadata.uid] = (Key.of(obj), _revision(obj))

    def deleted(self, key: Key, obj: T) -> None:
        """An object that was in the view is to vanish, or to say that it is about to."""
        self._begun(key).changes[obj.metadata.uid] = (Key.of(obj), _DELETION)

    def met(self, key: Key) -> bool:
        """Whether the view shows everything that was written for an object."""
        expected = self._expected.get(key)
        if expected is None:
            return True
        if self._clock.monotonic() < expected.lapses_at:
            if expected.revision > _number(self._view.revision):
                return False
            if any(self._is_behind(uid, *each) for uid, each in expected.changes.items()):
                return False
        del self._expected[key]
        return True

    def forget(self, key: Key) -> None:
        """The object is gone; what was written for it does not matter."""
        self._expected.pop(key, None)

    # Private -----------------------------------------------------------------------------------

    def _begun(self, key: Key) -> _Expected:
        expected = self._expected.setdefault(key, _Expected())
        expected.lapses_at = self._clock.monotonic() + LAPSE_SECONDS
        return expected

    def _is_behind(self, uid: str, key: Key, revision: int) -> bool:
        obj = self._view.get(key.name, key.namespace)
        if obj is None or obj.metadata.uid != uid:
            return False
        if revision == _DELETION:
            return obj.metadata.deletion_timestamp is None
        return _revision(obj) < revision


@dataclass(slots=True)
class _Expected:
    revision: int = 0  # that the view as a whole has to reach
    changes: dict[str, tuple[Key, int]] = field(default_factory=dict)  # by uid, each to a revision
    lapses_at: float = 0.0


_DELETION: Final = -1


def _revision(obj: Object) -> int:
    return _number(obj.metadata.resource_version)


def _number(revision: str) -> int:
    return int(revision) if revision.isdecimal() else 0
