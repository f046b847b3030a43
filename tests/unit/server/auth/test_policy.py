from __future__ import annotations

import pytest

from dray.api.rbac import PolicyRule
from dray.server.auth.policy import compact, describe, missing, rule_allows, single_permissions
from dray.server.user import Attributes
from tests.unit.server.auth.builders import request, rule, user


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
