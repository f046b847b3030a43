"""Who wants to know of which pods something changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

__all__ = ["Listeners"]


class Listeners:
    """Tells every listener of every pod that changed: once, however often it did meanwhile."""

    def __init__(self) -> None:
        self._listeners: set[_Listener] = set()

    def tell(self, pod_uid: str) -> None:
        """Something about this pod changed."""
        for listener in self._listeners:
            listener.add(pod_uid)

    def listen(self) -> AsyncIterator[str]:
        """Pods that change from now on."""
        listener = _Listener()
        self._listeners.add(listener)
        return self._follow(listener)

    async def _follow(self, listener: _Listener) -> AsyncIterator[str]:
        try:
            while True:
                yield await listener.next()
        finally:
            self._listeners.discard(listener)


class _Listener:
    """Bounded by the number of pods: each waits once."""

    def __init__(self) -> None:
        self._changed: dict[str, None] = {}
        self._arrived = asyncio.Event()

    def add(self, pod_uid: str) -> None:
        self._changed[pod_uid] = None
        self._arrived.set()

    async def next(self) -> str:
        while not self._changed:
            self._arrived.clear()
            await self._arrived.wait()
        pod_uid = next(iter(self._changed))
        del self._changed[pod_uid]
        return pod_uid
