"""Whether the owners that an object names are there.

Our view of an owner may lag behind, so only finding it there is an answer; what it does not have is
asked of the server, and what the server does not have either is remembered for a while. An owner is
looked for where its dependent is, under the name, kind and UID of the reference: another object by
that name is not the owner, nor is one in another namespace. Upstream counterpart: isDangling and
absentOwnerCache of the garbage collector.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum
from typing import Final

from dray.api.meta import Object, OwnerReference
from dray.client import Client
from dray.controllers.garbage_collection.views import View, Views
from dray.errors import NotFound

__all__ = ["FINALIZER_FOREGROUND", "FINALIZER_ORPHAN", "Owners", "Standing", "waits_for_dependents"]

FINALIZER_ORPHAN: Final = "orphan"
FINALIZER_FOREGROUND: Final = "foregroundDeletion"

# Upstream's. An owner's dependents are looked at soon after it is gone.
ABSENT_MAX: Final = 500

_Absent = tuple[str, str, str, str]  # resource, namespace, name, UID


class Standing(Enum):
    """What an owner is to its dependents."""

    SOLID = "it is there"
    WAITING = "it is being deleted, and waits for its dependents to go first"
    ABSENT = "it is not there"
    UNKNOWN = "its kind is not served"
    IMPOSSIBLE = "its kind is in a namespace, and the dependent is not"


def waits_for_dependents(obj: Object) -> bool:
    """Whether an object is being deleted in the foreground."""
    metadata = obj.metadata
    return metadata.deletion_timestamp is not None and FINALIZER_FOREGROUND in metadata.finalizers


class Owners:
    """Looks owners up."""

    def __init__(self, views: Views, client: Client) -> None:
        self._views = views
        self._client = client
        self._absent: OrderedDict[_Absent, None] = OrderedDict()

    def find(self, reference: OwnerReference, namespace: str) -> tuple[View, Object] | None:
        """The owner, if our view has it."""
        view = self._views.of_reference(reference)
        if view is None:
            return None
        found = view.objects.get(reference.name, namespace if view.namespaced else "")
        if found is None or found.metadata.uid != reference.uid:
            return None
        return view, found

    async def standing(self, reference: OwnerReference, namespace: str) -> Standing:
        """What the owner is to a dependent in a namespace. Asks the server if need be."""
        view = self._views.of_reference(reference)
        if view is None:
            return Standing.UNKNOWN
        if view.namespaced and not namespace:
            return Standing.IMPOSSIBLE
        found = self.find(reference, namespace)
        if found is not None:
            return Standing.WAITING if waits_for_dependents(found[1]) else Standing.SOLID
        where = namespace if view.namespaced else ""
        absent = (view.resource, where, reference.name, reference.uid)
        if absent in self._absent:
            return Standing.ABSENT
        try:
            owner = await self._client.get(view.type, reference.name, namespace=where)
        except NotFound:
            owner = None
        if owner is None or owner.metadata.uid != reference.uid:
            self._remember(absent)
            return Standing.ABSENT
        return Standing.WAITING if waits_for_dependents(owner) else Standing.SOLID

    def is_elsewhere(self, reference: OwnerReference, namespace: str) -> bool:
        """Whether the owner is in another namespace than its dependent, which does not count."""
        view = self._views.of_reference(reference)
        # All objects of the kind are looked at: references are seldom wrong in this way.
        return view is not None and any(
            obj.metadata.uid == reference.uid and obj.metadata.namespace != namespace
            for obj in view.objects.values()
        )

    def is_known_absent(self, reference: OwnerReference, namespace: str) -> bool:
        """Whether the owner was found absent not long ago."""
        view = self._views.of_reference(reference)
        if view is None:
            return False
        where = namespace if view.namespaced else ""
        return (view.resource, where, reference.name, reference.uid) in self._absent

    def gone(self, view: View, owner: Object) -> None:
        """An owner was deleted: its dependents need not ask."""
        metadata = owner.metadata
        self._remember((view.resource, metadata.namespace, metadata.name, metadata.uid))

    def _remember(self, absent: _Absent) -> None:
        self._absent[absent] = None
        self._absent.move_to_end(absent)
        if len(self._absent) > ABSENT_MAX:
            self._absent.popitem(last=False)
