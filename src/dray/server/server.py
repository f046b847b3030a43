"""A whole API server: its parts put together, started and stopped.

Upstream counterpart: cmd/kube-apiserver/app.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from dray.api.apiextensions import CustomResourceDefinition
from dray.api.core import Namespace
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.clock import Clock
from dray.entropy import Entropy
from dray.http.limits import Limits
from dray.http.listener import Listener
from dray.http.messages import Answer
from dray.http.service import Counters
from dray.http.tls import server_context
from dray.server.admission.chain import default_chain
from dray.server.allocations import Allocations
from dray.server.application import Application, Verb
from dray.server.auth.authenticator import Authenticator
from dray.server.auth.certificates import Certificates
from dray.server.auth.chain import Chain
from dray.server.auth.node import NodeAuthorizer
from dray.server.auth.rbac import RBACAuthorizer
from dray.server.auth.reviews import Reviews
from dray.server.auth.service_account_tokens import ServiceAccountTokens
from dray.server.auth.signing_keys import SigningKeys
from dray.server.auth.token_file import TokenFile
from dray.server.auth.token_requests import TokenRequests
from dray.server.bootstrap import bootstrap
from dray.server.call import Call
from dray.server.custom.definitions import DefinitionKeeper
from dray.server.documents import Documents
from dray.server.event_keeper import EventKeeper
from dray.server.health import Check, Health
from dray.server.internal import Internal
from dray.server.keepers import NamespaceKeeper, RoleKeeper
from dray.server.kubelet import Kubelet, Nodes
from dray.server.memory import keep_trimmed
from dray.server.operations.disk_check import DiskCheck
from dray.server.operations.fairness import Fairness
from dray.server.operations.metrics import Sources
from dray.server.operations.observed_admission import ObservedAdmission
from dray.server.operations.observed_store import ObservedStore
from dray.server.operations.operations import Operations, OperationsSettings
from dray.server.pki import Authority, load_pair
from dray.server.registry import Registry, prefix_of
from dray.server.reviews import review_verbs, token_verb
from dray.server.services import Services
from dray.server.stored_state import StoredState
from dray.server.subresources.binding import bind, bind_by_name
from dray.server.subresources.eviction import evict
from dray.server.subresources.logs import log_verb
from dray.server.subresources.scale import get_scale, patch_scale, update_scale
from dray.server.subresources.sessions import session_verb
from dray.server.supervision import Supervisor
from dray.server.user import SYSTEM_MASTERS
from dray.server.verbs.create import create
from dray.server.verbs.delete import delete, delete_collection
from dray.server.verbs.get import get
from dray.server.verbs.list import list_
from dray.server.verbs.patch import patch
from dray.server.verbs.update import update
from dray.server.verbs.watch import watch
from dray.server.watching.lanes import Lanes
from dray.store.store import Event, Sink, Store

__all__ = ["Server", "Settings"]

_log = logging.getLogger(__name__)

# How long requests that are under way may take once the server is told to stop.
STOP_SECONDS: Final = 10.0

# Who signs tokens of service accounts, and for whom they are good, unless a client says otherwise.
ISSUER: Final = "https://kubernetes.default.svc"

# By which names clients inside a cluster call the server.
_CLUSTER_NAMES: Final = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server is set up."""

    secrets: Path  # the directory of certificates and signing keys
    host: str = "127.0.0.1"
    port: int = 0
    names: tuple[str, ...] = ()  # more names and addresses that the certificate is for
    token_file: Path | None = None
    versions: Callable[[str, str], bool] | None = None  # which group and version to serve
    gates: FeatureGates = DEFAULT_GATES
    allocation_check: bool = True  # whether no device is given away twice
    limits: Limits = field(default_factory=Limits)
    operations: OperationsSettings = field(default_factory=OperationsSettings)


class Server:
    """An API server over a store."""

    def __init__(self, store: Store, settings: Settings, clock: Clock, entropy: Entropy) -> None:
        disk = DiskCheck(store, settings.operations.data_directory, clock)
        self._store = store = ObservedStore(store, clock)
        self._settings = settings
        self._clock = clock
        self.authority = Authority(settings.secrets, clock, entropy)
        registry = Registry(versions=settings.versions)
        state = StoredState(store, registry)
        rules = RBACAuthorizer(state)
        nodes = NodeAuthorizer(state, told=True)
        self._pods = store.watch(prefix_of("", "pods"), store.revision, _pods_noted(nodes))
        authorizer = Chain({"node": nodes, "rbac": rules})
        self._state = state
        admission = ObservedAdmission(
            default_chain(state, clock, entropy, authorizer.authorize, gates=settings.gates), clock
        )
        allocations = Allocations(store) if settings.allocation_check else None
        self.services = Services(
            store=store,
            registry=registry,
            state=state,
            admission=admission,
            authorizer=authorizer,
            rules=rules,
            clock=clock,
            entropy=entropy,
            gates=settings.gates,
            allocations=allocations,
        )
        self.lanes = Lanes(store, clock)
        self._phase = "starting"
        keys = SigningKeys.load(settings.secrets)
        tokens = ServiceAccountTokens(state, keys, clock, entropy, issuer=ISSUER)
        authenticator = Authenticator(
            certificates=Certificates(clock),
            token_file=TokenFile(settings.token_file, clock) if settings.token_file else None,
            service_accounts=tokens,
        )
        nodes_ = Kubelet(self._node_context())
        self._supervisor = Supervisor(clock)
        self._health = health = Health(
            {"ping": lambda: None},
            {"store": disk, "tasks": self._supervisor.problem, "shutdown": self._check_phase},
        )
        self._documents = Documents(registry, keys, health, issuer=ISSUER)
        sources = Sources(
            registry,
            store,
            admission,
            Fairness(clock, limits=settings.operations.fairness_limits),
            self.lanes,
            self._connections,
            allocations=allocations,
        )
        self._operations = Operations(settings.operations, sources, clock, entropy)
        self._application = Application(
            self.services,
            authenticator,
            verbs=_verbs(self.lanes),
            subresources=_subresources(TokenRequests(state, tokens, clock), nodes_),
            reviews={
                **review_verbs(Reviews(authenticator, authorizer, rules, clock=clock)),
                "bindings": bind_by_name,
            },
            endpoints=(health, self._operations.metrics, self._documents),
            operations=self._operations,
        )
        self._internal = Internal(self.services)
        self._keeper = NamespaceKeeper(
            self._internal, state, store, self.authority.certificate.decode(), clock
        )
        self._events = EventKeeper(state, store, clock)
        self._roles = RoleKeeper(self._internal, state, store)
        self._definitions = DefinitionKeeper(self.services, changed=self.lanes.finish_all)
        self.services.after_create[CustomResourceDefinition] = self._definitions.welcome
        self.services.after_create[Namespace] = self._keeper.welcome
        self._listener: Listener | None = None

    def _node_context(self) -> ssl.SSLContext:
        """TLS to nodes: they know us by our authority; theirs we have no way to know."""
        pair = self.authority.client_certificate("kube-apiserver", [SYSTEM_MASTERS])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        load_pair(context, pair)
        return context

    def _check_phase(self) -> str | None:
        return None if self._phase == "running" else f"the server is {self._phase}"

    def _connections(self) -> Counters | None:
        return None if self._listener is None else self._listener.counters

    @property
    def application(self) -> Application:
        """What answers requests; for clients in the same process."""
        return self._application

    @property
    def url(self) -> str:
        """Where clients find it."""
        port = self._settings.port if self._listener is None else self._listener.port
        return f"https://{_bracketed(self._settings.host)}:{port}"

    async def start(self, *, listen: bool = True) -> None:
        """Create what must be there, then listen, unless all clients are in this process."""
        await bootstrap(self._internal, self._state)
        self._definitions.load()
        self._listener = self._make_listener() if listen else None
        self._operations.start()
        self.services.aside.start()
        if self._listener is not None:
            await self._listener.start()
            self._documents.answer_at(self.url.removeprefix("https://"))
        for name, work in (
            ("watches", self.lanes.keep),
            ("operations", self._operations.run),
            ("namespaces", self._keeper.run),
            ("roles", self._roles.run),
            ("events", self._events.run),
            ("definitions", self._definitions.run),
            ("memory", partial(keep_trimmed, self._clock)),
        ):
            self._supervisor.start(name, work)
        self._phase = "running"

    def add_component(self, name: str, check: Check, metrics: Callable[[], bytes]) -> None:
        """Answer for another part of this process: whether it is ready, and what it counted."""
        self._health.add(name, check)
        self._operations.metrics.others.append(metrics)

    def serving_context(self) -> ssl.SSLContext:
        """TLS as we serve it: with our certificate, for clients that our authority signed."""
        names = _names(self._settings.host, self._settings.names)
        files = self.authority.server_certificate(names)
        return server_context(
            files.certificate, files.key, client_authority=self.authority.certificate_file
        )

    def _make_listener(self) -> Listener:
        settings = self._settings
        return Listener(
            self._application,
            clock=self._clock,
            host=settings.host,
            port=settings.port,
            ssl_context=self.serving_context(),
            limits=settings.limits,
        )

    async def stop(self, grace_seconds: float = STOP_SECONDS) -> None:
        """End watches properly, let requests finish, and release everything but the store."""
        self._phase = "stopping"
        self.lanes.close()
        if self._listener is not None:
            await self._listener.stop(grace_seconds)
        await self._supervisor.stop()
        await self._operations.close()
        self.services.aside.stop()
        self._pods.close()
        if self.services.allocations is not None:
            self.services.allocations.close()
        self._state.close()
        self._store.release()


def _pods_noted(nodes: NodeAuthorizer) -> Sink:
    """Tells the authorizer of nodes which pods come, change and go."""

    def note(events: Sequence[Event]) -> None:
        for event in events:
            _group, _plural, namespace, name = event.key.split("/", 3)
            nodes.note_pod(namespace, name)

    return note


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _names(host: str, more: Sequence[str]) -> list[str]:
    wildcard = host in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
    names = ["localhost", "127.0.0.1", "::1", *_CLUSTER_NAMES, *more]
    return list(dict.fromkeys(names if wildcard else [*names, host]))


def _verbs(lanes: Lanes) -> Mapping[str, Verb]:
    async def watch_(call: Call) -> Answer:
        return await watch(call, lanes)

    return {
        "get": get,
        "list": list_,
        "watch": watch_,
        "create": create,
        "update": update,
        "patch": patch,
        "delete": delete,
        "deletecollection": delete_collection,
    }


def _subresources(requests: TokenRequests, nodes: Nodes) -> Mapping[tuple[str, str, str], Verb]:
    sessions = {
        (plural, name, verb): session_verb(kind, nodes)
        for plural, name, kind in (
            ("pods", "exec", "exec"),
            ("pods", "attach", "attach"),
            ("pods", "portforward", "portForward"),
        )
        for verb in ("get", "create")
    }
    return {
        **sessions,
        ("pods", "log", "get"): log_verb(nodes),
        ("pods", "binding", "create"): bind,
        ("pods", "eviction", "create"): evict,
        ("*", "scale", "get"): get_scale,
        ("*", "scale", "update"): update_scale,
        ("*", "scale", "patch"): patch_scale,
        ("serviceaccounts", "token", "create"): token_verb(requests),
    }
