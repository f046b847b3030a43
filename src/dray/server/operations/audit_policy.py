"""Which requests are audited, and how much of each: the rules of an audit.k8s.io/v1 Policy.

The first rule that matches decides; without one a request is not audited. Upstream counterpart:
apiserver pkg/audit/policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import yaml

from dray.errors import ConfigurationError
from dray.server.routing import Route
from dray.server.user import User

__all__ = ["DEFAULT_POLICY", "AuditDecision", "AuditLevel", "AuditPolicy", "load_policy"]

API_VERSIONS: Final = ("audit.k8s.io/v1",)

# Rules are asked one after the other for every request.
RULES_MAX: Final = 1000

StageName = Literal["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"]


class AuditLevel(IntEnum):
    """How much of a request is written down. The names are upstream's."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3

    @property
    def label(self) -> str:
        return _LEVEL_NAMES[self]


_LEVEL_NAMES: Final = {
    AuditLevel.NONE: "None",
    AuditLevel.METADATA: "Metadata",
    AuditLevel.REQUEST: "Request",
    AuditLevel.REQUEST_RESPONSE: "RequestResponse",
}
_LEVELS: Final = {name: level for level, name in _LEVEL_NAMES.items()}


class AuditDecision(msgspec.Struct, frozen=True):
    """What is written about a request, and at which of its stages."""

    level: AuditLevel
    omitted_stages: frozenset[str] = frozenset()
    omits_managed_fields: bool = False


class _GroupResources(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    group: str = ""
    resources: list[str] = []
    resource_names: list[str] = []


class _Rule(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    level: Literal["None", "Metadata", "Request", "RequestResponse"]
    users: list[str] = []
    user_groups: list[str] = []
    verbs: list[str] = []
    resources: list[_GroupResources] = []
    namespaces: list[str] = []
    non_resource_urls: list[str] = msgspec.field(name="nonResourceURLs", default_factory=list)
    omit_stages: list[StageName] = []
    omit_managed_fields: bool | None = None


class _Document(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    api_version: str
    kind: str
    rules: list[_Rule]
    metadata: dict[str, Any] = {}
    omit_stages: list[StageName] = []
    omit_managed_fields: bool = False


class AuditPolicy:
    """Rules in their order."""

    def __init__(self, document: _Document) -> None:
        everywhere = frozenset[str](document.omit_stages)
        self._none = AuditDecision(AuditLevel.NONE, everywhere)
        self._rules = [
            (
                rule,
                AuditDecision(
                    _LEVELS[rule.level],
                    everywhere | frozenset(rule.omit_stages),
                    document.omit_managed_fields
                    if rule.omit_managed_fields is None
                    else rule.omit_managed_fields,
                ),
            )
            for rule in document.rules
        ]

    @classmethod
    def parse(cls, document: Any) -> AuditPolicy:
        """The policy that these values describe. Raises ConfigurationError."""
        try:
            policy = msgspec.convert(document, _Document)
        except msgspec.ValidationError as error:
            raise ConfigurationError(f"not an audit policy: {error}") from error
        if policy.kind != "Policy" or policy.api_version not in API_VERSIONS:
            raise ConfigurationError(
                f"not an audit policy: {policy.api_version} {policy.kind} is not "
                f"{API_VERSIONS[0]} Policy"
            )
        if not 0 < len(policy.rules) <= RULES_MAX:
            raise ConfigurationError(
                f"an audit policy has 1 to {RULES_MAX} rules, not {len(policy.rules)}"
            )
        for number, rule in enumerate(policy.rules):
            _check(rule, f"rules[{number}]")
        return cls(policy)

    def decide(self, user: User | None, where: Route) -> AuditDecision:
        """What to write about a request. Whoever sent it may be unknown."""
        for rule, decision in self._rules:
            if _matches(rule, user, where):
                return decision
        return self._none


def load_policy(path: Path) -> AuditPolicy:
    """Read the policy in a YAML file. Raises ConfigurationError."""
    try:
        document = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"the audit policy cannot be read: {error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the audit policy {path} is not YAML: {error}") from error
    try:
        return AuditPolicy.parse(document)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def _check(rule: _Rule, place: str) -> None:
    if rule.non_resource_urls and (rule.resources or rule.namespaces):
        raise ConfigurationError(
            f"{place}.nonResourceURLs: rules cannot apply to both regular resources and "
            "non-resource URLs"
        )
    for url in rule.non_resource_urls:
        if url != "*" and (not url.startswith("/") or "*" in url[:-1]):
            raise ConfigurationError(
                f"{place}.nonResourceURLs: {url!r} must begin with / and may have a * only as its "
                "last character"
            )
    for number, group in enumerate(rule.resources):
        if group.resource_names and not group.resources:
            raise ConfigurationError(
                f"{place}.resources[{number}].resourceNames: using resourceNames requires at least "
                "one resource"
            )


def _matches(rule: _Rule, user: User | None, where: Route) -> bool:
    if rule.users and (user is None or user.name not in rule.users):
        return False
    if rule.user_groups and (user is None or not set(user.groups).intersection(rule.user_groups)):
        return False
    if rule.verbs and where.verb not in rule.verbs:
        return False
    if rule.namespaces or rule.resources:
        return where.is_resource and _matches_resource(rule, where)
    if rule.non_resource_urls:
        return not where.is_resource and any(
            _matches_path(where.path, url) for url in rule.non_resource_urls
        )
    return True


def _matches_path(path: str, url: str) -> bool:
    return url in ("*", path) or (url.endswith("*") and path.startswith(url.rstrip("*")))


def _matches_resource(rule: _Rule, where: Route) -> bool:
    if rule.namespaces and where.namespace not in rule.namespaces:
        return False
    if not rule.resources:
        return True
    full = f"{where.resource}/{where.subresource}" if where.subresource else where.resource
    named = {"*", full}
    if where.subresource:
        named |= {f"*/{where.subresource}", f"{where.resource}/*"}
    return any(_matches_group(each, where, named) for each in rule.resources)


def _matches_group(group: _GroupResources, where: Route, named: set[str]) -> bool:
    if group.group not in (where.group, "*"):
        return False
    if not group.resources:
        return True
    if group.resource_names and where.name not in group.resource_names:
        return False
    return not named.isdisjoint(group.resources)


_WRITES: Final[Sequence[str]] = ("create", "update", "patch", "delete", "deletecollection")

# Who changed what, and when; reads would bury it.
DEFAULT_POLICY: Final = AuditPolicy.parse(
    {
        "apiVersion": API_VERSIONS[0],
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "verbs": list(_WRITES)}],
    }
)
