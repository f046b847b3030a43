from __future__ import annotations

import base64
from pathlib import Path

import pytest

from dray.errors import Unauthorized
from dray.http.messages import Peer
from dray.server.auth.authenticator import TOKEN_CHARACTERS_MAX, Authenticator
from dray.server.auth.certificates import Certificates
from dray.server.auth.token_file import TokenFile
from dray.server.state import FixedState
from dray.server.user import ANONYMOUS
from dray.testing import FakeClock
from tests.unit.server.auth.accounts import ACCOUNT, ISSUER, tokens
from tests.unit.server.auth.certificate_builder import certificate

SOMEBODY = Peer("192.0.2.1:4711")
CLOCK = FakeClock()
STATE = FixedState(ACCOUNT)
MAKER = tokens(STATE, CLOCK)
TOKEN = MAKER.issue(ACCOUNT, audiences=[ISSUER], expiration_seconds=3600)
WEBSOCKET = {"upgrade": "websocket"}


@pytest.fixture
def authenticator(tmp_path: Path) -> Authenticator:
    path = tmp_path / "tokens.csv"
    path.touch(mode=0o600)
    path.write_text("t1,bob,u1\n")
    return Authenticator(
        certificates=Certificates(CLOCK),
        token_file=TokenFile(path, CLOCK),
        service_accounts=MAKER,
    )


def protocol(token: bytes) -> str:
    encoded = base64.urlsafe_b64encode(token).decode().rstrip("=")
    return f"base64url.bearer.authorization.k8s.io.{encoded}"


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({"authorization": "Bearer t1"}, "bob"),
        ({"authorization": "bearer t1 "}, "bob"),
        ({"authorization": f"Bearer {TOKEN}"}, "system:serviceaccount:team:driver"),
        ({"sec-websocket-protocol": f"v5.channel.k8s.io, {protocol(b't1')}", **WEBSOCKET}, "bob"),
        ({}, "system:anonymous"),
        ({"authorization": ""}, "system:anonymous"),
        ({"authorization": "Bearer"}, "system:anonymous"),
        ({"authorization": "Basic Ym9iOmJvYg=="}, "system:anonymous"),
        ({"sec-websocket-protocol": f"a,{protocol(b't1')}"}, "system:anonymous"),
        ({"sec-websocket-protocol": f"a,{protocol(b'')}", **WEBSOCKET}, "system:anonymous"),
        ({"sec-websocket-protocol": "v5.channel.k8s.io", **WEBSOCKET}, "system:anonymous"),
    ],
)
def test_a_request_is_known_by_its_token(
    authenticator: Authenticator, headers: dict[str, str], name: str
) -> None:
    user = authenticator.authenticate(headers, SOMEBODY)
    assert user.name == name
    known = "system:unauthenticated" if user is ANONYMOUS else "system:authenticated"
    assert user.groups[-1] == known


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer nonsense"},
        {"authorization": f"Bearer {TOKEN[:-4]}AAAA"},
        {"authorization": f"Bearer {'x' * (TOKEN_CHARACTERS_MAX + 1)}"},
        {"sec-websocket-protocol": protocol(b"t1"), **WEBSOCKET},
        {"sec-websocket-protocol": f"a, {protocol(b'wrong')}", **WEBSOCKET},
        {"sec-websocket-protocol": f"a, {protocol(b't1')}, {protocol(b't1')}", **WEBSOCKET},
        {"sec-websocket-protocol": f"a, {protocol(b't1')}!", **WEBSOCKET},
        {"sec-websocket-protocol": f"a, {protocol(bytes([255]))}", **WEBSOCKET},
    ],
)
def test_bad_credentials_are_refused_without_a_word_on_why(
    authenticator: Authenticator, headers: dict[str, str]
) -> None:
    with pytest.raises(Unauthorized, match=r"^Unauthorized$"):
        authenticator.authenticate(headers, SOMEBODY)


def test_a_certificate_goes_before_a_token(authenticator: Authenticator) -> None:
    peer = Peer("192.0.2.1:4711", certificate("eve"))
    assert authenticator.authenticate({"authorization": "Bearer t1"}, peer).name == "eve"
    assert authenticator.authenticate({"authorization": "Bearer nonsense"}, peer).name == "eve"


def test_a_certificate_that_does_not_count_leaves_the_token_to_decide(
    authenticator: Authenticator,
) -> None:
    nameless = Peer("192.0.2.1:4711", certificate())
    assert authenticator.authenticate({}, nameless) is ANONYMOUS
    over = Peer("192.0.2.1:4711", b"not a certificate")
    assert authenticator.authenticate({"authorization": "Bearer t1"}, over).name == "bob"
    with pytest.raises(Unauthorized):
        authenticator.authenticate({}, over)


def test_strangers_may_be_kept_out() -> None:
    with pytest.raises(Unauthorized):
        Authenticator(anonymous=False).authenticate({}, SOMEBODY)


def test_a_token_from_the_file_is_for_this_server(authenticator: Authenticator) -> None:
    assert authenticator.token("t1").audiences == (ISSUER,)
    assert authenticator.token("t1", ["x", ISSUER]).audiences == (ISSUER,)
    with pytest.raises(Unauthorized, match=r"^invalid bearer token$"):
        authenticator.token("t1", ["x"])


def test_why_a_token_is_not_good_is_for_reviews_to_say(authenticator: Authenticator) -> None:
    with pytest.raises(Unauthorized, match=r"^invalid bearer token$"):
        authenticator.token("nonsense")
    with pytest.raises(Unauthorized, match=r"^token audiences"):
        authenticator.token(TOKEN, ["vault"])
