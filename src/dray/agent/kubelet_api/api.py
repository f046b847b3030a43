"""The endpoints of a node, for the API server that hands its clients through.

    GET /containerLogs/{namespace}/{pod}/{container}     the log, followed if asked to
    GET /exec/…/{container}, /attach/…/{container}       sessions, over websockets
    GET /portForward/{namespace}/{pod}                   ports, over a websocket
    GET /pods, /metrics, /healthz

Over TLS whoever asks must show a certificate of the cluster's authority that is the API server's,
or an administrator's: of one of the groups that may ask. Anybody may ask whether the node is well.
Refusals are plain text, as upstream has them. Without TLS nobody is asked who they are: for tests.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import aclosing
from typing import Final, Protocol

from cryptography import x509
from cryptography.x509.oid import NameOID

from dray.agent.kubelet_api.channels import choose_protocol, serve_session
from dray.agent.kubelet_api.directory_watch import DirectoryWatch
from dray.agent.kubelet_api.forwarding import PROTOCOL as FORWARDING
from dray.agent.kubelet_api.forwarding import parse_ports, serve_ports
from dray.agent.kubelet_api.log_options import LogOptions, parse_options
from dray.agent.kubelet_api.logs import read_log
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.runtime import Container, Runtime, SessionConfig
from dray.api.codec import encode
from dray.api.core import Pod
from dray.clock import Clock
from dray.errors import APIError, BadRequest, Forbidden, NotFound, Unauthorized, quote
from dray.http.limits import Limits
from dray.http.listener import Listener
from dray.http.messages import Answer, Channel, Request, Response, Stream, Upgrade, WebSocket

__all__ = ["CLIENT_GROUPS", "Authorize", "KubeletAPI", "Pods", "require_group"]

logger = logging.getLogger(__name__)

DEFAULT_PORT: Final = 10250

# Of the API server's certificate for nodes: upstream's own, and since 1.29 the one kubeadm makes.
CLIENT_GROUPS: Final = ("system:masters", "kubeadm:cluster-admins")

_TEXT: Final = (("Content-Type", "text/plain; charset=utf-8"),)
_LOG: Final = (("Content-Type", "text/plain"),)
_JSON: Final = (("Content-Type", "application/json"),)
_METRICS: Final = (("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),)

# What a client may leave unread before the log is read on.
UNREAD_BYTES_MAX: Final = 1024 * 1024
PAUSE_SECONDS: Final = 0.01

# Raises an APIError when whoever asks may not.
Authorize = Callable[[Request], None]


class Pods(Protocol):
    """Which pods the node has, those that are over among them."""

    def pods(self) -> Sequence[Pod]: ...


def require_group(accepted: Collection[str]) -> Authorize:
    """Whoever asks must have shown a certificate that puts them in one of these groups."""

    def authorize(request: Request) -> None:
        if request.peer.certificate is None:
            raise Unauthorized("Unauthorized")
        subject = x509.load_der_x509_certificate(request.peer.certificate).subject
        groups = [each.value for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        if not any(group in accepted for group in groups):
            names = [each.value for each in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
            user = str(names[0]) if names else ""
            raise Forbidden(f"Forbidden (user={user}, verb=get, resource=nodes, subresource=proxy)")

    return authorize


class KubeletAPI:
    """Serves the containers of a runtime."""

    def __init__(
        self,
        runtime: Runtime,
        pods: Pods,
        *,
        clock: Clock,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        tls: ssl.SSLContext | None = None,
        client_groups: Collection[str] = CLIENT_GROUPS,
        metrics: Callable[[], bytes] = lambda: b"",
        limits: Limits | None = None,
    ) -> None:
        """`tls` must know the authority of clients, of whom only `client_groups` may ask.

        `metrics` is their text form when asked.
        """
        self._runtime = runtime
        self._pods = pods
        self._clock = clock
        self._metrics = metrics
        self._authorize = None if tls is None else require_group(client_groups)
        self._watch = DirectoryWatch(clock)
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener = Listener(
            self._handle, clock=clock, host=host, port=port, ssl_context=tls, limits=limits
        )

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._listener.port

    async def start(self) -> None:
        """Listen. Raises ConfigurationError when the address cannot be had."""
        await self._listener.start()
        self._watch.open()

    async def stop(self, grace_seconds: float = 0.0) -> None:
        """Stop listening, and let go of whoever is connected."""
        await self._listener.stop(grace_seconds)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._watch.close()

    # Private --------------------------------------------------------------------------------------

    async def _handle(self, request: Request) -> Answer:
        try:
            return await self._answer(request)
        except APIError as error:
            return Response(error.code, _TEXT, f"{error.message}\n".encode())
        except RuntimeFailed as failure:
            return Response(500, _TEXT, f"{failure}\n".encode())

    async def _answer(self, request: Request) -> Answer:
        kind, *parts = request.path.strip("/").split("/")
        if kind == "healthz" and not parts:
            return Response(200, _TEXT, b"ok")
        if self._authorize is not None:
            self._authorize(request)
        if request.method != "GET":
            return Response(405, _TEXT, b"405: Method Not Allowed\n")
        if kind == "containerLogs" and len(parts) == 3:
            return await self._logs(request, *parts)
        if kind in ("exec", "attach") and len(parts) in (3, 4):
            # The UID may be between.
            return await self._session(request, kind, parts[0], parts[1], parts[-1])
        if kind == "portForward" and len(parts) in (2, 3):
            return await self._forward(request, parts[0], parts[1])
        if kind == "pods" and not parts:
            pods = [encode(pod) for pod in self._pods.pods()]
            body = b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[%b]}\n'
            return Response(200, _JSON, body % b",".join(pods))
        if kind == "metrics" and not parts:
            return Response(200, _METRICS, self._metrics())
        raise NotFound("404 page not found")

    async def _logs(self, request: Request, namespace: str, name: str, wanted: str) -> Answer:
        options = parse_options(request.query, self._clock)
        pod = self._pod(namespace, name)
        if wanted not in _container_names(pod):
            raise NotFound(f"container {quote(wanted)} not found in pod {quote(name)}")
        containers = await self._containers(pod, wanted)
        container = _choose(containers, pod, wanted, options)
        return self._stream(read_log(self._runtime, container, options, self._watch))

    async def _session(
        self, request: Request, kind: str, namespace: str, name: str, wanted: str
    ) -> Answer:
        pod = self._pod(namespace, name)
        containers = await self._containers(pod, wanted)
        if not containers:
            raise NotFound(f"container not found ({quote(wanted)})")
        config = _session_config(request, kind)
        protocol = choose_protocol(_offered(request))

        # Opened once somebody is there to close it; what goes wrong is told on its own channel.
        async def serve(socket: WebSocket) -> None:
            await serve_session(
                socket,
                lambda: self._runtime.open_session(containers[-1].id, config),
                config,
                protocol=protocol,
            )

        return Upgrade(serve, protocol)

    async def _forward(self, request: Request, namespace: str, name: str) -> Answer:
        pod = self._pod(namespace, name)
        ports = parse_ports(request.query)
        if FORWARDING not in [text.strip() for text in _offered(request).split(",")]:
            raise BadRequest(f"ports are forwarded over {FORWARDING} alone")
        sandboxes = [
            sandbox
            for sandbox in await self._runtime.list_sandboxes()
            if sandbox.pod.uid == pod.metadata.uid and sandbox.ready
        ]
        if not sandboxes:
            raise NotFound(f"pod not found ({quote(f'{name}_{namespace}')})")
        sandbox = max(sandboxes, key=lambda each: each.attempt)

        async def serve(socket: WebSocket) -> None:
            await serve_ports(socket, self._runtime, sandbox.id, ports)

        return Upgrade(serve, FORWARDING)

    def _pod(self, namespace: str, name: str) -> Pod:
        for pod in self._pods.pods():
            if (pod.metadata.namespace, pod.metadata.name) == (namespace, name):
                return pod
        raise NotFound(f"pod {quote(name)} does not exist")

    async def _containers(self, pod: Pod, name: str) -> list[Container]:
        """Those of this name that the pod has had, the latest last."""
        found = [
            container
            for container in await self._runtime.list_containers()
            if container.pod.uid == pod.metadata.uid and container.name == name
        ]
        return sorted(found, key=lambda each: each.attempt)

    def _stream(self, pieces: AsyncGenerator[bytes, None]) -> Stream:
        tasks: list[asyncio.Task[None]] = []

        def start(channel: Channel) -> None:
            task = asyncio.ensure_future(copy(channel))
            tasks.append(task)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        async def copy(channel: Channel) -> None:
            try:
                async with aclosing(pieces):
                    async for piece in pieces:
                        channel.write(piece)
                        while channel.buffered > UNREAD_BYTES_MAX:
                            await self._clock.sleep(PAUSE_SECONDS)
            except (OSError, RuntimeFailed):
                logger.exception("a log cannot be read any further")
                channel.abort()
                return
            tasks.clear()
            channel.close()

        def ended() -> None:
            for task in tasks:
                task.cancel()

        return Stream(200, _LOG, start, ended)


def _offered(request: Request) -> str:
    if request.headers.get("upgrade", "").lower() != "websocket":
        raise BadRequest("Upgrade request required")
    return request.headers.get("sec-websocket-protocol", "")


def _session_config(request: Request, kind: str) -> SessionConfig:
    """What a session is asked to be. Raises BadRequest."""
    query = request.query

    def is_on(name: str) -> bool:
        return any(value in ("1", "true") for value in query.get(name, ()))

    command = tuple(query.get("command", ())) if kind == "exec" else ()
    if kind == "exec" and not command:
        raise BadRequest("you must specify at least 1 command for the container")
    config = SessionConfig(
        command=command,
        stdin=is_on("input"),
        stdout=is_on("output"),
        stderr=is_on("error") and not is_on("tty"),
        tty=is_on("tty"),
    )
    if not (config.stdin or config.stdout or config.stderr):
        raise BadRequest("you must specify at least 1 of stdin, stdout, stderr")
    if not choose_protocol(_offered(request)):
        raise BadRequest("none of the subprotocols that are offered is spoken here")
    return config


def _container_names(pod: Pod) -> set[str]:
    spec = pod.spec
    return {
        container.name
        for container in (
            *(spec.containers or ()),
            *spec.init_containers,
            *spec.ephemeral_containers,
        )
    }


def _choose(
    containers: Sequence[Container], pod: Pod, wanted: str, options: LogOptions
) -> Container:
    """The one whose log is meant. Raises BadRequest, with upstream's words."""
    subject = f"container {quote(wanted)} in pod {quote(pod.metadata.name)}"
    begun = [each for each in containers if each.started_at is not None]
    waiting = _waiting_reason(pod, wanted)
    if options.previous:
        # Of one that waits to be started again, what ran last is the one before.
        ended = begun if waiting and begun and begun[-1].finished_at is not None else begun[:-1]
        if not ended:
            raise BadRequest(f"previous terminated {subject} not found")
        return ended[-1]
    if not begun:
        raise BadRequest(f"{subject} is waiting to start: {waiting or 'ContainerCreating'}")
    return begun[-1]


def _waiting_reason(pod: Pod, wanted: str) -> str:
    """Why the pod says that the container waits; "" if it does not."""
    status = pod.status
    for each in (
        *status.container_statuses,
        *status.init_container_statuses,
        *status.ephemeral_container_statuses,
    ):
        if each.name == wanted and each.state.waiting is not None:
            return each.state.waiting.reason or "ContainerCreating"
    return ""
