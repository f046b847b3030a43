"""The objects that can own or be owned, of all kinds.

Kinds that every server has are in the views that all controllers share. Kinds that users define,
and those that a server may lack, have views of their own, which nobody has to wait for. Events own
nothing and go by themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from dray.api import events
from dray.api.apiextensions import CustomResourceDefinition
from dray.api.core import Event
from dray.api.meta import Object, OwnerReference
from dray.api.resource import DeviceTaintRule, ResourcePoolStatusRequest
from dray.api.scheme import Kind, kinds
from dray.client import Informer
from dray.controllers.custom_kinds import CustomKind, defined_kind
from dray.controllers.reconciler import Context, Key
from dray.errors import APIError, NotFound, TransportError

__all__ = ["View", "Views"]

_LEFT_OUT: Final[tuple[type[Object], ...]] = (Event, events.Event)
# Younger than what they belong to: there are clusters without. There are never many of them.
_OPTIONAL: Final[tuple[type[Object], ...]] = (DeviceTaintRule, ResourcePoolStatusRequest)

Listener = Callable[["View", Object | None, Object | None], None]


@dataclass(frozen=True, slots=True)
class View:
    """All objects of a kind."""

    resource: str  # as in `kubectl get`: pods, replicasets.apps
    type: type[Object]
    namespaced: bool
    objects: Informer[Any]

    def key(self, obj: Object) -> Key:
        """What names an object among those of all kinds: its name, after that of the resource."""
        return Key(obj.metadata.namespace, f"{self.resource}/{obj.metadata.name}")


class Views:
    """Finds objects by keys and by references."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._listener: Listener | None = None
        self._views: dict[str, View] = {}
        self._by_kind: dict[tuple[str, str], View] = {}  # by apiVersion and kind
        self._own: dict[str, View] = {}  # that nobody else runs
        self._custom: dict[str, CustomKind] = {}  # by the name of the definition
        self._asked = asyncio.Event()
        for kind in kinds():
            if kind.hub.type not in (*_LEFT_OUT, *_OPTIONAL):
                self._add_kind(kind, context.informers.of(kind.hub.type), own=False)

    def listen(self, listener: Listener) -> None:
        """Have one listener told of every change in any of the views."""
        self._listener = listener
        for view in self._views.values():
            self._tell_of(view)
        self._context.informers.of(CustomResourceDefinition).listen(self._defined)

    def of(self, resource: str) -> View | None:
        """The objects of a resource."""
        return self._views.get(resource)

    def of_reference(self, reference: OwnerReference) -> View | None:
        """The objects of the kind that a reference names; None if that is not known."""
        return self._by_kind.get((reference.api_version, reference.kind))

    def get(self, key: Key) -> tuple[View, Object] | None:
        """The object that a key names, and those it is one of."""
        resource, _, name = key.name.partition("/")
        view = self._views.get(resource)
        found = view.objects.get(name, key.namespace) if view is not None else None
        return (view, found) if view is not None and found is not None else None

    async def run(self) -> None:
        """Keep the views up to date that are ours alone."""
        for kind in kinds():
            if kind.hub.type in _OPTIONAL and await self._is_served(kind.hub.type):
                self._tell_of(self._add_kind(kind, self._informer(kind.hub.type), own=True))
        running: dict[str, tuple[View, asyncio.Task[None]]] = {}
        try:
            while True:
                self._asked.clear()
                for resource, (view, task) in list(running.items()):
                    if self._own.get(resource) is not view:
                        task.cancel()
                        del running[resource]
                    elif task.done():
                        task.result()  # only a mistake ends it
                for resource, view in self._own.items():
                    if resource not in running:
                        task = asyncio.ensure_future(view.objects.run())
                        task.add_done_callback(lambda _task: self._asked.set())
                        running[resource] = (view, task)
                await self._asked.wait()
        finally:
            for _, task in running.values():
                task.cancel()

    # Private -----------------------------------------------------------------------------------

    def _informer(self, type_: type[Object]) -> Informer[Any]:
        context = self._context
        return Informer(context.client, type_, clock=context.clock, entropy=context.entropy)

    async def _is_served(self, type_: type[Object]) -> bool:
        try:
            await self._context.client.list(type_, page_size=1)
        except NotFound:
            return False
        except (APIError, TransportError):
            return True  # the view asks again until there is an answer
        return True

    def _add_kind(self, kind: Kind, objects: Informer[Any], *, own: bool) -> View:
        resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        view = View(resource, kind.hub.type, kind.namespaced, objects)
        versions = [kind.api_version(version.name) for version in kind.versions]
        self._add(view, [(version, kind.name) for version in versions], own=own)
        return view

    def _add(self, view: View, names: list[tuple[str, str]], *, own: bool) -> None:
        self._views[view.resource] = view
        for name in names:
            self._by_kind[name] = view
        if own:
            self._own[view.resource] = view
            self._asked.set()

    def _tell_of(self, view: View) -> None:
        assert self._listener is not None
        view.objects.listen(partial(self._listener, view))

    def _defined(
        self, old: CustomResourceDefinition | None, new: CustomResourceDefinition | None
    ) -> None:
        definition = new or old
        assert definition is not None
        name = definition.metadata.name
        known = self._custom.get(name)
        wanted = defined_kind(new) if new is not None else None
        if wanted == known:
            return
        if known is not None:
            self._remove(known)
        self._custom.pop(name, None)
        if wanted is not None:
            self._custom[name] = wanted
            view = View(
                wanted.resource, wanted.type, wanted.namespaced, self._informer(wanted.type)
            )
            self._add(view, list(_names(wanted)), own=True)
            self._tell_of(view)

    def _remove(self, kind: CustomKind) -> None:
        view = self._views.pop(kind.resource)
        for name in _names(kind):
            self._by_kind.pop(name, None)
        self._own.pop(kind.resource, None)
        self._asked.set()
        assert self._listener is not None
        for obj in view.objects.values():
            self._listener(view, obj, None)


def _names(kind: CustomKind) -> Iterator[tuple[str, str]]:
    for version in kind.versions:
        yield f"{kind.group}/{version}", kind.name
