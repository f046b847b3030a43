from __future__ import annotations

import base64
import json

import pytest

from dray.errors import BadRequest
from dray.server.continuation import ANY_REVISION, Continuation


def token(**parts: object) -> str:
    data = json.dumps({"v": "meta.k8s.io/v1", "rv": 7, "start": "a/b\0", **parts}).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(Continuation(7, "default/a"), id="a-state"),
        pytest.param(Continuation(ANY_REVISION, "x"), id="the-present"),
        pytest.param(Continuation(2**60, "ns/name.with.dots"), id="late"),
    ],
)
def test_a_place_survives_its_token(place: Continuation) -> None:
    assert Continuation.decode(place.encode()) == place


def test_a_token_is_written_as_upstream_writes_it() -> None:
    text = Continuation(7, "default/a").encode()
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    assert json.loads(data) == {"v": "meta.k8s.io/v1", "rv": 7, "start": "default/a\0"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("!!!", id="not-base64"),
        pytest.param("e30", id="nothing-in-it"),
        pytest.param("bm8", id="not-json"),
        pytest.param(token(v="v2"), id="another-version"),
        pytest.param(token(rv=0), id="no-revision"),
        pytest.param(token(rv=-2), id="negative"),
        pytest.param(token(start="\0"), id="no-key"),
        pytest.param(token(start="../secrets/x\0"), id="out-of-its-prefix"),
    ],
)
def test_a_token_that_we_did_not_write_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="continue key is not valid"):
        Continuation.decode(text)
