"""What every verb needs: the parts of a server, put together once.

The command line wires the real ones, tests what they like. Nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dray.api.features import FeatureGates
from dray.api.meta import Object
from dray.clock import Clock
from dray.entropy import Entropy
from dray.server.admission.request import AdmissionRequest
from dray.server.admission.resource_quota import QuotaCharge
from dray.server.allocations import Allocations
from dray.server.aside import Aside
from dray.server.auth.rbac import RBACAuthorizer
from dray.server.registry import Registry
from dray.server.state import State
from dray.server.turns import Turns
from dray.server.user import Attributes, Decision
from dray.server.wall_time import WallTime
from dray.store.store import Store

__all__ = ["Admission", "AfterCreate", "Authorizer", "Services"]


class Authorizer(Protocol):
    """Says whether somebody may do something."""

    def authorize(self, attributes: Attributes) -> Decision: ...


class Admission(Protocol):
    """All admission plugins, in their order."""

    def admit(self, request: AdmissionRequest) -> Any:
        """The object as it goes on, changed or not."""
        ...

    def validate(self, request: AdmissionRequest) -> None:
        """Raise an APIError if it must not go on."""
        ...

    def warn(self, request: AdmissionRequest) -> Sequence[str]:
        """What its author should hear, though it goes on."""
        ...

    def charge(self, request: AdmissionRequest) -> Sequence[QuotaCharge]:
        """What it costs the quotas of its namespace. Raises Forbidden if they cannot afford it."""
        ...


# What else the server does about a new object, before its creation is answered.
AfterCreate = Callable[[Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of a server that verbs work with."""

    store: Store
    registry: Registry
    state: State
    admission: Admission
    authorizer: Authorizer
    rules: RBACAuthorizer  # whom roles and bindings give which rights
    clock: Clock
    entropy: Entropy
    gates: FeatureGates
    quota_turns: Turns = field(default_factory=Turns)  # by namespace
    after_create: dict[type[Object], AfterCreate] = field(default_factory=dict)
    aside: Aside = field(default_factory=Aside)
    allocations: Allocations | None = None  # None: nobody checks who holds which device
    wall_time: WallTime = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "wall_time", WallTime(self.clock))
