"""A cluster for tests: a real API server in this process, and clients of it.

The server is dray's own over a store in memory, with authentication, authorization, admission and
validation, and with its own tasks running; only the socket is missing. Time is the clock's that is
passed in: with a FakeClock it stands still until the test says otherwise. Nodes, schedulers and
controllers are not there unless the test starts them.
"""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from dray.api.core import (
    NODE_CONDITION_READY,
    Container,
    Namespace,
    Node,
    NodeCondition,
    NodeStatus,
    Pod,
    PodSpec,
)
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.client import Client, Transport, in_process
from dray.clock import Clock
from dray.entropy import Entropy, SeededEntropy
from dray.server.server import Server, Settings
from dray.store.memory import MemoryStore
from dray.store.store import Store
from dray.testing._clock import FakeClock

__all__ = ["Cluster"]

_TOKEN: Final = "token-of-the-administrator"  # noqa: S105 - of servers that nobody can reach


class Cluster:
    """An API server, started on entering and stopped on leaving.

    `client` may do everything; `client_of` is somebody else.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        store: Store | None = None,
        gates: FeatureGates = DEFAULT_GATES,
        versions: Callable[[str, str], bool] | None = None,
        allocation_check: bool = True,
    ) -> None:
        """`versions` says which groups and versions are served; by default as a server has it.

        Without the `allocation_check`, claims may be given devices that others hold.
        """
        self.clock: Final = clock or FakeClock()
        self.store: Final = store or MemoryStore()
        secrets = _secrets()
        self._settings = Settings(
            secrets=secrets,
            token_file=secrets / "tokens.csv",
            gates=gates,
            versions=versions,
            allocation_check=allocation_check,
        )
        self._entropy = entropy or SeededEntropy(1)
        self._clients: list[Client] = []
        self._server: Server | None = None
        self._admin: Client | None = None

    async def __aenter__(self) -> Self:
        self._server = Server(self.store, self._settings, self.clock, self._entropy)
        await self._server.start(listen=False)
        self._admin = self._connected(self.transport())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for client in self._clients:
            await client.close()
        await self.server.stop()
        await self.store.close()

    @property
    def server(self) -> Server:
        """The server itself, for what no client can do."""
        assert self._server is not None, "a cluster runs inside of `async with`"
        return self._server

    @property
    def client(self) -> Client:
        """The administrator."""
        assert self._admin is not None, "a cluster runs inside of `async with`"
        return self._admin

    def client_of(self, user: str, *, groups: Sequence[str] = ()) -> Client:
        """Somebody else, with the rights that they have: system:node:n1 of system:nodes, say."""
        return self._connected(self.transport(user, groups=groups))

    def transport(self, user: str = "", *, groups: Sequence[str] = ()) -> Transport:
        """A way to the server, as the administrator unless somebody is named."""
        headers: dict[str, str] = {}
        if user:
            headers["impersonate-user"] = user
        if groups:
            headers["impersonate-group"] = ", ".join(groups)
        return in_process(self.server.application, token=_TOKEN, headers=tuple(headers.items()))

    # Objects that most tests begin with --------------------------------------------------------

    async def add_namespace(self, name: str) -> Namespace:
        """A namespace, ready to be used."""
        return await self.client.create(Namespace(metadata=ObjectMeta(name=name)))

    async def add_node(self, name: str, *, labels: Mapping[str, str] | None = None) -> Node:
        """A node that says it is ready."""
        node = Node(metadata=ObjectMeta(name=name, labels=dict(labels or {})))
        await self.client.create(node)
        ready = NodeCondition(type=NODE_CONDITION_READY, status="True")
        status = NodeStatus(conditions=(ready,))
        return await self.client.patch(Node, name, {"status": status}, subresource="status")

    async def add_pod(
        self,
        name: str,
        *,
        namespace: str = "default",
        node: str = "",
        spec: PodSpec | None = None,
    ) -> Pod:
        """A pod, bound to a node if one is named; without a spec it has one container."""
        spec = spec or PodSpec(
            containers=(Container(name="main", image="registry.example/main:1"),)
        )
        if node:
            spec = replace(spec, node_name=node)
        return await self.client.create(
            Pod(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec)
        )

    def _connected(self, transport: Transport) -> Client:
        client = Client(transport, clock=self.clock)
        self._clients.append(client)
        return client


@cache
def _secrets() -> Path:
    """Keys and certificates, made once in a process: they are what takes time."""
    directory = tempfile.TemporaryDirectory(prefix="dray")
    atexit.register(directory.cleanup)
    path = Path(directory.name)
    tokens = path / "tokens.csv"
    tokens.write_text(f'{_TOKEN},admin,1,"system:masters"\n')
    tokens.chmod(0o600)
    return path
