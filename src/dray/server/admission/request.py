"""What an admission plugin gets to see, and what it may do.

Plugins come in two passes over the same chain: first each may return a changed object (`admit`),
then, after the object was prepared and validated, each may refuse it (`validate`), raising the
APIError the client gets, or have something to say about it (`warn`). Objects are typed, at their
hub version; custom resources are Unstructured and only concern plugins that look at metadata alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol

import msgspec

from dray.api.meta import DeleteOptions
from dray.server.resources import Resource
from dray.server.user import User

__all__ = ["AdmissionRequest", "Operation", "Plugin"]


class Operation(Enum):
    """What is about to happen to the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"

    # There is one of each; Enum's own is a function in Python, and what concerns whom is looked up
    # several times in a request.
    __hash__ = object.__hash__


class AdmissionRequest(msgspec.Struct, frozen=True):
    """A write on its way to the store. A struct: there are several of every write."""

    operation: Operation
    resource: Resource
    user: User
    namespace: str = ""
    name: str = ""  # empty when the name is yet to be generated
    subresource: str = ""
    dry_run: bool = False
    # Typed hub objects (or the subresource's own body: Binding, Eviction, TokenRequest, Scale).
    # `object` is None on DELETE, `old` is None on CREATE.
    object: Any = None
    old: Any = None
    delete_options: DeleteOptions | None = None

    def with_object(self, obj: Any) -> AdmissionRequest:
        """The same request for another object."""
        return msgspec.structs.replace(self, object=obj)


class Plugin(Protocol):
    """One admission plugin; every method may be left as it is inherited.

    Plugins derive from this class: what one leaves as it is, the chain does not call.
    """

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Whether requests of this sort are for this plugin. Asked once per sort, not per request.

        Only these are handed to the other methods.
        """
        del resource, subresource, operation
        return True

    def admit(self, request: AdmissionRequest) -> Any:
        """The object to go on with; `request.object` if there is nothing to change."""
        return request.object

    def validate(self, request: AdmissionRequest) -> None:
        """Raise an APIError to refuse."""
        del request

    def warn(self, request: AdmissionRequest) -> Sequence[str]:
        """What to tell the client of a write that was let through."""
        del request
        return ()
