from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.api.rbac import PolicyRule
from dray.server.auth.policy import (
    STEPS_MAX,
    compact,
    describe,
    missing,
    permission_count,
    rule_allows,
    single_permissions,
    uncovered,
)
from dray.server.user import Attributes
from tests.unit.server.auth.builders import request, rule, user

PODS = rule("get", "pods")


@pytest.mark.parametrize(
    ("held", "asked", "allowed"),
    [
        pytest.param(rule("get", "pods"), request(user(), "get", "pods"), True, id="exact"),
        pytest.param(rule("get", "pods"), request(user(), "list", "pods"), False, id="verb"),
        pytest.param(rule("*", "pods"), request(user(), "bind", "pods"), True, id="any-verb"),
        pytest.param(
            rule("get", "pods"), request(user(), "get", "pods", group="apps"), False, id="group"
        ),
        pytest.param(
            rule("get", "pods", groups="*"),
            request(user(), "get", "pods", group="apps"),
            True,
            id="any-group",
        ),
        pytest.param(
            rule("get", "pods"), request(user(), "get", "pods/status"), False, id="no-subresource"
        ),
        pytest.param(
            rule("get", "pods/status"), request(user(), "get", "pods"), False, id="only-subresource"
        ),
        pytest.param(
            rule("get", "*/status"),
            request(user(), "get", "pods/status"),
            True,
            id="status-of-anything",
        ),
        pytest.param(
            rule("get", "*/status"), request(user(), "get", "pods/log"), False, id="not-its-log"
        ),
        pytest.param(rule("get", "*"), request(user(), "get", "pods/log"), True, id="any-resource"),
        pytest.param(
            rule("get", "pods", names="a b"),
            request(user(), "get", "pods", name="b"),
            True,
            id="named",
        ),
        pytest.param(
            rule("get", "pods", names="a b"),
            request(user(), "get", "pods", name="c"),
            False,
            id="other-name",
        ),
        pytest.param(
            rule("create", "pods", names="a"),
            request(user(), "create", "pods"),
            False,
            id="unnamed",
        ),
        pytest.param(
            rule("get", urls="/metrics"),
            Attributes(user(), "get", path="/metrics"),
            True,
            id="path",
        ),
        pytest.param(
            rule("get", urls="/healthz/*"),
            Attributes(user(), "get", path="/healthz/etcd"),
            True,
            id="path-prefix",
        ),
        pytest.param(
            rule("get", urls="/healthz/*"),
            Attributes(user(), "get", path="/healthz"),
            False,
            id="shorter-path",
        ),
        pytest.param(
            rule("get", urls="*"), Attributes(user(), "get", path="/any"), True, id="any-path"
        ),
        pytest.param(
            rule("get", "*", groups="*"),
            Attributes(user(), "get", path="/any"),
            False,
            id="resources-are-no-paths",
        ),
        pytest.param(
            rule("get", urls="*"), Attributes(user(), "get"), False, id="nothing-is-no-path"
        ),
        pytest.param(PolicyRule(), request(user(), "get", "pods"), False, id="empty-rule"),
    ],
)
def test_a_rule_allows_what_it_names(held: PolicyRule, asked: Attributes, allowed: bool) -> None:
    assert rule_allows(held, asked) is allowed


def test_a_rule_is_taken_apart_into_single_permissions() -> None:
    whole = rule("get list", "pods pods/log", names="a")
    assert list(single_permissions(whole)) == [
        rule(verb, resource, names="a")
        for resource in ("pods", "pods/log")
        for verb in ("get", "list")
    ]
    assert list(single_permissions(rule("get", urls="/a /b"))) == [
        rule("get", urls="/a"),
        rule("get", urls="/b"),
    ]


@pytest.mark.parametrize(
    ("held", "wanted", "lacks"),
    [
        pytest.param([rule("get", "pods")], rule("get", "pods"), [], id="same"),
        pytest.param(
            [rule("get", "pods"), rule("list", "pods")], rule("get list", "pods"), [], id="together"
        ),
        pytest.param(
            [rule("get", "pods")], rule("get list", "pods"), [rule("list", "pods")], id="a-verb"
        ),
        pytest.param([rule("*", "*", groups="*")], rule("get", "pods/log"), [], id="everything"),
        pytest.param([rule("get", "*/log")], rule("get", "pods/log"), [], id="any-log"),
        pytest.param(
            [rule("get", "pods")],
            rule("get", "pods/log"),
            [rule("get", "pods/log")],
            id="subresource",
        ),
        pytest.param([rule("get", "pods")], rule("get", "pods", names="a"), [], id="one-name"),
        pytest.param(
            [rule("get", "pods", names="a")],
            rule("get", "pods"),
            [rule("get", "pods")],
            id="all-names-from-one",
        ),
        pytest.param(
            [rule("get", "pods", names="a")],
            rule("get", "pods", names="a b"),
            [rule("get", "pods", names="b")],
            id="other-name",
        ),
        pytest.param([rule("get", urls="/a/*")], rule("get", urls="/a/b"), [], id="path"),
        pytest.param(
            [rule("get", urls="/a/b")],
            rule("get", urls="/a/*"),
            [rule("get", urls="/a/*")],
            id="path-prefix",
        ),
        pytest.param(
            [rule("*", "*", groups="*")], rule("get", urls="/a"), [rule("get", urls="/a")], id="url"
        ),
    ],
)
def test_what_rules_lack_is_listed_permission_by_permission(
    held: list[PolicyRule], wanted: PolicyRule, lacks: list[PolicyRule]
) -> None:
    assert missing(held, [wanted]) == lacks


def words(*choices: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(choices), max_size=3, unique=True).map(tuple)


RULES = st.builds(
    PolicyRule,
    verbs=words("get", "list", "*"),
    api_groups=words("", "apps", "*"),
    resources=words("pods", "pods/log", "*/log", "*"),
    resource_names=words("a", "b"),
    non_resource_urls=words("/a", "/a/b", "/a/*", "*"),
)


def covers(owner: PolicyRule, one: PolicyRule) -> bool:
    """Whether a rule includes a single permission, asked word by word."""
    (verb,) = one.verbs or ()
    if not {verb, "*"} & set(owner.verbs or ()):
        return False
    if owner.resource_names and not set(one.resource_names) & set(owner.resource_names):
        return False
    for url in one.non_resource_urls:
        return any(
            url == held or (held.endswith("*") and url.startswith(held.rstrip("*")))
            for held in owner.non_resource_urls
        )
    (group,), (resource,) = one.api_groups, one.resources
    _, slash, subresource = resource.partition("/")
    accepted = {resource, "*"} | ({f"*/{subresource}"} if slash else set())
    return bool({group, "*"} & set(owner.api_groups) and accepted & set(owner.resources))


@settings(max_examples=50)
@given(st.lists(RULES, max_size=4), st.lists(RULES, max_size=2))
def test_what_is_lacking_equals_asking_for_every_permission(
    held: list[PolicyRule], wanted: list[PolicyRule]
) -> None:
    lacking = [
        one
        for rule in wanted
        for one in single_permissions(rule)
        if not any(covers(owner, one) for owner in held)
    ]
    assert missing(held, wanted) == lacking
    found = uncovered(held, wanted)
    assert found is not None
    assert sum(permission_count(rule) for rule in found) == len(lacking)


WIDE = PolicyRule(
    verbs=tuple(f"v{i}" for i in range(80)),
    api_groups=tuple(f"g{i}" for i in range(80)),
    resources=tuple(f"r{i}" for i in range(80)),
)


def test_what_is_wholly_held_or_wholly_lacking_is_not_taken_apart() -> None:
    # A few hundred words, and half a million permissions.
    assert uncovered([rule("get", "pods")], [WIDE], steps_max=400) == [WIDE]
    assert uncovered([WIDE], [WIDE], steps_max=600) == []


def test_a_few_permissions_are_found_in_a_wide_rule() -> None:
    held = [
        PolicyRule(verbs=WIDE.verbs, api_groups=WIDE.api_groups, resources=WIDE.resources[1:]),
        PolicyRule(verbs=(WIDE.verbs or ())[1:], api_groups=WIDE.api_groups, resources=("r0",)),
    ]
    lacking = PolicyRule(verbs=("v0",), api_groups=WIDE.api_groups, resources=("r0",))
    assert uncovered(held, [WIDE]) == [lacking]


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        pytest.param(
            [rule("get", f"r{i}", groups=f"g{i}") for i in range(80)], [WIDE], id="all-different"
        ),
        pytest.param([PolicyRule(resources=("pods",) * STEPS_MAX)], [PODS], id="long-held"),
        pytest.param([PODS], [PolicyRule(resources=("pods",) * STEPS_MAX)], id="long-wanted"),
        pytest.param(
            [PolicyRule(non_resource_urls=tuple("/" * n + "*" for n in range(400)))],
            [PolicyRule(non_resource_urls=("/a",) * 400)],
            id="many-prefixes",
        ),
    ],
)
def test_what_takes_too_long_is_not_found_out(
    held: list[PolicyRule], wanted: list[PolicyRule]
) -> None:
    assert uncovered(held, wanted) is None
    assert uncovered(held, []) == []


def test_whoever_may_do_anything_may_say_it_at_any_length() -> None:
    everything = rule("*", "*", groups="*")
    held = [everything, *(rule("get", f"r{i}", groups=f"g{i}") for i in range(80))]
    assert uncovered(held, [WIDE]) == []
    assert uncovered([everything], [PolicyRule(resources=("pods",) * STEPS_MAX)]) == []
    both = PolicyRule(
        verbs=("get",), api_groups=("",), resources=("pods",), non_resource_urls=("/a",)
    )
    assert uncovered([everything], [both]) == [rule("get", urls="/a")]


def test_permissions_are_counted_without_taking_the_rule_apart() -> None:
    for some in (rule("get list", "pods pods/log", names="a b c"), rule("get", urls="/a /b")):
        assert permission_count(some) == len(list(single_permissions(some)))
    assert permission_count(WIDE) == 80**3


def test_permissions_on_one_resource_are_shown_as_one() -> None:
    several = [
        rule("get", "pods"),
        rule("get", urls="/a"),
        rule("list", "pods"),
        rule("get", "pods", names="a"),
    ]
    assert compact(several) == [
        rule("get", urls="/a"),
        rule("get list", "pods"),
        rule("get", "pods", names="a"),
    ]


def test_a_rule_is_shown_as_refusals_do() -> None:
    assert describe(rule("get list", "secrets", names="a")) == (
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get" "list"]}'
    )
    assert describe(rule("get", urls="/a")) == '{NonResourceURLs:["/a"], Verbs:["get"]}'
