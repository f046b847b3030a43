"""Informers that are shared: whoever asks the same question is given the same view.

Each event is decoded once, however many look at it. A view that was asked for is kept: there are
as many as there are questions in the code that asks. Upstream counterpart: client-go's
SharedInformerFactory.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple, TypeVar

from dray.api.meta import Object
from dray.client._client import Client
from dray.client._informer import Informer
from dray.clock import Clock
from dray.entropy import Entropy

__all__ = ["Informers"]

T = TypeVar("T", bound=Object)


class _Question(NamedTuple):
    kind: type[Object]
    namespace: str
    label_selector: str
    field_selector: str


class Informers:
    """The views of one client."""

    def __init__(self, client: Client, *, clock: Clock, entropy: Entropy) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._informers: dict[_Question, Informer[Any]] = {}
        self._asked = asyncio.Event()

    def of(
        self,
        kind: type[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Informer[T]:
        """The view of all objects of a kind that match."""
        question = _Question(kind, namespace, label_selector, field_selector)
        informer = self._informers.get(question)
        if informer is None:
            informer = self._informers[question] = Informer(
                self._client,
                kind,
                clock=self._clock,
                entropy=self._entropy,
                namespace=namespace,
                label_selector=label_selector,
                field_selector=field_selector,
            )
            self._asked.set()
        return informer

    async def run(self) -> None:
        """Keep all views up to date, also those that are asked for later.

        One at a time: whoever runs them again after the end goes on where it was.
        """
        running: set[_Question] = set()
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._asked.clear()
                for question, informer in self._informers.items():
                    if question not in running:
                        running.add(question)
                        tasks.create_task(informer.run())
                await self._asked.wait()

    async def synced(self) -> None:
        """Return once every view that was asked for so far has seen what was there."""
        await asyncio.gather(*(informer.synced() for informer in self._informers.values()))
