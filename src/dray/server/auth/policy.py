"""Policy rules: what one allows, what several cover, and how they are shown.

Pure functions over PolicyRule. Whose rules they are and where they were found is for `rbac`.

Upstream counterparts: pkg/apis/rbac/v1 evaluation_helpers, component-helpers' policy_comparator,
pkg/registry/rbac/validation policy_compact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dray.api.rbac import ALL, PolicyRule
from dray.errors import quote
from dray.server.user import Attributes

__all__ = [
    "compact",
    "describe",
    "matches",
    "missing",
    "rule_allows",
    "single_permissions",
]


def rule_allows(rule: PolicyRule, attributes: Attributes) -> bool:
    """Whether the rule alone permits the request."""
    if not matches(rule, attributes):
        return False
    return (
        attributes.asks_for_path
        or not rule.resource_names
        or (attributes.name in rule.resource_names)
    )


def matches(rule: PolicyRule, attributes: Attributes) -> bool:
    """Whether the rule permits the request for some name at least."""
    verbs = rule.verbs or ()
    if attributes.verb not in verbs and ALL not in verbs:
        return False
    if attributes.asks_for_path:
        return any(_url_covers(url, attributes.path) for url in rule.non_resource_urls)
    groups, resources = rule.api_groups, rule.resources
    if attributes.group not in groups and ALL not in groups:
        return False
    if ALL in resources:
        return True
    subresource = attributes.subresource
    if not subresource:
        return attributes.resource in resources
    return f"{attributes.resource}/{subresource}" in resources or f"*/{subresource}" in resources


def _url_covers(owned: str, wanted: str) -> bool:
    return owned == wanted or (owned.endswith(ALL) and wanted.startswith(owned.rstrip(ALL)))


# Whether rules are enough for other rules -----------------------------------------------------


def missing(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """What the wanted rules permit and none of those held does, one permission per rule."""
    return [
        permission
        for rule in wanted
        for permission in single_permissions(rule)
        if not any(_covers(owner, permission) for owner in held)
    ]


def single_permissions(rule: PolicyRule) -> Iterator[PolicyRule]:
    """The rule taken apart: one verb on one resource, of at most one name, or on one path."""
    verbs = rule.verbs or ()
    name_choices: list[tuple[str, ...]] = [(name,) for name in rule.resource_names] or [()]
    for group in rule.api_groups:
        for resource in rule.resources:
            for verb in verbs:
                for chosen in name_choices:
                    yield PolicyRule(
                        verbs=(verb,),
                        api_groups=(group,),
                        resources=(resource,),
                        resource_names=chosen,
                    )
    for url in rule.non_resource_urls:
        for verb in verbs:
            yield PolicyRule(verbs=(verb,), non_resource_urls=(url,))


def _covers(owner: PolicyRule, permission: PolicyRule) -> bool:
    """Whether a rule includes a single permission."""
    return (
        _has(owner.verbs or (), permission.verbs or ())
        and _has(owner.api_groups, permission.api_groups)
        and all(_covers_resource(owner.resources, wanted) for wanted in permission.resources)
        and _covers_names(owner.resource_names, permission.resource_names)
        and all(
            any(_url_covers(owned, wanted) for owned in owner.non_resource_urls)
            for wanted in permission.non_resource_urls
        )
    )


def _has(owned: Sequence[str], wanted: Sequence[str]) -> bool:
    return ALL in owned or all(value in owned for value in wanted)


def _covers_resource(owned: Sequence[str], wanted: str) -> bool:
    if ALL in owned or wanted in owned:
        return True
    _, separator, subresource = wanted.partition("/")
    return bool(separator) and f"*/{subresource}" in owned


def _covers_names(owned: Sequence[str], wanted: Sequence[str]) -> bool:
    return not owned or (bool(wanted) and all(name in owned for name in wanted))


# How rules are shown -----------------------------------------------------------------------------


def compact(rules: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Fewer rules of the same meaning: those that differ only in their verbs become one."""
    kept: list[PolicyRule] = []
    verbs_of: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for rule in rules:
        simple = (
            len(rule.api_groups) == 1
            and len(rule.resources) == 1
            and len(rule.resource_names) <= 1
            and not rule.non_resource_urls
        )
        if not simple:
            kept.append(rule)
            continue
        key = (rule.api_groups[0], rule.resources[0], rule.resource_names)
        verbs_of.setdefault(key, []).extend(rule.verbs or ())
    return kept + [
        PolicyRule(
            verbs=tuple(verbs), api_groups=(group,), resources=(resource,), resource_names=chosen
        )
        for (group, resource, chosen), verbs in verbs_of.items()
    ]


def describe(rule: PolicyRule) -> str:
    """The rule as refusals show it: {APIGroups:[""], Resources:["pods"], Verbs:["get"]}."""
    parts = (
        ("APIGroups", rule.api_groups),
        ("Resources", rule.resources),
        ("NonResourceURLs", rule.non_resource_urls),
        ("ResourceNames", rule.resource_names),
        ("Verbs", rule.verbs or ()),
    )
    shown = (
        f"{name}:[{' '.join(quote(value) for value in values)}]" for name, values in parts if values
    )
    return "{" + ", ".join(shown) + "}"
