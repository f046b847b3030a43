from __future__ import annotations

import json
from typing import Any

import pytest

from dray.api.authentication import BoundObjectReference, TokenRequest, TokenRequestSpec
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.errors import APIError, BadRequest, Conflict, Invalid, NotFound
from dray.server.auth.token_requests import TokenAnswer, TokenRequests
from dray.server.state import FixedState
from dray.testing import FakeClock
from tests.unit.server.auth.accounts import ACCOUNT, ISSUER, KEYS, NODE, POD, SECRET, tokens
from tests.unit.server.auth.pods import pod

CLOCK = FakeClock()
STATE = FixedState(ACCOUNT, POD, NODE, SECRET, pod("other", account="else"))
BINDING = BoundObjectReference(api_version="v1", kind="Pod", name="p")


def ask(
    spec: TokenRequestSpec, metadata: ObjectMeta | None = None, *, seconds_max: int = 0
) -> TokenAnswer:
    requests = TokenRequests(STATE, tokens(STATE, CLOCK), CLOCK, expiration_seconds_max=seconds_max)
    asked = TokenRequest(metadata=metadata or ObjectMeta(), spec=spec)
    return requests.issue(requests.prepare(asked, "team", "driver"))


def payload(answer: TokenAnswer) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(KEYS.verify(answer.request.status.token))
    return content


def test_a_request_for_anything_gets_an_hour_for_this_server() -> None:
    answer = ask(TokenRequestSpec())
    request, claims = answer.request, payload(answer)
    assert request.spec.audiences == (ISSUER,)
    assert request.spec.expiration_seconds == 3600
    assert str(request.status.expiration_timestamp) == "2026-01-01T01:00:00Z"
    metadata = request.metadata
    assert (metadata.name, metadata.namespace, metadata.uid) == ("driver", "team", "sa-1")
    assert str(metadata.creation_timestamp) == "2026-01-01T00:00:00Z"
    assert claims["aud"] == [ISSUER]
    assert claims["exp"] - claims["iat"] == 3600
    assert answer.warnings == ()


def test_audiences_and_time_are_as_asked() -> None:
    claims = payload(ask(TokenRequestSpec(audiences=("vault",), expiration_seconds=600)))
    assert claims["aud"] == ["vault"]
    assert claims["exp"] - claims["iat"] == 600


@pytest.mark.parametrize(
    ("kind", "name", "bound"),
    [
        (
            "Pod",
            "p",
            {"pod": {"name": "p", "uid": "uid-p"}, "node": {"name": "n1", "uid": "node-1"}},
        ),
        ("Node", "n1", {"node": {"name": "n1", "uid": "node-1"}}),
        ("Secret", "s", {"secret": {"name": "s", "uid": "secret-1"}}),
    ],
)
def test_a_token_is_bound_as_asked(kind: str, name: str, bound: dict[str, Any]) -> None:
    reference = BoundObjectReference(api_version="v1", kind=kind, name=name)
    claims = payload(ask(TokenRequestSpec(bound_object_ref=reference)))["kubernetes.io"]
    account = {"namespace": "team", "serviceaccount": {"name": "driver", "uid": "sa-1"}}
    assert claims == account | bound


def test_a_pods_node_is_named_even_if_it_is_gone() -> None:
    state = FixedState(ACCOUNT, POD)
    requests = TokenRequests(state, tokens(state, CLOCK), CLOCK)
    asked = TokenRequest(spec=TokenRequestSpec(bound_object_ref=BINDING))
    answer = requests.issue(requests.prepare(asked, "team", "driver"))
    assert payload(answer)["kubernetes.io"]["node"] == {"name": "n1"}


def test_the_token_kubelets_ask_for_outlives_its_hour() -> None:
    spec = TokenRequestSpec(expiration_seconds=3607, bound_object_ref=BINDING)
    answer = ask(spec)
    claims = payload(answer)
    assert claims["exp"] - claims["iat"] == 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607
    assert str(answer.request.status.expiration_timestamp) == "2026-01-01T01:00:07Z"
    for other in (
        replace(spec, audiences=("vault",)),
        replace(spec, bound_object_ref=None),
        replace(spec, expiration_seconds=3608),
    ):
        assert "warnafter" not in payload(ask(other))["kubernetes.io"]


def test_a_longer_wish_than_the_server_grants_is_shortened_with_a_warning() -> None:
    answer = ask(TokenRequestSpec(expiration_seconds=7200), seconds_max=3000)
    assert answer.warnings == ("requested expiration of 7200 seconds shortened to 3000 seconds",)
    assert answer.request.spec.expiration_seconds == 3000


@pytest.mark.parametrize(
    ("spec", "metadata", "kind", "message"),
    [
        pytest.param(
            TokenRequestSpec(expiration_seconds=599),
            ObjectMeta(),
            Invalid,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds:'
            " Invalid value: 599: may not specify a duration less than 10 minutes",
            id="too-short",
        ),
        pytest.param(
            TokenRequestSpec(expiration_seconds=(1 << 32) + 1),
            ObjectMeta(),
            Invalid,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds:'
            " Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds",
            id="too-long",
        ),
        pytest.param(
            TokenRequestSpec(attestations={"a": ("b",)}),
            ObjectMeta(),
            Invalid,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.attestations: Invalid value:'
            ' {"a":["b"]}: attestations may only be specified with a webhook bound object'
            " reference",
            id="attestations",
        ),
        pytest.param(
            TokenRequestSpec(),
            ObjectMeta(name="x"),
            Invalid,
            'TokenRequest.authentication.k8s.io "driver" is invalid: metadata.name: Invalid value:'
            ' "x": must match the service account name if specified',
            id="other-name",
        ),
        pytest.param(
            TokenRequestSpec(),
            ObjectMeta(namespace="x"),
            Invalid,
            'TokenRequest.authentication.k8s.io "driver" is invalid: metadata.namespace:'
            ' Invalid value: "x": must match the service account namespace if specified',
            id="other-namespace",
        ),
        pytest.param(
            TokenRequestSpec(),
            ObjectMeta(uid="x"),
            Conflict,
            "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io"
            ' "driver": the UID in the token request (x) does not match the UID of the service'
            " account (sa-1)",
            id="other-uid",
        ),
        pytest.param(
            TokenRequestSpec(bound_object_ref=replace(BINDING, name="absent")),
            ObjectMeta(),
            NotFound,
            'pods "absent" not found',
            id="no-such-pod",
        ),
        pytest.param(
            TokenRequestSpec(bound_object_ref=replace(BINDING, name="other")),
            ObjectMeta(),
            BadRequest,
            'cannot bind token for serviceaccount "driver" to pod running with different'
            " serviceaccount name.",
            id="pod-of-another-account",
        ),
        pytest.param(
            TokenRequestSpec(bound_object_ref=replace(BINDING, uid="x")),
            ObjectMeta(),
            Conflict,
            'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (x)'
            " does not match the UID in record. The object might have been deleted and then"
            " recreated",
            id="pod-of-another-uid",
        ),
        pytest.param(
            TokenRequestSpec(
                bound_object_ref=BoundObjectReference(
                    api_version="apps/v1", kind="Deployment", name="d"
                )
            ),
            ObjectMeta(),
            BadRequest,
            "cannot bind token to object of type apps/v1, Kind=Deployment",
            id="other-kind",
        ),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(
    spec: TokenRequestSpec, metadata: ObjectMeta, kind: type[APIError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        ask(spec, metadata)
    assert caught.value.message == message


def test_there_is_no_token_for_an_account_that_is_not_there() -> None:
    requests = TokenRequests(FixedState(), tokens(FixedState(), CLOCK), CLOCK)
    with pytest.raises(NotFound, match=r'^serviceaccounts "driver" not found$'):
        requests.prepare(TokenRequest(), "team", "driver")
