from __future__ import annotations

import pytest

from dray.errors import BadRequest, Forbidden
from dray.server.auth.impersonation import impersonate
from dray.server.auth.rbac import RBACAuthorizer
from dray.server.state import FixedState
from dray.server.user import User
from tests.unit.server.auth.builders import cluster_binding, cluster_role, rule, user

ALICE = user("alice", "system:authenticated")
AUTHENTICATION = {"groups": "authentication.k8s.io"}
AUTHORIZER = RBACAuthorizer(
    FixedState(
        cluster_role(
            "impersonator",
            rule("impersonate", "users", names="bob system:anonymous"),
            rule("impersonate", "groups", names="dev system:unauthenticated"),
            rule("impersonate", "serviceaccounts", names="driver"),
            rule("impersonate", "uids", names="u1", **AUTHENTICATION),
            rule("impersonate", "userextras/acme.com/scope", names="a b", **AUTHENTICATION),
        ),
        cluster_binding("b", "impersonator", "user:alice"),
    )
)
AS_BOB = {"impersonate-user": "bob"}


def test_without_the_headers_one_is_oneself() -> None:
    assert impersonate(ALICE, {"accept": "*/*"}, AUTHORIZER) is ALICE


@pytest.mark.parametrize(
    ("headers", "identity"),
    [
        pytest.param(AS_BOB, user("bob", "system:authenticated"), id="user"),
        pytest.param(
            {**AS_BOB, "impersonate-group": "dev"},
            user("bob", "dev", "system:authenticated"),
            id="group",
        ),
        pytest.param(
            {**AS_BOB, "impersonate-group": "dev, system:unauthenticated"},
            user("bob", "dev", "system:unauthenticated"),
            id="unauthenticated",
        ),
        pytest.param(
            {"impersonate-user": "system:anonymous"},
            user("system:anonymous", "system:unauthenticated"),
            id="anonymous",
        ),
        pytest.param(
            {"impersonate-user": "system:serviceaccount:team:driver"},
            user(
                "system:serviceaccount:team:driver",
                "system:serviceaccounts",
                "system:serviceaccounts:team",
                "system:authenticated",
            ),
            id="service-account",
        ),
        pytest.param(
            {"impersonate-user": "system:serviceaccount:team:driver", "impersonate-group": "dev"},
            user("system:serviceaccount:team:driver", "dev", "system:authenticated"),
            id="service-account-with-groups",
        ),
        pytest.param(
            {
                **AS_BOB,
                "impersonate-uid": "u1",
                "impersonate-extra-acme.com%2fscope": "a, b",
            },
            User(
                "bob",
                uid="u1",
                groups=("system:authenticated",),
                extra={"acme.com/scope": ("a", "b")},
            ),
            id="uid-and-extra",
        ),
    ],
)
def test_one_acts_as_whom_one_may(headers: dict[str, str], identity: User) -> None:
    assert impersonate(ALICE, headers, AUTHORIZER) == identity


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        (
            {"impersonate-user": "eve"},
            (
                'users "eve" is forbidden: User "alice" cannot impersonate resource "users"'
                ' in API group "" at the cluster scope'
            ),
        ),
        (
            {"impersonate-user": "system:serviceaccount:team:other"},
            (
                'serviceaccounts "other" is forbidden: User "alice" cannot impersonate resource'
                ' "serviceaccounts" in API group "" in the namespace "team"'
            ),
        ),
        (
            {**AS_BOB, "impersonate-group": "dev, system:masters"},
            (
                'groups "system:masters" is forbidden: User "alice" cannot impersonate resource'
                ' "groups" in API group "" at the cluster scope'
            ),
        ),
        (
            {**AS_BOB, "impersonate-uid": "u2"},
            (
                'uids.authentication.k8s.io "u2" is forbidden: User "alice" cannot impersonate'
                ' resource "uids" in API group "authentication.k8s.io" at the cluster scope'
            ),
        ),
        (
            {**AS_BOB, "impersonate-extra-acme.com%2fscope": "a, c"},
            (
                'userextras.authentication.k8s.io "c" is forbidden: User "alice" cannot impersonate'
                ' resource "userextras/acme.com/scope" in API group "authentication.k8s.io"'
                " at the cluster scope"
            ),
        ),
    ],
    ids=["user", "service-account", "group", "uid", "extra"],
)
def test_each_part_of_the_identity_must_be_allowed(headers: dict[str, str], message: str) -> None:
    with pytest.raises(Forbidden) as caught:
        impersonate(ALICE, headers, AUTHORIZER)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        (
            {"impersonate-group": "dev, ops"},
            '{Name:"", UID:"", Groups:[]string{"dev", "ops"}, Extra:map[string][]string(nil)}',
        ),
        (
            {"impersonate-uid": "u", "impersonate-extra-b": "1", "impersonate-extra-a": "2"},
            (
                '{Name:"", UID:"u", Groups:[]string(nil),'
                ' Extra:map[string][]string{"a":[]string{"2"}, "b":[]string{"1"}}}'
            ),
        ),
    ],
)
def test_groups_need_a_user_to_go_with(headers: dict[str, str], shown: str) -> None:
    with pytest.raises(BadRequest) as caught:
        impersonate(ALICE, headers, AUTHORIZER)
    assert caught.value.message == (
        f"requested &user.DefaultInfo{shown} without impersonating a user name"
    )
