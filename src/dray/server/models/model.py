"""The face of a kind to the verbs: read it, prepare it, judge it, write it.

An object is a struct with typed metadata, at its kind's hub version; of built-in kinds the rest is
typed too, of custom ones it is what the client sent. Stored, an object is JSON that starts with its
metadata and leaves out what the place where it is stored says anyway: apiVersion, kind and
resourceVersion. So an answer is made by writing those in front, without looking at the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from dray.api.features import FeatureGates
from dray.api.meta import Object
from dray.api.schema import StructOf
from dray.api.strategy import Strategy
from dray.api.wire import Time
from dray.errors import FieldError
from dray.server.resources import Resource

__all__ = ["STORED_START", "Circumstances", "Model", "Reading", "shown"]

# How every stored value begins.
STORED_START: Final = b'{"metadata":{'


class Reading(msgspec.Struct, frozen=True):
    """What a body says: an object with its defaults, and what strictness holds against it."""

    object: Any
    problems: tuple[str, ...] = ()


class Circumstances(msgspec.Struct, frozen=True):
    """What preparing and judging may depend on besides the objects."""

    gates: FeatureGates
    now: Time
    resource: Resource  # as the request named it: some errors speak its version's language


class Model(Protocol):
    """How objects of one kind behave."""

    @property
    def traits(self) -> Strategy:
        """The server's switches for this kind."""
        ...

    def versions(self) -> Sequence[str]:
        """All versions there are of the kind, served or not."""
        ...

    def schema(self, version: str) -> StructOf | None:
        """The shape at a version, or None if there is no such version."""
        ...

    def read(
        self,
        body: bytes | Mapping[str, Any],
        resource: Resource,
        now: Time,
        *,
        encoded: bool = False,
    ) -> Reading:
        """The object in a body written at the resource's version. Raises BadRequest.

        `encoded` says that our own encoder wrote it: without white space, and no member twice.
        """
        ...

    def load(self, value: bytes, revision: int) -> Any:
        """The object in a stored value."""
        ...

    def remember(self, obj: Any, value: bytes, revision: int) -> None:
        """Be told what was stored as this value, so that loading it can be quicker."""
        ...

    def store(self, obj: Any) -> bytes:
        """The stored form of an object."""
        ...

    def document(self, obj: Any, version: str) -> dict[str, Any]:
        """The object as JSON values at a version, fresh ones at every call."""
        ...

    def show(self, value: bytes, revision: int, resource: Resource, *, typed: bool = True) -> bytes:
        """A stored value as a client of this resource sees it; `typed` says its kind."""
        ...

    def prepare_create(self, new: Any, circumstances: Circumstances) -> Any:
        """The object as it is to be created: without what clients may not decide."""
        ...

    def prepare_update(
        self, new: Any, old: Any, circumstances: Circumstances, *, subresource: str = ""
    ) -> Any:
        """The object as it is to replace the stored one, written through this subresource."""
        ...

    def validate_create(self, new: Any, circumstances: Circumstances) -> Sequence[FieldError]:
        """All that is wrong with a new object."""
        ...

    def validate_update(
        self, new: Any, old: Any, circumstances: Circumstances, *, subresource: str = ""
    ) -> Sequence[FieldError]:
        """All that is wrong with a change."""
        ...

    def warnings(self, new: Any, old: Any | None) -> Sequence[str]:
        """What the author of a valid object should hear all the same."""
        ...

    def new(self) -> Object:
        """An object with nothing in it."""
        ...


def shown(value: bytes, revision: int, head: bytes) -> bytes:
    """A stored value behind a head like `{"kind":"Pod","apiVersion":"v1","metadata":{`.

    Metadata is never empty, so a comma always follows the revision. Without one (0) the object was
    never stored, as on a dry run.
    """
    if not revision:
        return head + value[len(STORED_START) :]
    return b'%s"resourceVersion":"%d",%s' % (head, revision, value[len(STORED_START) :])
