"""The server as its own client: what it writes to keep things in order.

Its writes go the way of everybody's: admission, rules, owners of fields. Only authorization is left
out, since nobody sent them.
"""

from __future__ import annotations

from typing import Any

from dray.api.defaults import default
from dray.api.meta import DeleteOptions, Object
from dray.errors import InternalError
from dray.http.messages import Peer, Request
from dray.server.call import Call
from dray.server.deletion import delete_object
from dray.server.negotiation import Media
from dray.server.options import WriteOptions
from dray.server.refusals import not_found
from dray.server.registry import Served
from dray.server.routing import Route
from dray.server.services import Services
from dray.server.user import SYSTEM
from dray.server.writing import create_object, replace_object

__all__ = ["Internal", "internal_call"]

_REQUEST = Request("POST", "/", {}, {"user-agent": "dray"}, b"", Peer("internal"))
_OPTIONS = WriteOptions(manager="dray")


class Internal:
    """Writes of the server itself."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._served: dict[type[Object], Served] = {}
        for served in services.registry.served():
            if served.kind is not None and served.resource.version == served.kind.hub.name:
                self._served[served.kind.hub.type] = served

    async def create(self, obj: Object) -> None:
        """Store a new object. Raises AlreadyExists."""
        call = self._call("create", obj)
        now = call.now()
        await create_object(call, default(obj, now=now), _OPTIONS, now)

    async def update(self, obj: Any) -> None:
        """Store an object in place of the one of its name. Raises NotFound, Conflict."""
        call = self._call("update", obj)
        record = self._services.store.head(call.key())
        if record is None:
            raise not_found(call.resource, obj.metadata.name)
        await replace_object(call, record, lambda _old: obj, _OPTIONS, call.now())

    async def delete(self, obj: Object) -> None:
        """Remove an object, if it is still there."""
        call = self._call("delete", obj)
        record = self._services.store.head(call.key())
        if record is not None:
            await delete_object(call, record, DeleteOptions(), call.now())

    def _call(self, verb: str, obj: Object) -> Call:
        served = self._served.get(type(obj))
        if served is None:
            raise InternalError(f"{type(obj).__name__} is not served")
        metadata = obj.metadata
        return internal_call(
            self._services, served, verb, name=metadata.name, namespace=metadata.namespace
        )


def internal_call(
    services: Services,
    served: Served,
    verb: str,
    *,
    name: str,
    namespace: str = "",
    subresource: str = "",
) -> Call:
    """A request of the server to itself, as verbs get it."""
    resource = served.resource
    where = Route(
        verb=verb,
        path="/",
        group=resource.group,
        version=resource.version,
        resource=resource.plural,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )
    return Call(services, _REQUEST, where, SYSTEM, served, Media())
