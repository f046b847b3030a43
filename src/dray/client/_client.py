"""Typed objects over a transport: what kubectl's verbs are to Kubernetes, as Python calls.

Objects go in and come out at the newest version of their kind. Kinds that a server may have in
older versions only (resource.k8s.io) are asked for in each until one is served, which is then
remembered. Patches are sent as they are: who patches parts whose shape differs between versions
(a request's `exactly`) does so on servers that have the newest.

Refusals arrive as the classes of dray.errors, everything else that goes wrong as TransportError.
A server that is too busy and says when to come back is asked again, a bounded number of times and
only where asking twice is the same as asking once. Upstream counterpart: client-go's typed clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from dray import __version__
from dray.api.codec import encode
from dray.api.meta import DeleteOptions, Object, Preconditions
from dray.api.scheme import Kind, Version
from dray.api.wire import Struct, replace
from dray.client._answers import (
    TURN_OBJECTS,
    error_of,
    is_unserved,
    read_list,
    read_object,
    read_struct,
    retry_after_seconds,
)
from dray.client._resources import check_name, namespace_for, path_of, resource_of
from dray.client._transport import Call, Reply, StreamedReply, Transport
from dray.client._watch import Events, WatchEvent
from dray.clock import Clock, within
from dray.entropy import Entropy
from dray.errors import Expired, TransportError
from dray.http.messages import Header

__all__ = ["Client", "Listing", "PatchType"]

# Upstream's page: a few megabytes of pods.
PAGE_SIZE: Final = 500

# How long a watch lasts before the server ends it and another begins: upstream's range, from which
# each is drawn, so that not all end at once; the middle of it where there is nothing to draw from.
WATCH_SECONDS_MIN: Final = 300
WATCH_SECONDS_MAX: Final = 600

# How often a busy server is asked again, and how long it may make us wait each time: beyond it,
# the caller knows better what to do.
BUSY_RETRIES_MAX: Final = 5
BUSY_SECONDS_MAX: Final = 30

# An error page, or a Status with hundreds of causes.
ERROR_BYTES_MAX: Final = 1024 * 1024
ERROR_SECONDS: Final = 30.0

T = TypeVar("T", bound=Object)
R = TypeVar("R", bound=Struct)

_Query = tuple[tuple[str, str], ...]


class PatchType(Enum):
    """How a patch is to be read; the value is its media type."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """All objects that matched, and the resourceVersion to watch from."""

    items: tuple[T, ...]
    resource_version: str


class Client:
    """The API of one server, as one user."""

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock,
        entropy: Entropy | None = None,
        field_manager: str = "dray",
    ) -> None:
        """`field_manager` is who owns the fields that this client writes."""
        self._transport = transport
        self._clock = clock
        self._entropy = entropy
        self._field_manager = field_manager
        # Versions in the order in which they are tried, the one that was served last first.
        self._versions: dict[Kind, tuple[Version, ...]] = {}

    async def get(self, kind: type[T], name: str, *, namespace: str = "") -> T:
        """One object. Raises NotFound."""
        return await self._do(_Task(resource_of(kind), "GET", namespace, name), kind)

    async def list(
        self,
        kind: type[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        page_size: int = PAGE_SIZE,
    ) -> Listing[T]:
        """All objects that match, of all namespaces unless one is named.

        They are read in pages, and are as they were at one moment. A server that has forgotten that
        moment before the last page is asked for everything at once.
        """
        resource = resource_of(kind)
        selectors = _present(labelSelector=label_selector, fieldSelector=field_selector)
        items: list[T] = []
        token, limit = "", page_size
        while True:
            asked = _present(
                resourceVersion="" if token else resource_version,
                limit=str(limit) if limit else "",
                **{"continue": token},
            )
            task = _Task(resource, "GET", namespace, query=(*selectors, *asked), collection=True)
            try:
                reply, version, call = await self._send(task)
            except Expired:
                if not token:
                    raise
                items, token, limit = [], "", 0
                continue
            page, metadata = await read_list(reply.body, resource, version, call)
            items += page
            token = metadata.continue_
            if not token:
                return Listing(tuple(items), metadata.resource_version)

    async def watch(
        self,
        kind: type[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        bookmarks: bool = True,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """What happens to matching objects from a resourceVersion on; without one, what is there.

        Ends when the server ends it, which it is asked to do after a few minutes. Raises Expired
        once the resourceVersion is no longer known: list again. A caller that leaves early closes
        the generator (contextlib.aclosing), or lets go of it.
        """
        query = _present(
            watch="true",
            allowWatchBookmarks="true" if bookmarks else "",
            labelSelector=label_selector,
            fieldSelector=field_selector,
            resourceVersion=resource_version,
            timeoutSeconds=str(self._watch_seconds()),
        )
        resource = resource_of(kind)
        task = _Task(resource, "GET", namespace, query=query, collection=True)
        stream, version, call = await self._open(task)
        try:
            events = Events(resource, version, call)
            while chunk := await stream.read():
                for count, event in enumerate(events.feed(chunk), 1):
                    yield event
                    if count % TURN_OBJECTS == 0:
                        await asyncio.sleep(0)
            events.finish()
        finally:
            stream.close()

    async def create(self, obj: T) -> T:
        """The object as it was stored. Raises AlreadyExists, Invalid."""
        task = _Task(
            resource_of(type(obj)),
            "POST",
            obj.metadata.namespace,
            query=self._managed(),
            body=obj,
            collection=True,
        )
        return await self._do(task, type(obj))

    async def update(self, obj: T, *, subresource: str = "") -> T:
        """Replace an object. With a resourceVersion in it: raises Conflict if it has changed."""
        return await self._put(obj, subresource)

    async def update_status(self, obj: T) -> T:
        """Replace the status of an object and nothing else."""
        return await self._put(obj, "status")

    async def patch(
        self,
        kind: type[T],
        name: str,
        patch: Any,
        *,
        namespace: str = "",
        type: PatchType = PatchType.MERGE,  # noqa: A002 - kubectl's word
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
    ) -> T:
        """Change part of an object. The patch is a JSON value, a struct, or the bytes of either."""
        query = self._managed(field_manager)
        task = _Task(
            resource_of(kind),
            "PATCH",
            namespace,
            name,
            subresource,
            query=(*query, ("force", "true")) if force else query,
            body=patch if isinstance(patch, bytes) else encode(patch),
            content_type=type.value,
        )
        return await self._do(task, kind)

    async def apply(
        self, obj: T, *, subresource: str = "", field_manager: str = "", force: bool = True
    ) -> T:
        """Server-side apply: create an object, or make the fields that are set in it what they are.

        Fields that this manager set before and that are no longer in the object are removed.
        """
        metadata = obj.metadata
        if metadata.managed_fields:  # the server's own notes, which it refuses to be told
            obj = replace(obj, metadata=replace(metadata, managed_fields=()))
        query = self._managed(field_manager)
        task = _Task(
            resource_of(type(obj)),
            "PATCH",
            metadata.namespace,
            metadata.name,
            subresource,
            query=(*query, ("force", "true")) if force else query,
            body=obj,
            content_type=PatchType.APPLY.value,
        )
        return await self._do(task, type(obj))

    async def delete(
        self,
        kind: type[T],
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        resource_version: str = "",
        grace_period_seconds: int | None = None,
        propagation_policy: str = "",
    ) -> None:
        """Delete an object; given a uid or resourceVersion, raises Conflict if it has another."""
        preconditions = Preconditions(uid=uid or None, resource_version=resource_version or None)
        options = DeleteOptions(
            api_version="v1",
            kind="DeleteOptions",
            grace_period_seconds=grace_period_seconds,
            preconditions=preconditions if uid or resource_version else None,
            propagation_policy=propagation_policy or None,
        )
        task = _Task(resource_of(kind), "DELETE", namespace, name, body=encode(options))
        await self._send(task)

    async def delete_collection(
        self,
        kind: type[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        propagation_policy: str = "",
    ) -> None:
        """Delete all objects that match, of one namespace where the kind has namespaces."""
        query = _present(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            propagationPolicy=propagation_policy,
        )
        task = _Task(resource_of(kind), "DELETE", namespace, query=query, collection=True)
        namespace_for(task.kind, namespace, required=True)
        await self._send(task)

    async def create_subresource(
        self,
        kind: type[Object],
        name: str,
        subresource: str,
        body: Object,
        result: type[R],
        *,
        namespace: str = "",
    ) -> R:
        """What a subresource answers to a request of its own kind: token, eviction, binding."""
        task = _Task(
            resource_of(kind),
            "POST",
            namespace,
            name,
            subresource,
            query=self._managed(),
            body=encode(body),
        )
        reply, _version, call = await self._send(task)
        return read_struct(reply.body, result, call)

    async def close(self) -> None:
        """Close the transport. Watches that are running end with a TransportError."""
        await self._transport.close()

    # Private -----------------------------------------------------------------------------------

    async def _put(self, obj: T, subresource: str) -> T:
        metadata = obj.metadata
        task = _Task(
            resource_of(type(obj)),
            "PUT",
            metadata.namespace,
            metadata.name,
            subresource,
            query=self._managed(),
            body=obj,
        )
        return await self._do(task, type(obj))

    def _watch_seconds(self) -> int:
        if self._entropy is None:
            return (WATCH_SECONDS_MIN + WATCH_SECONDS_MAX) // 2
        return int(self._entropy.uniform(WATCH_SECONDS_MIN, WATCH_SECONDS_MAX))

    def _managed(self, field_manager: str = "") -> _Query:
        return (("fieldManager", field_manager or self._field_manager),)

    async def _do(self, task: _Task, kind: type[T]) -> T:
        reply, version, call = await self._send(task)
        obj = read_object(reply.body, task.kind, version, call)
        assert isinstance(obj, kind)
        return obj

    async def _send(self, task: _Task) -> tuple[Reply, Version, Call]:
        """The successful reply. Raises the error that any other stands for."""
        refused: tuple[Call, Reply] | None = None
        for version in self._candidates(task.kind):
            call = task.call(version)
            reply = await self._patiently(call)
            if 200 <= reply.status < 300:
                self._remember(task.kind, version)
                return reply, version, call
            refused = refused or (call, reply)
            if not is_unserved(reply):
                refused = (call, reply)
                break
        assert refused is not None
        raise error_of(*refused)

    async def _patiently(self, call: Call) -> Reply:
        """The reply of a server that may have been busy before."""
        reply = await self._transport.request(call)
        for _retry in range(BUSY_RETRIES_MAX):
            if reply.status not in _BUSY or call.method not in _IDEMPOTENT:
                break
            seconds = retry_after_seconds(reply)
            if not 0 < seconds <= BUSY_SECONDS_MAX:
                break
            await self._clock.sleep(seconds)
            reply = await self._transport.request(call)
        return reply

    async def _open(self, task: _Task) -> tuple[StreamedReply, Version, Call]:
        refused: tuple[Call, Reply] | None = None
        for version in self._candidates(task.kind):
            call = task.call(version)
            stream = await self._patient_stream(call)
            if stream.status == 200:
                self._remember(task.kind, version)
                return stream, version, call
            reply = await self._whole(stream, call)
            refused = refused or (call, reply)
            if not is_unserved(reply):
                refused = (call, reply)
                break
        assert refused is not None
        raise error_of(*refused)

    async def _patient_stream(self, call: Call) -> StreamedReply:
        stream = await self._transport.stream(call)
        for _retry in range(BUSY_RETRIES_MAX):
            seconds = retry_after_seconds(stream) if stream.status in _BUSY else 0
            if not 0 < seconds <= BUSY_SECONDS_MAX:
                break
            stream.close()
            await self._clock.sleep(seconds)
            stream = await self._transport.stream(call)
        return stream

    async def _whole(self, stream: StreamedReply, call: Call) -> Reply:
        """An answer that turned out not to be a stream."""
        try:
            return await within(self._clock, ERROR_SECONDS, _read_all(stream, call))
        except TimeoutError as error:
            told = f"an answer of {stream.status} that is not whole after {ERROR_SECONDS:g} s"
            raise TransportError(f"{call}: {told}") from error
        finally:
            stream.close()

    def _candidates(self, kind: Kind) -> Sequence[Version]:
        return self._versions.get(kind, kind.versions)

    def _remember(self, kind: Kind, version: Version) -> None:
        if self._candidates(kind)[0] is not version:
            others = (each for each in kind.versions if each is not version)
            self._versions[kind] = (version, *others)


_BUSY: Final = frozenset({429, 503})
_IDEMPOTENT: Final = frozenset({"GET", "PUT", "DELETE"})

_ACCEPT: Final[Header] = ("accept", "application/json")
_USER_AGENT: Final[Header] = ("user-agent", f"dray/{__version__}")
_HEADERS: Final[tuple[Header, ...]] = (_ACCEPT, _USER_AGENT)


@dataclass(frozen=True, slots=True)
class _Task:
    """A request before it is known in which version it is made."""

    kind: Kind
    method: str
    namespace: str
    name: str = ""
    subresource: str = ""
    query: _Query = ()
    body: Object | bytes = b""  # an object is converted, bytes are not
    content_type: str = "application/json"
    collection: bool = False

    def call(self, version: Version) -> Call:
        kind = self.kind
        if not self.collection:
            check_name(kind, self.name)
        required = not self.collection or self.method == "POST"
        namespace = namespace_for(kind, self.namespace, required=required)
        path = path_of(
            kind, version, namespace=namespace, name=self.name, subresource=self.subresource
        )
        body = self.body if isinstance(self.body, bytes) else _encoded(self.body, kind, version)
        headers = (*_HEADERS, ("content-type", self.content_type)) if body else _HEADERS
        return Call(self.method, path, self.query, headers, body)


def _encoded(obj: Object, kind: Kind, version: Version) -> bytes:
    api_version = kind.api_version(version.name)
    if version.from_hub is not None:
        obj = version.from_hub(obj)
    if obj.api_version != api_version or obj.kind != kind.name:
        obj = replace(obj, api_version=api_version, kind=kind.name)
    return encode(obj)


async def _read_all(stream: StreamedReply, call: Call) -> Reply:
    parts: list[bytes] = []
    size = 0
    while chunk := await stream.read():
        parts.append(chunk)
        size += len(chunk)
        if size > ERROR_BYTES_MAX:
            raise TransportError(f"{call}: an answer of {stream.status} that does not end")
    return Reply(stream.status, stream.headers, b"".join(parts))


def _present(**parameters: str) -> _Query:
    return tuple((name, value) for name, value in parameters.items() if value)
