from __future__ import annotations

import pytest

from dray.api.meta import Object, OwnerReference
from dray.api.rbac import PolicyRule
from dray.api.wire import replace
from dray.errors import Forbidden, NotFound
from dray.server.auth import escalation
from dray.server.auth.chain import Chain
from dray.server.auth.escalation import check_escalation
from dray.server.auth.rbac import RBACAuthorizer
from dray.server.state import FixedState
from dray.server.user import User
from tests.unit.server.auth.builders import (
    aggregate,
    binding,
    cluster_binding,
    cluster_role,
    role,
    rule,
    user,
)

BOB = user("bob", "dev", "system:authenticated")
EVE = user("eve")
ROOT = user("root", "system:masters")
ADMIN = user("admin")
RBAC = {"groups": "rbac.authorization.k8s.io"}
PODS, SECRETS = rule("get list", "pods"), rule("get", "secrets")
HELD: list[Object] = [
    role("reads", PODS),
    role("keeps", SECRETS),
    cluster_role("wide", SECRETS),
    cluster_role("all", rule("*", "*", groups="*"), rule("*", urls="*")),
    cluster_role(
        "grants",
        rule("escalate", "clusterroles", names="known", **RBAC),
        rule("bind", "clusterroles", names="wide", **RBAC),
    ),
    binding("b", "reads", "user:bob"),
    cluster_binding("e", "grants", "user:eve"),
    cluster_binding("a", "all", "user:admin"),
]


def check(who: User, new: Object, old: Object | None = None, *more: Object) -> None:
    rules = RBACAuthorizer(FixedState(*HELD, *more))
    check_escalation(who, new, old, Chain({"rbac": rules}), rules)  # type: ignore[arg-type]  # tables mix kinds


@pytest.mark.parametrize(
    ("who", "new", "old"),
    [
        pytest.param(BOB, role("new", PODS), None, id="what-one-has"),
        pytest.param(BOB, role("new"), None, id="nothing"),
        pytest.param(BOB, role("new", rule("get", "pods", names="a")), None, id="less"),
        pytest.param(BOB, binding("new", "reads", "user:x"), None, id="binding-what-one-has"),
        pytest.param(ROOT, cluster_role("new", SECRETS), None, id="masters"),
        pytest.param(ROOT, cluster_binding("new", "absent"), None, id="masters-bind"),
        pytest.param(
            EVE, cluster_role("known", SECRETS), cluster_role("known"), id="may-escalate-this-one"
        ),
        pytest.param(EVE, cluster_binding("new", "wide", "user:x"), None, id="may-bind-this-one"),
        pytest.param(
            EVE, binding("new", "wide", "user:x", kind="ClusterRole"), None, id="in-a-namespace"
        ),
        pytest.param(ADMIN, aggregate("new", {"to": "new"}), None, id="all-rights-may-aggregate"),
    ],
)
def test_one_grants_what_one_has_or_may_grant(who: User, new: Object, old: Object | None) -> None:
    check(who, new, old)


@pytest.mark.parametrize(
    ("who", "new", "old", "message"),
    [
        pytest.param(
            BOB,
            role("new", PODS, rule("list get", "secrets"), rule("get", urls="/x")),
            None,
            'roles.rbac.authorization.k8s.io "new" is forbidden: user "bob"'
            ' (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions'
            ' not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["list" "get"]}\n'
            '{NonResourceURLs:["/x"], Verbs:["get"]}',
            id="role",
        ),
        pytest.param(
            BOB,
            role("new", PODS, namespace="other"),
            None,
            'roles.rbac.authorization.k8s.io "new" is forbidden: user "bob"'
            ' (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions'
            ' not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
            id="elsewhere",
        ),
        pytest.param(
            BOB,
            binding("new", "keeps", "user:x"),
            None,
            'rolebindings.rbac.authorization.k8s.io "new" is forbidden: user "bob"'
            ' (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions'
            ' not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
            id="binding",
        ),
        pytest.param(
            EVE,
            cluster_binding("new", "all", "user:x"),
            None,
            'clusterrolebindings.rbac.authorization.k8s.io "new" is forbidden: user "eve"'
            " (groups=[]) is attempting to grant RBAC permissions not currently held:\n"
            '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n'
            '{NonResourceURLs:["*"], Verbs:["*"]}',
            id="cluster-binding",
        ),
        pytest.param(
            EVE,
            cluster_role("known", SECRETS),
            None,
            'clusterroles.rbac.authorization.k8s.io "known" is forbidden: user "eve" (groups=[])'
            " is attempting to grant RBAC permissions not currently held:\n"
            '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
            id="a-new-role-has-no-name-yet",
        ),
        pytest.param(
            BOB,
            aggregate("new", {"to": "new"}),
            None,
            'clusterroles.rbac.authorization.k8s.io "new" is forbidden:'
            " must have cluster-admin privileges to use the aggregationRule",
            id="aggregation",
        ),
        pytest.param(
            BOB,
            cluster_role("new"),
            aggregate("new", {"to": "new"}),
            'clusterroles.rbac.authorization.k8s.io "new" is forbidden:'
            " must have cluster-admin privileges to use the aggregationRule",
            id="aggregation-that-was",
        ),
    ],
)
def test_nobody_grants_more_than_they_have(
    who: User, new: Object, old: Object | None, message: str
) -> None:
    with pytest.raises(Forbidden) as caught:
        check(who, new, old)
    assert caught.value.message == message


def test_a_refusal_tells_of_roles_that_could_not_be_found() -> None:
    with pytest.raises(Forbidden) as caught:
        check(BOB, role("new", SECRETS), None, binding("x", "lost", "user:bob"))
    assert caught.value.message.endswith(
        '; resolution errors: [role.rbac.authorization.k8s.io "lost" not found]'
    )


def test_binding_a_role_that_is_not_there_is_no_way_around() -> None:
    with pytest.raises(NotFound, match=r'role.rbac.authorization.k8s.io "absent" not found'):
        check(BOB, binding("new", "absent", "user:x"))


def test_what_the_garbage_collector_writes_needs_no_rights() -> None:
    old = role("r", SECRETS)
    owners = (OwnerReference(api_version="v1", kind="ConfigMap", name="c", uid="u"),)
    collected = replace(old.metadata, finalizers=("x",), owner_references=owners)
    check(BOB, replace(old, metadata=collected), old)
    relabelled = replace(old.metadata, labels={"a": "b"})
    with pytest.raises(Forbidden):
        check(BOB, replace(old, metadata=relabelled), old)


def wide(size: int, prefix: str = "") -> PolicyRule:
    return PolicyRule(
        verbs=tuple(f"{prefix}v{i}" for i in range(size)),
        api_groups=tuple(f"{prefix}g{i}" for i in range(size)),
        resources=tuple(f"{prefix}r{i}" for i in range(size)),
    )


def refusal(new: Object, *more: Object) -> str:
    with pytest.raises(Forbidden) as caught:
        check(BOB, new, None, *more)
    return caught.value.message


def test_a_refusal_lists_so_many_permissions_and_counts_the_rest() -> None:
    message = refusal(role("new", wide(80)))
    assert message.endswith(f"\n... and {80**3 - escalation.LISTED_PERMISSIONS_MAX} more")
    assert message.count('" "') < 2 * escalation.LISTED_PERMISSIONS_MAX


def test_a_refusal_of_an_ordinary_role_lists_everything() -> None:
    message = refusal(role("new", wide(10)))
    assert message.count("\n") == 100
    assert "more" not in message


def test_a_refusal_does_not_repeat_long_words_without_end() -> None:
    message = refusal(role("new", wide(5, "x" * 10_000)))
    assert len(message) < escalation.LISTED_CHARS_MAX + 1000
    assert message.endswith(" more")


def test_rules_too_wide_to_be_checked_are_refused() -> None:
    parts = [rule("v0", f"r{i}", groups=f"g{i}") for i in range(80)]
    held = (role("parts", *parts), binding("p", "parts", "user:bob"))
    assert refusal(role("new", wide(80)), *held) == (
        'roles.rbac.authorization.k8s.io "new" is forbidden: the rules are too wide to be checked'
        ' against those that user "bob" has: it takes more than 100000 steps; grant less at once'
    )
