"""The logs of a pod's container, handed through from its node.

Upstream counterpart: LogREST in pkg/registry/core/pod/rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

from dray.api.core import Node, Pod
from dray.api.wire import Time
from dray.errors import (
    APIError,
    BadRequest,
    FieldError,
    FieldErrorType,
    Invalid,
    NotFound,
    ParseError,
    StatusDetails,
    quote,
)
from dray.http.messages import Answer, Channel, Response, Stream
from dray.server.call import Call
from dray.server.kubelet import NodePath, Nodes, Pieces
from dray.server.refusals import not_found
from dray.server.switches import is_on

__all__ = ["container_of", "log_verb", "node_of_pod", "stored_pod"]

_TEXT: Final = (("Content-Type", "text/plain"), ("Cache-Control", "no-cache, private"))

# What a client may leave unread before the node is asked for less.
_UNREAD_BYTES_MAX: Final = 1024 * 1024
_PAUSE_SECONDS: Final = 0.01

# The runtime of nodes that dray simulates, on which nobody could be asked.
_SIMULATED: Final = "memory://"

_FLAGS: Final = ("follow", "previous", "timestamps")
_NUMBERS: Final = ("sinceSeconds", "tailLines", "limitBytes")


def log_verb(nodes: Nodes) -> Callable[[Call], Coroutine[Any, Any, Answer]]:
    """What answers a request for logs."""

    async def log(call: Call) -> Answer:
        pod = stored_pod(call)
        query = _options(call)
        container = container_of(call, pod)
        if not pod.spec.node_name:
            return Response(204)
        node = node_of_pod(call, pod)
        namespace, name = pod.metadata.namespace, pod.metadata.name
        path = NodePath("containerLogs", (namespace, name, container), tuple(query))
        pieces = await nodes.read(node, path)
        return _stream(call, pieces)

    return log


def stored_pod(call: Call) -> Pod:
    """The pod of the path. Raises NotFound."""
    record = call.services.store.get(call.key())
    if record is None:
        raise not_found(call.resource, call.route.name)
    pod: Pod = call.model.load(record.value, record.revision)
    return pod


def node_of_pod(call: Call, pod: Pod) -> Node:
    """The node the pod runs on. Raises NotFound, or BadRequest if nothing runs there."""
    name = pod.spec.node_name
    node = call.services.state.get(Node, name)
    if node is None:
        raise NotFound(f"nodes {quote(name)} not found", StatusDetails(name=name, kind="nodes"))
    if node.status.node_info.container_runtime_version.startswith(_SIMULATED):
        raise BadRequest(
            f"node {name} is simulated (runtime memory): containers of pod {pod.metadata.name} "
            "only seem to run there, and have neither logs nor sessions nor ports; run the pod on "
            "a node with the runtime process or cri, as nodes of dray up have without --nodes"
        )
    return node


def container_of(call: Call, pod: Pod) -> str:
    """The container that is meant: the one named, or the only one. Raises BadRequest."""
    wanted = _first(call.request.query, "container")
    name = pod.metadata.name
    names = [container.name for container in pod.spec.containers or ()]
    initial = [container.name for container in pod.spec.init_containers]
    ephemeral = [container.name for container in pod.spec.ephemeral_containers]
    if wanted:
        if wanted not in (*names, *initial, *ephemeral):
            raise BadRequest(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(names) == 1:
        return names[0]
    told = f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
    if initial:
        told += f" or one of the init containers: [{' '.join(initial)}]"
    if ephemeral:
        told += f" or one of the ephemeral containers: [{' '.join(ephemeral)}]"
    raise BadRequest(told)


def _first(query: Mapping[str, Sequence[str]], name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _options(call: Call) -> list[tuple[str, str]]:
    """The query for the node. Raises Invalid, BadRequest."""
    query = call.request.query
    options = [(flag, "true") for flag in _FLAGS if is_on(query, flag)]
    numbers: dict[str, int] = {}
    for name in _NUMBERS:
        text = _first(query, name)
        if text:
            try:
                numbers[name] = int(text)
            except ValueError:
                told = f"strconv.ParseInt: parsing {quote(text)}: invalid syntax"
                raise BadRequest(told) from None
    since = _first(query, "sinceTime")
    errors = _check(numbers, since)
    if errors:
        raise Invalid("", "PodLogOptions", call.route.name, errors)
    options += [(name, str(number)) for name, number in numbers.items()]
    if since:
        options.append(("sinceTime", str(_time(since))))
    return options


def _check(numbers: Mapping[str, int], since: str) -> list[FieldError]:
    errors = []
    if since and "sinceSeconds" in numbers:
        told = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        errors.append(FieldError(FieldErrorType.FORBIDDEN, "[]", None, told))
    for name, least, rule in (
        ("tailLines", 0, "must be greater than or equal to 0"),
        ("limitBytes", 1, "must be greater than 0"),
        ("sinceSeconds", 1, "must be greater than 0"),
    ):
        number = numbers.get(name)
        if number is not None and number < least:
            errors.append(FieldError(FieldErrorType.INVALID, name, number, rule))
    return errors


def _time(text: str) -> Time:
    try:
        return Time.parse(text)
    except ParseError as error:
        raise BadRequest(f"sinceTime: {error}") from error


def _stream(call: Call, pieces: Pieces) -> Stream:
    clock = call.services.clock
    tasks: list[asyncio.Task[None]] = []

    def start(channel: Channel) -> None:
        tasks.append(asyncio.ensure_future(copy(channel)))

    async def copy(channel: Channel) -> None:
        try:
            async for piece in pieces:
                channel.write(piece)
                while channel.buffered > _UNREAD_BYTES_MAX:
                    await clock.sleep(_PAUSE_SECONDS)
        except APIError:
            channel.abort()
            return
        channel.close()

    def ended() -> None:
        pieces.close()
        for task in tasks:
            task.cancel()

    return Stream(200, _TEXT, start, ended)
