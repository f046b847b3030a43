"""A whole server in the process of the test: no socket, a clock that stands still, seeded chance.

Requests go straight to the application, and so through authentication, authorization, admission and
rules. Time passes when a test says so; tasks of the server run while a test lets them (`settle`).
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec
from urllib.parse import parse_qs, unquote, urlsplit

from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.entropy import SeededEntropy
from dray.errors import APIError
from dray.http.chunks import unframe
from dray.http.messages import Answer, Peer, Request, Response, Stream
from dray.server.bootstrap import bootstrap
from dray.server.call import Call
from dray.server.internal import Internal
from dray.server.negotiation import DOCUMENTS, Media, negotiate
from dray.server.routing import route
from dray.server.server import Server, Settings
from dray.server.user import SYSTEM, User
from dray.store.memory import MemoryStore
from dray.store.sqlite import SQLiteStore
from dray.store.store import Event, Store
from dray.testing import FakeClock

P = ParamSpec("P")

JSON = {"content-type": "application/json"}
MERGE = {"content-type": "application/merge-patch+json"}
STRATEGIC = {"content-type": "application/strategic-merge-patch+json"}
JSON_PATCH = {"content-type": "application/json-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
METADATA = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
NAMESPACES = "/api/v1/namespaces"

_TOKEN = "token-of-the-administrator"
_ADMIN = {"authorization": f"Bearer {_TOKEN}"}
_PEER = Peer("192.0.2.1:4711")

# More turns of the loop than anything a test starts needs to come to rest.
_TURNS = 50


@cache
def secrets_directory() -> Path:
    """Keys and certificates, made once: they are what takes time."""
    directory = tempfile.TemporaryDirectory()
    atexit.register(directory.cleanup)
    path = Path(directory.name)
    tokens = path / "tokens.csv"
    tokens.write_text(f'{_TOKEN},admin,1,"system:masters"\n')
    tokens.chmod(0o600)
    return path


def durable_store() -> Store:
    """A store on disk: writes take their time, and others come in between."""
    path = Path(tempfile.mkdtemp(dir=secrets_directory()))
    return SQLiteStore.open(path / "test.db")


@dataclass(frozen=True)
class Reply:
    """An answer that is ready."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def message(self) -> str:
        said: str = self.json["message"]
        return said

    @property
    def warnings(self) -> list[str]:
        return [value for name, value in self.headers if name == "Warning"]

    @property
    def revision(self) -> int:
        return int(self.json["metadata"]["resourceVersion"])

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.json["items"]]

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


@dataclass
class Wire:
    """The client's end of a stream: keeps what it is sent, and reads as slowly as it is told."""

    data: bytearray = field(default_factory=bytearray)
    unread_bytes: int = 0
    closed: bool = False
    aborted: bool = False

    def write(self, data: bytes) -> None:
        if not self.closed and not self.aborted:
            self.data += data

    def write_framed(self, chunk: bytes) -> None:
        self.write(unframe(chunk))

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    @property
    def buffered(self) -> int:
        return self.unread_bytes


class Watch:
    """A running watch, and what it has said."""

    def __init__(self, stream: Stream, wire: Wire) -> None:
        self.stream = stream
        self.wire = wire

    @property
    def events(self) -> list[Any]:
        return [json.loads(line) for line in bytes(self.wire.data).splitlines()]

    @property
    def told(self) -> list[tuple[str, str]]:
        """Types and names."""
        return [
            (event["type"], event["object"]["metadata"].get("name", "")) for event in self.events
        ]

    def leave(self) -> None:
        """The client goes away."""
        self.stream.ended()


class Api:
    """A server, and a client that may do everything and be anybody."""

    def __init__(self, server: Server, store: Store, clock: FakeClock) -> None:
        self.server = server
        self.store = store
        self.clock = clock

    async def answer(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        user: User | None = None,
        anonymous: bool = False,
    ) -> Answer:
        """What the server answers. A body that is not bytes is sent as JSON."""
        said = {} if anonymous else {**_ADMIN, **(_impersonating(user) if user else {})}
        request = make_request(method, path, body, {**said, **(headers or {})})
        return await self.server.application(request)

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        user: User | None = None,
        anonymous: bool = False,
    ) -> Reply:
        """An answer that is no stream."""
        answer = await self.answer(
            method, path, body, headers=headers, user=user, anonymous=anonymous
        )
        assert isinstance(answer, Response), answer
        return Reply(answer.status, tuple(answer.headers), answer.body)

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        return await self.request("GET", path, headers=headers)

    async def delete(self, path: str, body: object = None) -> Reply:
        return await self.request("DELETE", path, body)

    async def post(self, path: str, body: object) -> Reply:
        return await self.request("POST", path, body)

    async def put(self, path: str, body: object) -> Reply:
        return await self.request("PUT", path, body)

    async def patch(self, path: str, body: object, headers: Mapping[str, str] = MERGE) -> Reply:
        return await self.request("PATCH", path, body, headers=headers)

    async def made(self, path: str, body: object) -> Any:
        """A new object, which must come into being."""
        reply = await self.post(path, body)
        assert reply.status == 201, reply.text
        return reply.json

    async def watch(
        self,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        user: User | None = None,
        wire: Wire | None = None,
    ) -> Watch:
        """A watch that has begun."""
        answer = await self.answer("GET", path, headers=headers, user=user)
        assert isinstance(answer, Stream), answer
        running = Watch(answer, wire or Wire())
        answer.start(running.wire)
        await self.settle()
        return running

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        user: User = SYSTEM,
        media: Media | None = None,
    ) -> Call:
        """A request as verbs get it: allowed, and its resource found."""
        request = make_request(method, path, body, headers or {})
        where = route(method, request.path, request.query)
        served = self.server.services.registry.find(where.group, where.version, where.resource)
        assert served is not None, path
        accepted = media or negotiate(request.headers.get("accept", ""), DOCUMENTS)
        return Call(self.server.services, request, where, user, served, accepted)

    def events_after(self, revision: int) -> list[Event]:
        """What happened in the store since."""
        events: list[Event] = []
        self.store.watch("", revision, events.extend).close()
        return events

    async def settle(self) -> None:
        """Let the server's tasks run until they wait for something."""
        for _turn in range(_TURNS):
            await asyncio.sleep(0)


def make_request(method: str, path: str, body: object, headers: Mapping[str, str]) -> Request:
    """A request; its path may have a query."""
    parts = urlsplit(path)
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    every = {"user-agent": "test/1", **(JSON if data else {}), **headers}
    query = parse_qs(parts.query, keep_blank_values=True)
    return Request(method, unquote(parts.path), query, every, data, _PEER)


def _impersonating(user: User) -> dict[str, str]:
    headers = {"impersonate-user": user.name}
    if user.groups:
        headers["impersonate-group"] = ", ".join(user.groups)
    for name, values in user.extra.items():
        headers[f"impersonate-extra-{name}"] = ", ".join(values)
    return headers


async def start(
    *,
    store: Store | None = None,
    gates: FeatureGates = DEFAULT_GATES,
    versions: Callable[[str, str], bool] | None = None,
    token_file: bool = True,
    allocation_check: bool = True,
) -> Api:
    """A server that has what every server has from the start."""
    store, clock = store or MemoryStore(), FakeClock()
    secrets = secrets_directory()
    settings = Settings(
        secrets=secrets,
        token_file=secrets / "tokens.csv" if token_file else None,
        gates=gates,
        versions=versions,
        allocation_check=allocation_check,
    )
    server = Server(store, settings, clock, SeededEntropy(1))
    await bootstrap(Internal(server.services), server.services.state)
    return Api(server, store, clock)


def served(
    *,
    gates: FeatureGates = DEFAULT_GATES,
    versions: Callable[[str, str], bool] | None = None,
    store: Callable[[], Store] = MemoryStore,
    allocation_check: bool = True,
) -> Callable[[Callable[Concatenate[Api, P], Awaitable[None]]], Callable[P, None]]:
    """A test that gets a server of its own as its first argument."""

    def decorate(test: Callable[Concatenate[Api, P], Awaitable[None]]) -> Callable[P, None]:
        @wraps(test)
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            async def main() -> None:
                api = await start(
                    store=store(),
                    gates=gates,
                    versions=versions,
                    allocation_check=allocation_check,
                )
                try:
                    await test(api, *args, **kwargs)
                finally:
                    await api.server.stop()
                    await api.store.close()

            asyncio.run(main())

        signature = inspect.signature(test)
        wanted = [one for name, one in signature.parameters.items() if name != "api"]
        run.__signature__ = signature.replace(parameters=wanted)  # type: ignore[attr-defined]  # what pytest reads
        return run

    return decorate


async def refusal(awaited: Awaitable[object]) -> APIError:
    """The error that this ends with, which it must."""
    try:
        found = await awaited
    except APIError as error:
        return error
    raise AssertionError(f"was not refused: {found!r}")


# Objects, as short as tests want them ----------------------------------------------------------


def config_map(name: str, data: Mapping[str, str] | None = None, **metadata: object) -> Any:
    return {"metadata": {"name": name, **metadata}, "data": dict(data or {})}


def pod(name: str, *, node: str = "", **spec: object) -> Any:
    """A pod, on a node if one is named."""
    placed = {"nodeName": node} if node else {}
    containers = [{"name": "a", "image": "registry/a:1"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **placed, **spec}}
