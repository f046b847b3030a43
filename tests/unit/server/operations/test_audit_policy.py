from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dray.errors import ConfigurationError
from dray.server.operations.audit_policy import (
    DEFAULT_POLICY,
    AuditDecision,
    AuditLevel,
    AuditPolicy,
    load_policy,
)
from dray.server.routing import Route, route
from dray.server.user import User
from tests.unit.server.operations.requests import BOB, CONFIGMAPS

SECRET = route("GET", "/api/v1/namespaces/kube-system/secrets/s", {})
CREATE = route("POST", CONFIGMAPS, {})
LOG = route("GET", "/api/v1/namespaces/default/pods/p/log", {})
NODES = route("GET", "/api/v1/nodes", {})
CLAIM = route("PUT", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c/status", {})
HEALTH = route("GET", "/healthz/ping", {})


def policy(*rules: dict[str, Any], **others: Any) -> AuditPolicy:
    return AuditPolicy.parse(
        {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": list(rules), **others}
    )


def group(name: str, *resources: str, names: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"group": name, "resources": list(resources), "resourceNames": list(names)}


@pytest.mark.parametrize(
    ("rule", "where", "matches"),
    [
        pytest.param({}, SECRET, True, id="everything"),
        pytest.param({}, HEALTH, True, id="paths-as-well"),
        pytest.param({"users": ["bob"]}, SECRET, True, id="user"),
        pytest.param({"users": ["eve"]}, SECRET, False, id="other-user"),
        pytest.param({"userGroups": ["dev", "ops"]}, SECRET, True, id="group"),
        pytest.param({"userGroups": ["ops"]}, SECRET, False, id="other-group"),
        pytest.param({"verbs": ["get"]}, SECRET, True, id="verb"),
        pytest.param({"verbs": ["list"]}, SECRET, False, id="other-verb"),
        pytest.param({"namespaces": ["kube-system"]}, SECRET, True, id="namespace"),
        pytest.param({"namespaces": ["kube-system"]}, NODES, False, id="cluster-is-no-namespace"),
        pytest.param({"namespaces": [""]}, NODES, True, id="cluster-scope"),
        pytest.param({"namespaces": [""]}, HEALTH, False, id="a-path-is-in-no-namespace"),
        pytest.param({"resources": [group("")]}, SECRET, True, id="all-of-a-group"),
        pytest.param({"resources": [group("", "secrets")]}, SECRET, True, id="resource"),
        pytest.param(
            {"resources": [group("apps", "secrets")]}, SECRET, False, id="other-group-name"
        ),
        pytest.param({"resources": [group("*", "*")]}, CLAIM, True, id="all-resources"),
        pytest.param({"resources": [group("", "pods")]}, LOG, False, id="not-its-subresource"),
        pytest.param({"resources": [group("", "pods/log")]}, LOG, True, id="subresource"),
        pytest.param({"resources": [group("", "pods/*")]}, LOG, True, id="every-subresource"),
        pytest.param({"resources": [group("*", "*/status")]}, CLAIM, True, id="every-status"),
        pytest.param({"resources": [group("*", "*/status")]}, LOG, False, id="no-status"),
        pytest.param({"resources": [group("", "secrets", names=("s",))]}, SECRET, True, id="name"),
        pytest.param(
            {"resources": [group("", "secrets", names=("t",))]}, SECRET, False, id="no-name"
        ),
        pytest.param({"nonResourceURLs": ["/healthz*"]}, HEALTH, True, id="paths"),
        pytest.param({"nonResourceURLs": ["/healthz"]}, HEALTH, False, id="exact-path"),
        pytest.param({"nonResourceURLs": ["*"]}, SECRET, False, id="a-resource-is-no-path"),
    ],
)
def test_a_rule_matches_as_upstreams_do(rule: dict[str, Any], where: Route, matches: bool) -> None:
    decided = policy({"level": "Metadata", **rule}).decide(BOB, where)
    assert (decided.level is AuditLevel.METADATA) is matches


def test_the_first_rule_that_matches_decides() -> None:
    rules = policy({"level": "None", "verbs": ["get"]}, {"level": "Request"})
    assert rules.decide(BOB, SECRET).level is AuditLevel.NONE
    assert rules.decide(BOB, CREATE).level is AuditLevel.REQUEST


def test_a_user_nobody_knows_matches_only_rules_for_everybody() -> None:
    named = policy({"level": "Metadata", "users": ["bob"]}, {"level": "Request"})
    assert named.decide(None, SECRET).level is AuditLevel.REQUEST


def test_stages_are_left_out_by_the_policy_and_by_the_rule() -> None:
    rule = {"level": "RequestResponse", "omitStages": ["ResponseStarted"]}
    assert policy(rule, omitStages=["RequestReceived"]).decide(BOB, SECRET) == AuditDecision(
        AuditLevel.REQUEST_RESPONSE, frozenset({"RequestReceived", "ResponseStarted"})
    )


@pytest.mark.parametrize(
    ("overall", "own", "expected"), [(True, None, True), (True, False, False), (False, True, True)]
)
def test_a_rules_word_on_managed_fields_counts_before_the_policys(
    overall: bool, own: bool | None, expected: bool
) -> None:
    rule = {"level": "Request"} | ({} if own is None else {"omitManagedFields": own})
    decided = policy(rule, omitManagedFields=overall).decide(BOB, SECRET)
    assert decided.omits_managed_fields is expected


def test_by_default_writes_are_audited_and_reads_are_not() -> None:
    assert DEFAULT_POLICY.decide(User("x"), CREATE).level is AuditLevel.METADATA
    assert DEFAULT_POLICY.decide(User("x"), SECRET).level is AuditLevel.NONE


HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "not an audit policy", id="empty"),
        pytest.param("a: [", "is not YAML", id="no-yaml"),
        pytest.param(f"{HEAD}rules: []", "1 to 1000 rules", id="no-rules"),
        pytest.param(f"{HEAD}rules: [{{level: Everything}}]", "$.rules[0].level", id="level"),
        pytest.param(f"{HEAD}rules: [{{level: None, usres: [a]}}]", "usres", id="typo"),
        pytest.param(
            "apiVersion: v1\nkind: Policy\nrules: [{level: None}]", "audit.k8s.io/v1", id="version"
        ),
        pytest.param(
            f"{HEAD}rules: [{{level: None, namespaces: [a], nonResourceURLs: [/x]}}]",
            "rules[0].nonResourceURLs: rules cannot apply to both",
            id="both",
        ),
        pytest.param(
            f"{HEAD}rules: [{{level: None, nonResourceURLs: [/a*b]}}]", "'/a*b' must", id="star"
        ),
        pytest.param(
            f"{HEAD}rules: [{{level: None, resources: [{{resourceNames: [a]}}]}}]",
            "requires at least one resource",
            id="names-of-nothing",
        ),
    ],
)
def test_a_bad_policy_is_refused_with_the_reason(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_policy(path)
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_policy_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        load_policy(tmp_path / "none.yaml")


def test_a_policy_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"{HEAD}rules: [{{level: Request}}]")
    assert load_policy(path).decide(BOB, SECRET).level is AuditLevel.REQUEST
