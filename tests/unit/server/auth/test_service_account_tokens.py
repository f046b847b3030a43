from __future__ import annotations

import base64
import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from dray.api.meta import Object
from dray.entropy import SeededEntropy
from dray.errors import Unauthorized
from dray.server.auth import service_account_tokens
from dray.server.auth.service_account_tokens import Bound, ServiceAccountTokens
from dray.server.auth.signing_keys import SigningKeys
from dray.server.state import FixedState
from dray.server.user import User
from dray.testing import FakeClock
from tests.unit.server.auth.accounts import (
    ACCOUNT,
    ISSUER,
    KEYS,
    NODE,
    POD,
    SECRET,
    deleted,
    reborn,
    tokens,
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def state() -> FixedState:
    return FixedState(ACCOUNT, POD, NODE, SECRET)


@pytest.fixture
def maker(state: FixedState, clock: FakeClock) -> ServiceAccountTokens:
    return tokens(state, clock)


def issue(maker: ServiceAccountTokens, bound: Bound | None = None) -> str:
    return maker.issue(ACCOUNT, audiences=[ISSUER], expiration_seconds=3600, bound=bound)


def test_a_token_of_a_pod_says_which_pod_and_which_node(maker: ServiceAccountTokens) -> None:
    token = issue(maker, Bound(pod=POD, node=NODE))
    verified = maker.verify(token)
    assert verified is not None
    assert verified.audiences == (ISSUER,)
    uid = SeededEntropy(7).uid()
    assert verified.user == User(
        "system:serviceaccount:team:driver",
        uid="sa-1",
        groups=(
            "system:serviceaccounts",
            "system:serviceaccounts:team",
            "system:authenticated",
        ),
        extra={
            "authentication.kubernetes.io/pod-name": ("p",),
            "authentication.kubernetes.io/pod-uid": ("uid-p",),
            "authentication.kubernetes.io/credential-id": (f"JTI={uid}",),
            "authentication.kubernetes.io/node-name": ("n1",),
            "authentication.kubernetes.io/node-uid": ("node-1",),
        },
    )


def test_the_payload_is_what_upstream_writes(maker: ServiceAccountTokens, clock: FakeClock) -> None:
    token = maker.issue(
        ACCOUNT,
        audiences=["a", "b"],
        expiration_seconds=600,
        bound=Bound(pod=POD, node_name="n9"),
        warn_after_seconds=60,
    )
    now = int(clock.now().timestamp())
    assert json.loads(KEYS.verify(token)) == {
        "aud": ["a", "b"],
        "exp": now + 600,
        "iat": now,
        "iss": ISSUER,
        "jti": SeededEntropy(7).uid(),
        "kubernetes.io": {
            "namespace": "team",
            "serviceaccount": {"name": "driver", "uid": "sa-1"},
            "pod": {"name": "p", "uid": "uid-p"},
            "node": {"name": "n9"},
            "warnafter": now + 60,
        },
        "nbf": now,
        "sub": "system:serviceaccount:team:driver",
    }


@pytest.mark.parametrize(
    ("bound", "gone", "rule"),
    [
        (Bound(), ACCOUNT, 'serviceaccounts "driver" not found'),
        (Bound(pod=POD), POD, "service account token has been invalidated"),
        (Bound(secret=SECRET), SECRET, "service account token has been invalidated"),
        (Bound(node=NODE), NODE, "service account token has been invalidated"),
    ],
    ids=["account", "pod", "secret", "node"],
)
def test_a_token_ends_with_what_it_is_bound_to(
    state: FixedState, maker: ServiceAccountTokens, bound: Bound, gone: Object, rule: str
) -> None:
    token = issue(maker, bound)
    assert maker.verify(token)
    state.remove(gone)
    with pytest.raises(Unauthorized, match=f"^{rule}$"):
        maker.verify(token)


@pytest.mark.parametrize(
    ("bound", "other", "rule"),
    [
        (Bound(), ACCOUNT, r"service account UID \(another\) does not match claim \(sa-1\)"),
        (
            Bound(pod=POD),
            POD,
            r"pod UID \(another\) does not match service account pod ref claim \(uid-p\)",
        ),
        (
            Bound(secret=SECRET),
            SECRET,
            r"secret UID \(another\) does not match service account secret ref claim \(secret-1\)",
        ),
        (
            Bound(node=NODE),
            NODE,
            r"node UID \(another\) does not match service account node ref claim \(node-1\)",
        ),
    ],
    ids=["account", "pod", "secret", "node"],
)
def test_another_object_of_the_name_is_not_the_one_meant(
    state: FixedState, maker: ServiceAccountTokens, bound: Bound, other: Object, rule: str
) -> None:
    token = issue(maker, bound)
    state.put(reborn(other))
    with pytest.raises(Unauthorized, match=f"^{rule}$"):
        maker.verify(token)


@pytest.mark.parametrize(
    ("bound", "obj", "rule"),
    [
        (Bound(), ACCOUNT, "service account team/driver has been deleted"),
        (Bound(pod=POD), POD, "service account token has been invalidated"),
    ],
    ids=["account", "pod"],
)
def test_a_deletion_ends_tokens_after_a_minute(
    state: FixedState,
    clock: FakeClock,
    maker: ServiceAccountTokens,
    bound: Bound,
    obj: Object,
    rule: str,
) -> None:
    token = issue(maker, bound)
    state.put(deleted(obj, clock))
    clock.advance(60)
    assert maker.verify(token)
    clock.advance(1)
    with pytest.raises(Unauthorized, match=f"^{rule}$"):
        maker.verify(token)


def test_the_node_of_a_pods_token_need_not_be_there(
    state: FixedState, maker: ServiceAccountTokens
) -> None:
    token = issue(maker, Bound(pod=POD, node=NODE))
    state.remove(NODE)
    assert maker.verify(token)


def test_a_token_is_good_for_its_time_give_or_take_a_minute(
    clock: FakeClock, maker: ServiceAccountTokens
) -> None:
    token = issue(maker)
    clock.advance(3660)
    assert maker.verify(token)
    clock.advance(1)
    with pytest.raises(Unauthorized, match=r"^service account token has expired$"):
        maker.verify(token)


@pytest.mark.parametrize(
    ("claim", "rule"), [("nbf", "is not valid yet"), ("iat", "is issued in the future")]
)
def test_a_token_from_the_future_is_not_good(
    clock: FakeClock, maker: ServiceAccountTokens, claim: str, rule: str
) -> None:
    payload = json.loads(KEYS.verify(issue(maker)))
    now = int(clock.now().timestamp())
    assert maker.verify(KEYS.sign(json.dumps(payload | {claim: now + 60}).encode()))
    with pytest.raises(Unauthorized, match=f"^service account token {rule}$"):
        maker.verify(KEYS.sign(json.dumps(payload | {claim: now + 61}).encode()))


def test_a_token_is_for_its_audiences(maker: ServiceAccountTokens) -> None:
    token = maker.issue(ACCOUNT, audiences=["vault", "other"], expiration_seconds=3600)
    verified = maker.verify(token, ["vault", "x"])
    assert verified is not None
    assert verified.audiences == ("vault",)
    with pytest.raises(Unauthorized) as caught:
        maker.verify(token)
    assert caught.value.message == (
        f'token audiences ["vault" "other"] is invalid for the target audiences ["{ISSUER}"]'
    )


def test_audiences_may_be_one_text_or_none(maker: ServiceAccountTokens) -> None:
    payload = json.loads(KEYS.verify(issue(maker)))
    assert maker.verify(KEYS.sign(json.dumps(payload | {"aud": ISSUER}).encode()))
    del payload["aud"]
    assert maker.verify(KEYS.sign(json.dumps(payload).encode()))


@pytest.mark.parametrize(
    "token",
    [
        "",
        "t1",
        "a.b",
        "a.b.c",
        "a.e30.c",
        "a.é.c",
        "\udcff.b.c",
        f"a.{base64.urlsafe_b64encode(b'[' * 30_000).decode()}.c",
        jwt.encode({"iss": "https://elsewhere"}, "k" * 32, algorithm="HS256"),
    ],
)
def test_tokens_of_others_are_left_to_others(maker: ServiceAccountTokens, token: str) -> None:
    assert maker.verify(token) is None


def test_a_token_that_only_claims_to_be_ours_is_refused(maker: ServiceAccountTokens) -> None:
    stranger = SigningKeys(ec.generate_private_key(ec.SECP256R1()))
    with pytest.raises(Unauthorized, match="no keys found"):
        maker.verify(stranger.sign(KEYS.verify(issue(maker))))
    head, body, _ = issue(maker).split(".")
    for token in (f"{head}.{body}.AAAA", f".{body}.AAAA", f"{body}.{body}.AAAA"):
        with pytest.raises(Unauthorized, match=r"invalid (signature|bearer token)"):
            maker.verify(token)
    with pytest.raises(Unauthorized, match="invalid bearer token"):
        maker.verify(KEYS.sign(json.dumps({"iss": ISSUER, "exp": "soon"}).encode()))


def test_a_signature_is_verified_once(
    maker: ServiceAccountTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = issue(maker)
    first = maker.verify(token)
    monkeypatch.delattr(SigningKeys, "verify")
    again = maker.verify(token)
    assert first is not None
    assert again is not None
    assert again.user is first.user


def test_what_is_remembered_has_an_end(
    maker: ServiceAccountTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_account_tokens, "TOKENS_MAX", 2)
    for _ in range(5):
        maker.verify(issue(maker))
    assert len(maker._known) <= 2
