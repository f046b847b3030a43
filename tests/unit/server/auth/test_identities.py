from __future__ import annotations

import pytest

from dray.server.auth.identities import (
    authenticated,
    node_of,
    service_account_groups,
    service_account_of,
    service_account_user_name,
)
from dray.server.user import User


def test_a_service_account_is_recognized_by_the_name_it_was_given() -> None:
    name = service_account_user_name("team", "driver.v1")
    assert name == "system:serviceaccount:team:driver.v1"
    assert service_account_of(name) == ("team", "driver.v1")
    assert service_account_groups("team") == (
        "system:serviceaccounts",
        "system:serviceaccounts:team",
    )


@pytest.mark.parametrize(
    "name",
    [
        "bob",
        "system:serviceaccount:",
        "system:serviceaccount:team",
        "system:serviceaccount:team:",
        "system:serviceaccount:Team:driver",
        "system:serviceaccount:te.am:driver",
        "system:serviceaccount:team:driver:more",
    ],
)
def test_other_names_are_no_service_account(name: str) -> None:
    assert service_account_of(name) is None


@pytest.mark.parametrize(
    ("name", "groups", "node"),
    [
        pytest.param("system:node:n1", ("system:nodes",), "n1", id="node"),
        pytest.param("system:node:", ("system:nodes",), "", id="nobody-knows-which"),
        pytest.param("system:node:n1", (), None, id="not-in-the-group"),
        pytest.param("bob", ("system:nodes",), None, id="not-by-name"),
    ],
)
def test_a_node_needs_both_name_and_group(
    name: str, groups: tuple[str, ...], node: str | None
) -> None:
    assert node_of(User(name, groups=groups)) == node


def test_who_showed_who_they_are_is_authenticated() -> None:
    assert authenticated(User("bob", groups=("dev",))).groups == ("dev", "system:authenticated")
    for already in ("system:authenticated", "system:unauthenticated"):
        assert authenticated(User("bob", groups=(already,))).groups == (already,)
