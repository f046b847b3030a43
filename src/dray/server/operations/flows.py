"""Whose turn a request takes: its flow, and the priority level of that flow.

A flow is what takes turns with other flows: one user's requests, or, where one user works for
everybody, those for one namespace. Levels keep the parts of a cluster apart: nodes that report and
controllers that renew their leases are heard even while a hundred workloads shout. Names, shares
and rules are upstream's defaults; they are not configurable. Upstream counterpart: apiserver
pkg/apis/flowcontrol/bootstrap.

Departure: a renewal, by which somebody shows to be alive, never waits behind the other requests of
its own user, whoever that is (test_a_renewal_has_a_level_of_its_own). Upstream knows renewals by
who sends them, and lets administrators pass; here these take turns, and one of them may be a whole
fleet of simulated nodes. What an administrator renews is a flow each, as if nodes had sent it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from dray.server.auth.identities import service_account_of
from dray.server.routing import Route
from dray.server.user import SYSTEM_MASTERS, User

__all__ = ["LEVELS", "PROBES", "RENEWED", "SCHEMAS", "Classifier", "Level", "Schema"]

# Classified users that are remembered: more than a cluster has at work at one time.
USERS_REMEMBERED_MAX: Final = 4096


# Compared by identity, which costs nothing, because they are looked up for every request.
@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """A priority level. `shares` are relative to those of the others; exempt ones need none."""

    name: str
    shares: int = 0

    @property
    def exempt(self) -> bool:
        return not self.shares


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """Requests that belong to one level and are told apart by user, or by what they are about."""

    name: str
    level: Level
    by_namespace: bool = False
    by_object: bool = False
    depends_on_user_alone: bool = False  # whatever they ask for, probes and what is RENEWED apart
    refusable: bool = True  # when too many wait, or for too long

    def flow_of(self, user: User, where: Route) -> str:
        """What tells the flow of a request from others of this schema."""
        if self.by_object:
            return where.path
        return where.namespace if self.by_namespace else user.name


_EXEMPT: Final = Level("exempt")
_SYSTEM: Final = Level("system", 30)
_NODE_HIGH: Final = Level("node-high", 40)
_LEADER_ELECTION: Final = Level("leader-election", 10)
_WORKLOAD_HIGH: Final = Level("workload-high", 40)
_WORKLOAD_LOW: Final = Level("workload-low", 100)
_GLOBAL_DEFAULT: Final = Level("global-default", 20)

LEVELS: Final = (
    _EXEMPT,
    _SYSTEM,
    _NODE_HIGH,
    _LEADER_ELECTION,
    _WORKLOAD_HIGH,
    _WORKLOAD_LOW,
    _GLOBAL_DEFAULT,
)

PROBES: Final = Schema("probes", _EXEMPT, refusable=False)
_MASTERS: Final = Schema("exempt", _EXEMPT, depends_on_user_alone=True, refusable=False)
_MASTERS_NODES: Final = Schema("exempt-node-high", _NODE_HIGH, by_object=True, refusable=False)
_MASTERS_ELECTION: Final = Schema(
    "exempt-leader-election", _LEADER_ELECTION, by_object=True, refusable=False
)
_ELECTION: Final = Schema("system-leader-election", _LEADER_ELECTION)
_NODES_HIGH: Final = Schema("system-node-high", _NODE_HIGH)
_NODES: Final = Schema("system-nodes", _SYSTEM)
_CONTROLLER_MANAGER: Final = Schema("kube-controller-manager", _WORKLOAD_HIGH, by_namespace=True)
_SCHEDULER: Final = Schema("kube-scheduler", _WORKLOAD_HIGH, by_namespace=True)
_SYSTEM_ACCOUNTS: Final = Schema("kube-system-service-accounts", _WORKLOAD_HIGH, by_namespace=True)
_OTHER_ELECTION: Final = Schema("workload-leader-election", _LEADER_ELECTION)
_ACCOUNTS: Final = Schema("service-accounts", _WORKLOAD_LOW, depends_on_user_alone=True)
_DEFAULT: Final = Schema("global-default", _GLOBAL_DEFAULT, depends_on_user_alone=True)

SCHEMAS: Final = (
    PROBES,
    _MASTERS,
    _MASTERS_NODES,
    _MASTERS_ELECTION,
    _ELECTION,
    _NODES_HIGH,
    _NODES,
    _CONTROLLER_MANAGER,
    _SCHEDULER,
    _SYSTEM_ACCOUNTS,
    _OTHER_ELECTION,
    _ACCOUNTS,
    _DEFAULT,
)


class _Standing(Enum):
    """What a user is, as far as levels care."""

    MASTER = auto()
    NODE = auto()
    CONTROLLER_MANAGER = auto()
    SCHEDULER = auto()
    SYSTEM_ACCOUNT = auto()
    ACCOUNT = auto()
    OTHER = auto()


# The standings that elect leaders, with what else they do.
_CONTROLLERS: Final[Mapping[_Standing, Schema]] = {
    _Standing.CONTROLLER_MANAGER: _CONTROLLER_MANAGER,
    _Standing.SCHEDULER: _SCHEDULER,
    _Standing.SYSTEM_ACCOUNT: _SYSTEM_ACCOUNTS,
}

_SIMPLE: Final[Mapping[_Standing, Schema]] = {
    _Standing.MASTER: _MASTERS,
    _Standing.ACCOUNT: _ACCOUNTS,
    _Standing.OTHER: _DEFAULT,
}

_PROBE_PATHS: Final = frozenset({"/healthz", "/livez", "/readyz"})
_ELECTION_VERBS: Final = frozenset({"get", "create", "update"})
_COORDINATION: Final = "coordination.k8s.io"
_NODE_LEASES: Final = "kube-node-lease"

# Plurals of what somebody renews to show that they are alive.
RENEWED: Final = frozenset({"leases", "nodes"})
_RENEWING_VERBS: Final = frozenset({"create", "update", "patch"})


class Classifier:
    """Finds the schema of a request. What users are is worked out once for each."""

    def __init__(self) -> None:
        self._standings: dict[tuple[str, tuple[str, ...]], _Standing] = {}

    def schema(self, user: User, where: Route) -> Schema:
        """Where a request belongs."""
        key = (user.name, user.groups)
        standing = self._standings.get(key)
        if standing is None:
            if len(self._standings) >= USERS_REMEMBERED_MAX:
                self._standings.clear()
            standing = self._standings[key] = _standing(user)
        if not where.resource and where.path in _PROBE_PATHS:
            return PROBES
        simple = _SIMPLE.get(standing)
        if simple is not None:
            return _renewal(standing, where) or simple
        if standing is _Standing.NODE:
            return _NODES_HIGH if _reports(where) else _NODES
        if _is_lease(where) and where.verb in _ELECTION_VERBS:
            return _ELECTION
        return _CONTROLLERS[standing]


def _standing(user: User) -> _Standing:
    if SYSTEM_MASTERS in user.groups:
        return _Standing.MASTER
    if "system:nodes" in user.groups:
        return _Standing.NODE
    if user.name == "system:kube-controller-manager":
        return _Standing.CONTROLLER_MANAGER
    if user.name == "system:kube-scheduler":
        return _Standing.SCHEDULER
    account = service_account_of(user.name)
    if account is not None and account[0] == "kube-system":
        return _Standing.SYSTEM_ACCOUNT
    return _Standing.ACCOUNT if "system:serviceaccounts" in user.groups else _Standing.OTHER


def _reports(where: Route) -> bool:
    """What a node must get through to count as alive."""
    is_node = where.resource == "nodes" and not where.group
    return (is_node and where.subresource in ("", "status")) or _is_lease(where)


def _renewal(standing: _Standing, where: Route) -> Schema | None:
    """The schema of what renews something for users whose requests are alike otherwise."""
    if where.resource not in RENEWED or where.verb not in _RENEWING_VERBS:
        return None
    is_master = standing is _Standing.MASTER
    if _is_lease(where) and where.namespace != _NODE_LEASES:
        return _MASTERS_ELECTION if is_master else _OTHER_ELECTION
    if _is_lease(where) or (_reports(where) and where.subresource):
        return _MASTERS_NODES if is_master else _NODES_HIGH
    return None


def _is_lease(where: Route) -> bool:
    return where.resource == "leases" and where.group == _COORDINATION
