"""How many bytes connections may hold together, whoever they are: beyond it the first is given up.

Each connection has limits of its own, but there may be thousands, and most of them may be someone
nobody knows yet. What they hold together is therefore bounded as well. Who is given up is not who
happens to come last: it is whoever has held something for the longest, because a client that is
well has finished long since.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["Budget", "Holder"]


class Holder(Protocol):
    """What holds bytes. Holders are told apart by identity."""

    def give_up(self) -> None:
        """Let go of them, at once. The budget has forgotten the holder by then."""
        ...


class Budget:
    """Bytes that are held, by holder.

    One holder alone may go beyond: giving it up would mean that it can never be served. So what is
    held is at most the budget and the largest thing that one of them may hold.
    """

    __slots__ = ("_bytes_max", "_holders", "held")

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        # In the order in which they will be given up.
        self._holders: dict[Holder, int] = {}
        self.held = 0

    def __len__(self) -> int:
        """How many hold something."""
        return len(self._holders)

    def hold(self, holder: Holder, size: int) -> None:
        """The holder has so many bytes now, instead of what it had. It keeps its place."""
        holders = self._holders
        self.held += size - holders.get(holder, 0)
        holders[holder] = size
        while self.held > self._bytes_max and len(holders) > 1:
            first = next(iter(holders))
            self.release(first)
            first.give_up()

    def renew(self, holder: Holder, size: int) -> None:
        """The same, and the holder goes to the end: it has just shown that it is well."""
        self.release(holder)
        self.hold(holder, size)

    def release(self, holder: Holder) -> None:
        """The holder has nothing any more; it need not have had anything."""
        self.held -= self._holders.pop(holder, 0)
