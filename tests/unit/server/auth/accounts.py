"""Service accounts, and a maker of their tokens, for tests."""

from __future__ import annotations

from typing import TypeVar

from cryptography.hazmat.primitives.asymmetric import ec

from dray.api.core import Node, Pod, Secret, ServiceAccount
from dray.api.meta import Object, ObjectMeta
from dray.api.wire import Time, replace
from dray.clock import Clock
from dray.entropy import SeededEntropy
from dray.server.auth.service_account_tokens import ServiceAccountTokens
from dray.server.auth.signing_keys import SigningKeys
from dray.server.state import State
from tests.unit.server.auth.pods import pod

ISSUER = "https://kubernetes.default.svc"
KEYS = SigningKeys(ec.generate_private_key(ec.SECP256R1()))

ACCOUNT = ServiceAccount(metadata=ObjectMeta(name="driver", namespace="team", uid="sa-1"))
POD: Pod = pod("p", node="n1", account="driver")
NODE = Node(metadata=ObjectMeta(name="n1", uid="node-1"))
SECRET = Secret(metadata=ObjectMeta(name="s", namespace="team", uid="secret-1"))


def tokens(state: State, clock: Clock) -> ServiceAccountTokens:
    return ServiceAccountTokens(state, KEYS, clock, SeededEntropy(7), issuer=ISSUER)


O = TypeVar("O", bound=Object)  # noqa: E741


def deleted(obj: O, clock: Clock) -> O:
    return replace(obj, metadata=replace(obj.metadata, deletion_timestamp=Time(clock.now())))


def reborn(obj: O) -> O:
    return replace(obj, metadata=replace(obj.metadata, uid="another"))
