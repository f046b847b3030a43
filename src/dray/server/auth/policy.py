"""Policy rules: what one allows, what several cover, and how they are shown.

Pure functions over PolicyRule. Whose rules they are and where they were found is for `rbac`.

Upstream counterparts: pkg/apis/rbac/v1 evaluation_helpers, component-helpers' policy_comparator,
pkg/registry/rbac/validation policy_compact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Final

from dray.api.rbac import ALL, PolicyRule
from dray.errors import quote
from dray.server.user import Attributes

__all__ = [
    "STEPS_MAX",
    "compact",
    "describe",
    "matches",
    "missing",
    "permission_count",
    "rule_allows",
    "single_permissions",
    "uncovered",
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

# A rule of N bytes permits up to (N/4)^3 things, and they are compared while everybody else waits.
# This many steps take some tens of milliseconds; the widest default role takes a few hundred.
STEPS_MAX: Final = 100_000
# Sets of rules are integers, a bit for each: as many bits as may count as one step.
_BITS_PER_STEP: Final = 4_096


def missing(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """What the wanted rules permit and none of those held does, one permission per rule.

    However long it takes: for rules that the server knows to be small.
    """
    wanted = tuple(wanted)
    found = uncovered(held, wanted, steps_max=None)
    assert found is not None
    lacking = {permission for rule in found for permission in single_permissions(rule)}
    return [
        permission
        for rule in wanted
        for permission in single_permissions(rule)
        if permission in lacking
    ]


def uncovered(
    held: Sequence[PolicyRule], wanted: Sequence[PolicyRule], steps_max: int | None = STEPS_MAX
) -> list[PolicyRule] | None:
    """What the wanted rules permit and none of those held does, as rules that share nothing.

    None if finding out takes too many steps.
    """
    if any(_is_everything(owner) for owner in held):
        # Whoever may do anything is not limited in how they say so.
        wanted = [
            PolicyRule(verbs=rule.verbs, non_resource_urls=rule.non_resource_urls)
            for rule in wanted
            if rule.non_resource_urls
        ]
    if not wanted:
        return []
    cost = 1 + len(held) // _BITS_PER_STEP
    left = inf if steps_max is None else steps_max
    left -= cost * sum(_length(rule) for rules in (held, wanted) for rule in rules)
    if left < 0:
        return None
    owners = _Owners(held)
    left -= owners.url_steps(sum(len(rule.non_resource_urls) for rule in wanted))
    if left < 0:
        return None
    lacking: list[PolicyRule] = []
    for rule in wanted:
        for box in (owners.resource_box(rule), owners.url_box(rule)):
            left -= cost * box.steps
            if left < 0:
                return None
            lacking += box.uncovered()
    return lacking


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


def permission_count(rule: PolicyRule) -> int:
    """How many single permissions the rule has."""
    on_resources = len(rule.api_groups) * len(rule.resources) * (len(rule.resource_names) or 1)
    return len(rule.verbs or ()) * (on_resources + len(rule.non_resource_urls))


def _length(rule: PolicyRule) -> int:
    return (
        len(rule.verbs or ())
        + len(rule.api_groups)
        + len(rule.resources)
        + len(rule.resource_names)
        + len(rule.non_resource_urls)
    )


def _is_everything(rule: PolicyRule) -> bool:
    return (
        ALL in (rule.verbs or ())
        and ALL in rule.api_groups
        and ALL in rule.resources
        and not rule.resource_names
    )


class _Owners:
    """Held rules by what they mention: for each word the set of rules that have it."""

    def __init__(self, held: Sequence[PolicyRule]) -> None:
        self._verbs: dict[str, int] = {}
        self._groups: dict[str, int] = {}
        self._resources: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._urls: dict[str, int] = {}
        self._url_prefixes: dict[str, int] = {}
        self._of_any_name = 0
        for position, rule in enumerate(held):
            bit = 1 << position
            for index, words in (
                (self._verbs, rule.verbs or ()),
                (self._groups, rule.api_groups),
                (self._resources, rule.resources),
                (self._names, rule.resource_names),
                (self._urls, rule.non_resource_urls),
            ):
                for word in words:
                    index[word] = index.get(word, 0) | bit
            if not rule.resource_names:
                self._of_any_name |= bit
        for url, owners in self._urls.items():
            if url.endswith(ALL):
                prefix = url.rstrip(ALL)
                self._url_prefixes[prefix] = self._url_prefixes.get(prefix, 0) | owners
        self._prefix_lengths = sorted({len(prefix) for prefix in self._url_prefixes})

    def resource_box(self, rule: PolicyRule) -> _Box:
        names = [
            (name, self._of_any_name | self._names.get(name, 0)) for name in rule.resource_names
        ]
        return _Box(
            groups=_by_owners((word, _having(self._groups, word)) for word in rule.api_groups),
            things=_by_owners((word, self._of_resource(word)) for word in rule.resources),
            # Without names it is for all of them.
            names=_by_owners(names) if names else {self._of_any_name: ()},
            verbs=self._of_verbs(rule),
        )

    def url_box(self, rule: PolicyRule) -> _Box:
        return _Box(
            groups={_ANY: ()},
            things=_by_owners((url, self._of_url(url)) for url in rule.non_resource_urls),
            names={self._of_any_name: ()},
            verbs=self._of_verbs(rule),
            on_urls=True,
        )

    def url_steps(self, urls: int) -> int:
        return urls * len(self._prefix_lengths)

    def _of_verbs(self, rule: PolicyRule) -> list[tuple[str, int]]:
        return [(verb, _having(self._verbs, verb)) for verb in rule.verbs or ()]

    def _of_resource(self, resource: str) -> int:
        owners = _having(self._resources, resource)
        _, separator, subresource = resource.partition("/")
        return owners | self._resources.get(f"*/{subresource}", 0) if separator else owners

    def _of_url(self, url: str) -> int:
        owners = self._urls.get(url, 0)
        for length in self._prefix_lengths:
            if length > len(url):
                break
            owners |= self._url_prefixes.get(url[:length], 0)
        return owners


# Every rule: as integers go, all bits.
_ANY: Final = -1


def _having(index: Mapping[str, int], word: str) -> int:
    return index.get(word, 0) | index.get(ALL, 0)


def _by_owners(words: Iterable[tuple[str, int]]) -> dict[int, tuple[str, ...]]:
    """Words that the same rules have, together: what holds for one of them holds for the others."""
    alike: dict[int, list[str]] = {}
    for word, owners in words:
        alike.setdefault(owners, []).append(word)
    return {owners: tuple(group) for owners, group in alike.items()}


@dataclass(frozen=True, slots=True)
class _Box:
    """A rule with the held rules that have each of its words.

    A rule covers a permission if it has its group, resource (or path), name and verb: if the four
    sets of rules have one in common.
    """

    groups: Mapping[int, tuple[str, ...]]
    things: Mapping[int, tuple[str, ...]]
    names: Mapping[int, tuple[str, ...]]
    verbs: Sequence[tuple[str, int]]
    on_urls: bool = False

    @property
    def steps(self) -> int:
        return len(self.groups) * len(self.things) * len(self.names) * len(self.verbs)

    def uncovered(self) -> Iterator[PolicyRule]:
        for (in_groups, groups), (in_things, things), (in_names, names) in product(
            self.groups.items(), self.things.items(), self.names.items()
        ):
            owners = in_groups & in_things & in_names
            verbs = tuple(verb for verb, in_verb in self.verbs if not owners & in_verb)
            if not verbs:
                continue
            if self.on_urls:
                yield PolicyRule(verbs=verbs, non_resource_urls=things)
            else:
                yield PolicyRule(
                    verbs=verbs, api_groups=groups, resources=things, resource_names=names
                )


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
