"""Requests, one by one."""

from __future__ import annotations

import pytest

from dray.allocator.requests import claim_key
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from tests.unit.allocator.builders import claim, want


@pytest.mark.parametrize(
    ("names", "named"),
    [
        pytest.param((), True, id="nobody-is-everybody"),
        pytest.param(("req",), True, id="its-name"),
        pytest.param(("other",), False, id="another-name"),
        pytest.param(("other", "req"), True, id="one-of-several"),
        pytest.param(("req/sub",), False, id="an-alternative-it-has-not"),
    ],
)
def test_a_request_is_meant_by_its_name(names: tuple[str, ...], named: bool) -> None:
    assert want(name="req").named_by(names) is named


@pytest.mark.parametrize(
    ("names", "named"),
    [
        pytest.param(("req",), True, id="the-request"),
        pytest.param(("req/sub",), True, id="the-alternative"),
        pytest.param(("req/other",), False, id="another-alternative"),
        pytest.param(("sub",), False, id="its-own-name-alone"),
    ],
)
def test_an_alternative_is_meant_by_its_request_or_its_full_name(
    names: tuple[str, ...], named: bool
) -> None:
    assert want(name="sub", parent="req").named_by(names) is named


def test_a_claim_is_named_with_its_namespace_if_it_has_one() -> None:
    one = claim(name="mine")
    assert claim_key(one) == "default/mine"
    assert claim_key(replace(one, metadata=ObjectMeta(name="mine"))) == "mine"
