from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.api.meta import Object
from dray.api.rbac import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    RoleRef,
    Subject,
)
from dray.errors import NotFound
from dray.server.auth import rbac
from dray.server.auth.aggregation import effective_rules
from dray.server.auth.policy import rule_allows
from dray.server.auth.rbac import RBACAuthorizer
from dray.server.state import FixedState
from dray.server.user import Attributes, User
from tests.unit.server.auth.builders import (
    aggregate,
    binding,
    cluster_binding,
    cluster_role,
    request,
    role,
    rule,
    user,
)

BOB = user("bob", "dev")


def decide(state: FixedState, attributes: Attributes) -> tuple[bool | None, str]:
    decision = RBACAuthorizer(state).authorize(attributes)
    return decision.allowed, decision.reason


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        pytest.param(
            [cluster_role("reads", rule("get", "pods")), cluster_binding("b", "reads", "user:bob")],
            'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reads" to User "bob"',
            id="cluster-role-binding",
        ),
        pytest.param(
            [role("r1", rule("get", "pods")), binding("rb1", "r1", "user:eve", "group:dev")],
            'RBAC: allowed by RoleBinding "rb1/team" of Role "r1" to Group "dev"',
            id="role-binding-to-a-group",
        ),
        pytest.param(
            [
                cluster_role("reads", rule("get", "pods")),
                binding("rb1", "reads", "user:bob", kind="ClusterRole"),
            ],
            'RBAC: allowed by RoleBinding "rb1/team" of ClusterRole "reads" to User "bob"',
            id="role-binding-of-a-cluster-role",
        ),
    ],
)
def test_a_decision_names_the_binding_that_allowed(objects: list[Object], reason: str) -> None:
    attributes = request(BOB, "get", "pods", namespace="team", name="p")
    assert decide(FixedState(*objects), attributes) == (True, reason)


@pytest.mark.parametrize(
    ("named", "shown"), [("sa:driver@team", "driver/team"), ("sa:driver", "driver/team")]
)
def test_a_service_account_is_meant_by_namespace_and_name(named: str, shown: str) -> None:
    state = FixedState(role("r", rule("get", "pods")), binding("b", "r", named))
    asked = request(user("system:serviceaccount:team:driver"), "get", "pods", namespace="team")
    reason = f'RBAC: allowed by RoleBinding "b/team" of Role "r" to ServiceAccount "{shown}"'
    assert decide(state, asked) == (True, reason)


def test_a_cluster_binding_of_a_service_account_without_namespace_names_nobody() -> None:
    state = FixedState(
        cluster_role("r", rule("get", "pods")), cluster_binding("b", "r", "sa:driver")
    )
    asked = request(user("system:serviceaccount::driver"), "get", "pods")
    assert decide(state, asked) == (None, "")


def test_a_role_binding_holds_in_its_namespace_only() -> None:
    state = FixedState(role("r", rule("*", "*", groups="*")), binding("b", "r", "user:bob"))
    assert decide(state, request(BOB, "get", "pods", namespace="other")) == (None, "")
    assert decide(state, request(BOB, "list", "pods")) == (None, "")


def test_paths_are_granted_by_cluster_bindings() -> None:
    state = FixedState(
        cluster_role("r", rule("get", urls="/metrics")), cluster_binding("b", "r", "user:bob")
    )
    authorizer = RBACAuthorizer(state)
    assert authorizer.authorize(Attributes(BOB, "get", path="/metrics")).allowed
    assert authorizer.authorize(Attributes(BOB, "get", path="/healthz")).allowed is None


def test_one_remembered_decision_serves_every_name() -> None:
    state = FixedState(
        role("some", rule("get", "pods", names="a")),
        role("zz-all", rule("get", "pods")),
        binding("b1", "some", "user:bob"),
        binding("b2", "zz-all", "user:bob"),
    )
    authorizer = RBACAuthorizer(state)
    reasons = [
        authorizer.authorize(request(BOB, "get", "pods", namespace="team", name=name)).reason
        for name in ("b", "a", "c")
    ]
    assert ["b1" in reason for reason in reasons] == [False, True, False]
    assert len(authorizer._decisions) == 1


def test_a_refusal_tells_of_roles_that_do_not_exist() -> None:
    state = FixedState(cluster_binding("b1", "gone", "user:bob"), binding("b2", "lost", "user:bob"))
    assert decide(state, request(BOB, "get", "pods", namespace="team")) == (
        None,
        (
            'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found,'
            ' role.rbac.authorization.k8s.io "lost" not found]'
        ),
    )
    assert decide(state, request(BOB, "get", "pods")) == (
        None,
        'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
    )


def test_every_change_of_roles_and_bindings_is_seen_at_once() -> None:
    state = FixedState()
    authorizer = RBACAuthorizer(state)
    asked = request(BOB, "get", "pods", namespace="team")
    changes: list[tuple[Object, bool]] = [
        (role("r", rule("get", "pods")), False),
        (binding("b", "r", "user:bob"), True),
        (role("r", rule("get", "jobs")), False),
        (cluster_role("reads", rule("get", "pods"), to="sum"), False),
        (aggregate("sum", {"to": "sum"}), False),
        (cluster_binding("cb", "sum", "group:dev"), True),
        (cluster_role("reads", to="sum"), False),
    ]
    for obj, allowed in changes:
        state.put(obj)
        assert bool(authorizer.authorize(asked).allowed) is allowed, obj.metadata.name


def test_a_write_in_another_namespace_leaves_decisions_alone() -> None:
    state = FixedState(role("r", rule("get", "pods")), binding("b", "r", "user:bob"))
    authorizer = RBACAuthorizer(state)
    asked = request(BOB, "get", "pods", namespace="team")
    authorizer.authorize(asked)
    (before,) = authorizer._decisions.values()
    state.put(binding("b", "r", "user:eve", namespace="other"))
    authorizer.authorize(asked)
    assert list(authorizer._decisions.values()) == [before]


def test_what_is_remembered_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rbac, "DECISIONS_MAX", 3)
    monkeypatch.setattr(rbac, "NAMESPACES_MAX", 2)
    authorizer = RBACAuthorizer(FixedState())
    for number in range(20):
        authorizer.authorize(request(BOB, "get", "pods", namespace=f"n{number}"))
    assert len(authorizer._decisions) <= 3
    assert len(authorizer._namespaces) <= 2


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(request(BOB, "get", "p" * 5000), id="resource"),
        pytest.param(request(BOB, "get", "pods/" + "p" * 5000), id="subresource"),
        pytest.param(Attributes(BOB, "get", path="/" * 5000), id="path"),
        pytest.param(request(BOB, "v" * 5000, "pods"), id="verb"),
        pytest.param(request(BOB, "get", "pods", group="g" * 5000), id="group"),
        pytest.param(request(user("u" * 5000), "get", "pods"), id="user"),
        pytest.param(request(user("bob", *["dev"] * 2000), "get", "pods"), id="users-groups"),
        pytest.param(request(BOB, "get", "pods", namespace="n" * 64), id="namespace"),
    ],
)
def test_what_is_long_is_decided_and_not_remembered(asked: Attributes) -> None:
    state = FixedState(
        cluster_role("all", rule("*", "*", groups="*"), rule("*", urls="*")),
        cluster_binding("b", "all", f"user:{asked.user.name}"),
    )
    authorizer = RBACAuthorizer(state)
    for _ in range(2):
        assert authorizer.authorize(asked).allowed
    assert authorizer._decisions == {}
    assert authorizer._namespaces == {}


def test_the_text_that_is_remembered_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rbac, "DECISION_CHARS_MAX", 100)
    authorizer = RBACAuthorizer(FixedState())
    for number in range(20):
        authorizer.authorize(request(BOB, "get", f"{number}" + "x" * 30))
        assert 1 <= len(authorizer._decisions) <= 2


def test_a_decision_taken_again_counts_once() -> None:
    state = FixedState(role("r", rule("get", "pods")))
    authorizer = RBACAuthorizer(state)
    for subject in ("user:eve", "user:bob"):
        state.put(binding("b", "r", subject))
        authorizer.authorize(request(BOB, "get", "pods", namespace="team"))
    assert authorizer._decision_chars == len("bob" + "dev" + "get" + "pods" + "team")


def test_all_rules_of_a_user_are_listed_cluster_first() -> None:
    state = FixedState(
        cluster_role("wide", rule("list", "nodes")),
        role("r", rule("get", "pods")),
        cluster_binding("cb", "wide", "group:dev"),
        binding("b", "r", "user:bob"),
        binding("c", "lost", "user:bob"),
    )
    authorizer = RBACAuthorizer(state)
    lost = 'role.rbac.authorization.k8s.io "lost" not found'
    assert authorizer.rules_for(BOB, "team") == (
        [rule("list", "nodes"), rule("get", "pods")],
        [lost],
    )
    assert authorizer.rules_for(BOB) == ([rule("list", "nodes")], [])


def test_a_role_is_resolved_where_its_binding_would_be() -> None:
    state = FixedState(cluster_role("wide", rule("list", "nodes")), role("r", rule("get", "pods")))
    authorizer = RBACAuthorizer(state)
    assert authorizer.role_rules(RoleRef(kind="ClusterRole", name="wide"), "team") == (
        rule("list", "nodes"),
    )
    assert authorizer.role_rules(RoleRef(kind="Role", name="r"), "team") == (rule("get", "pods"),)
    with pytest.raises(NotFound, match=r'^role.rbac.authorization.k8s.io "r" not found$'):
        authorizer.role_rules(RoleRef(kind="Role", name="r"), "other")
    with pytest.raises(NotFound, match=r'^unsupported role reference kind: "Group"$'):
        authorizer.role_rules(RoleRef(kind="Group", name="r"), "other")


# Against an evaluator that remembers nothing ---------------------------------------------------

VERBS = ("get", "list", "*")
GROUPS = ("", "apps", "*")
RESOURCES = ("pods", "pods/status", "*/status", "*")
NAMES = ("a", "b")
NAMESPACES = ("n1", "n2")
USERS = (user("u1", "g1"), user("u2", "g1", "g2"), user("system:serviceaccount:n1:s"))


def some(values: tuple[str, ...], low: int = 1) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(values), min_size=low, max_size=2, unique=True).map(" ".join)


rules = st.builds(
    lambda verbs, resources, groups, names: rule(verbs, resources, groups=groups, names=names),
    some(VERBS),
    some(RESOURCES),
    st.sampled_from(GROUPS),
    some(NAMES, 0),
) | st.builds(lambda verbs, url: rule(verbs, urls=url), some(VERBS), st.sampled_from(["/a", "/*"]))
rule_lists = st.lists(rules, max_size=2)
subjects = st.lists(
    st.sampled_from(["user:u1", "user:u2", "group:g1", "group:g2", "sa:s", "sa:s@n1"]),
    max_size=2,
)
role_names = st.sampled_from(["r1", "r2"])
objects = st.one_of(
    st.builds(lambda name, held: cluster_role(name, *held, to=name), role_names, rule_lists),
    st.builds(lambda name, to: aggregate(name, {"to": to}), role_names, role_names),
    st.builds(
        lambda name, held, ns: role(name, *held, namespace=ns),
        role_names,
        rule_lists,
        st.sampled_from(NAMESPACES),
    ),
    st.builds(
        lambda name, to, whom: cluster_binding(name, to, *whom), role_names, role_names, subjects
    ),
    st.builds(
        lambda name, to, whom, kind, ns: binding(name, to, *whom, kind=kind, namespace=ns),
        role_names,
        role_names,
        subjects,
        st.sampled_from(["Role", "ClusterRole"]),
        st.sampled_from(NAMESPACES),
    ),
)

QUESTIONS = [
    request(who, verb, resource, group=group, namespace=namespace, name=name)
    for who, verb, resource, group, namespace, name in product(
        USERS, ("get", "list"), ("pods", "pods/status"), ("", "apps"), ("", *NAMESPACES), ("", "a")
    )
] + [Attributes(who, "get", path=path) for who, path in product(USERS, ("/a", "/b"))]


def naive_rules(state: FixedState, who: User, namespace: str) -> Iterator[PolicyRule]:
    cluster_rules = effective_rules(state.list(ClusterRole))
    for cluster in state.list(ClusterRoleBinding):
        if any(naively_applies(subject, who, "") for subject in cluster.subjects):
            yield from cluster_rules.get(cluster.role_ref.name, ())
    for local in state.list(RoleBinding, namespace) if namespace else ():
        if not any(naively_applies(subject, who, namespace) for subject in local.subjects):
            continue
        if local.role_ref.kind == "ClusterRole":
            yield from cluster_rules.get(local.role_ref.name, ())
        elif found := state.get(Role, local.role_ref.name, namespace):
            yield from found.rules or ()


def naively_applies(subject: Subject, who: User, namespace: str) -> bool:
    if subject.kind == "ServiceAccount":
        owner = subject.namespace or namespace
        return bool(owner) and who.name == f"system:serviceaccount:{owner}:{subject.name}"
    return subject.name in (who.groups if subject.kind == "Group" else (who.name,))


@settings(max_examples=100, deadline=None)
@given(st.lists(objects, min_size=4, max_size=14))
@pytest.mark.slow
def test_decisions_equal_those_of_walking_all_rules(steps: list[Object]) -> None:
    """While objects come and change, one authorizer agrees with an evaluator without memory."""
    state = FixedState()
    authorizer = RBACAuthorizer(state)
    for number, obj in enumerate(steps):
        state.put(obj)
        if number % 4 and number != len(steps) - 1:
            continue
        for asked in QUESTIONS:
            expected = any(
                rule_allows(held, asked) for held in naive_rules(state, asked.user, asked.namespace)
            )
            assert bool(authorizer.authorize(asked).allowed) is expected, asked
