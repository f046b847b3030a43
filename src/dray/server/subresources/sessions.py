"""Sessions inside containers: exec, attach and port-forward, joined from client to node.

Only over websockets, which every client tries first; the older SPDY is not spoken. Upstream
counterparts: ExecREST, AttachREST and PortForwardREST in pkg/registry/core/pod/rest.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final, cast

from dray.api.core import Pod
from dray.errors import BadRequest
from dray.http.messages import Answer, Upgrade, WebSocket
from dray.server.admission.request import AdmissionRequest, Operation
from dray.server.call import Call
from dray.server.kubelet import NodePath, Nodes
from dray.server.rights import require_create
from dray.server.subresources.logs import container_of, node_of_pod, stored_pod
from dray.server.switches import is_on

__all__ = ["session_verb"]

# As clients call the streams, and as nodes do.
_STREAMS: Final = (("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty"))

# Carries a token where browsers cannot set headers; it is for us, not for the node.
_BEARER: Final = "base64url.bearer.authorization.k8s.io."


def session_verb(kind: str, nodes: Nodes) -> Callable[[Call], Coroutine[Any, Any, Answer]]:
    """What answers a request for exec, attach or portForward."""

    async def session(call: Call) -> Answer:
        # A websocket begins as a GET, but who may only read must not run commands.
        require_create(call)
        pod = stored_pod(call)
        path = _path(kind, call, pod)
        if not pod.spec.node_name:
            raise BadRequest(f"pod {pod.metadata.name} does not have a host assigned")
        node = node_of_pod(call, pod)
        _admit(call, pod)
        headers = call.request.headers
        upgrade = headers.get("upgrade", "").lower()
        if upgrade != "websocket":
            if upgrade.startswith("spdy/"):
                # What clients try when a websocket was refused, to tell what they hear last: so the
                # node may say again why. Asked plainly, it runs nothing.
                (await nodes.read(node, path)).close()
            raise BadRequest("Upgrade request required")
        offered = headers.get("sec-websocket-protocol", "").split(",")
        protocols = [name.strip() for name in offered if name.strip()]
        protocols = [name for name in protocols if not name.startswith(_BEARER)]
        protocol, join = await nodes.session(node, path, protocols)
        serve = cast("Callable[[WebSocket], Coroutine[Any, Any, None]]", join)
        return Upgrade(serve, protocol)

    return session


def _path(kind: str, call: Call, pod: Pod) -> NodePath:
    query = call.request.query
    namespace, name = pod.metadata.namespace, pod.metadata.name
    if kind == "portForward":
        ports = tuple(("port", port) for port in query.get("ports", ()))
        return NodePath(kind, (namespace, name), ports)
    container = container_of(call, pod)
    options = [("command", word) for word in query.get("command", ())]
    if kind == "exec" and not options:
        raise BadRequest("you must specify at least 1 command for the container")
    wanted = [(theirs, "1") for ours, theirs in _STREAMS if is_on(query, ours)]
    if not any(name != "tty" for name, _ in wanted):
        raise BadRequest("you must specify at least 1 of stdin, stdout, stderr")
    return NodePath(kind, (namespace, name, container), (*options, *wanted))


def _admit(call: Call, pod: Pod) -> None:
    request = AdmissionRequest(
        operation=Operation.CONNECT,
        resource=call.resource,
        user=call.user,
        namespace=call.namespace,
        name=pod.metadata.name,
        subresource=call.route.subresource,
        old=pod,
    )
    call.services.admission.validate(request)
