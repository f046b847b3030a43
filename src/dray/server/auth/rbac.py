"""Role-based access control: what roles and bindings allow a user.

Bindings are kept by scope: those of the cluster, and those of each namespace somebody asked about.
A scope is a snapshot. It is made anew when a binding or role in it changed, and only then, so a
write in one namespace costs the others nothing. Decisions are remembered with the two scopes they
were taken from; one taken from a scope that is no longer current is taken again.

What depends on a request's name is not remembered: a decision is the list of grants that match
all but the name, in order, up to the first that holds for every name. A thousand pods asked for by
name are one entry.

Invariant: a decision equals that of walking all bindings and rules in order. Upstream counterparts:
plugin/pkg/auth/authorizer/rbac, pkg/registry/rbac/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from dray.api.rbac import (
    SUBJECT_GROUP,
    SUBJECT_SERVICE_ACCOUNT,
    SUBJECT_USER,
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    RoleRef,
    Subject,
)
from dray.errors import NotFound, StatusDetails, quote
from dray.server.auth.aggregation import effective_rules
from dray.server.auth.identities import service_account_user_name
from dray.server.auth.policy import matches
from dray.server.state import State
from dray.server.user import Attributes, Decision, User

__all__ = ["RBACAuthorizer"]

# Reviews may ask about any user, path and namespace, so what is remembered must end somewhere. A
# large cluster's steady traffic is a few users and service accounts per namespace, each with some
# tens of kinds and verbs.
DECISIONS_MAX: Final = 65_536
NAMESPACES_MAX: Final = 16_384
# Whoever asks chooses the words, so their length is bounded as well as their number. Steady traffic
# fits into far less, even that of a user in a hundred groups; what is longer is decided each time.
KEY_CHARS_MAX: Final = 4_096
DECISION_CHARS_MAX: Final = 16 * 1024 * 1024
# No namespace has a longer name (it is a DNS label), so there is nothing in it worth remembering.
NAMESPACE_CHARS_MAX: Final = 63

# User name, groups, verb, API group, resource, subresource or path, namespace.
_Key: TypeAlias = tuple[str, tuple[str, ...], str, str, str, str, str]
_Rules: TypeAlias = tuple[PolicyRule, ...]
_Binding: TypeAlias = ClusterRoleBinding | RoleBinding
_NO_OPINION: Final = Decision(None)


@dataclass(frozen=True, slots=True)
class _Grant:
    """A yes for some names, or (None) for all of them."""

    names: tuple[str, ...] | None
    decision: Decision


@dataclass(frozen=True, slots=True)
class _Remembered:
    cluster: _Scope
    local: _Scope
    grants: tuple[_Grant, ...]
    refusal: Decision


@dataclass(frozen=True, slots=True, eq=False)
class _Scope:
    """The bindings of one namespace, or of the cluster, with the roles they refer to."""

    namespace: str
    bindings: tuple[_Binding, ...]
    cluster_roles: Mapping[str, _Rules]
    roles: tuple[Role, ...]
    by_subject: Mapping[tuple[str, str], Sequence[int]] = field(init=False)

    def __post_init__(self) -> None:
        index: dict[tuple[str, str], list[int]] = {}
        for position, binding in enumerate(self.bindings):
            for key in {_subject_key(subject, self.namespace) for subject in binding.subjects}:
                index.setdefault(key, []).append(position)
        object.__setattr__(self, "by_subject", index)

    def bindings_of(self, user: User) -> Iterator[_Binding]:
        """The bindings that name the user or a group of theirs, in order."""
        found = set(self.by_subject.get((SUBJECT_USER, user.name), ()))
        for group in user.groups:
            found.update(self.by_subject.get((SUBJECT_GROUP, group), ()))
        for position in sorted(found):
            yield self.bindings[position]

    def rules_of(self, reference: RoleRef) -> _Rules:
        """What a binding of this scope grants; NotFound if there is no such role."""
        if reference.kind == "ClusterRole":
            found = self.cluster_roles.get(reference.name)
            if found is not None:
                return found
        elif reference.kind == "Role":
            for role in self.roles:
                if role.metadata.name == reference.name:
                    return role.rules or ()
        else:
            raise NotFound(f"unsupported role reference kind: {quote(reference.kind)}")
        kind = reference.kind.lower()
        raise NotFound(
            f"{kind}.rbac.authorization.k8s.io {quote(reference.name)} not found",
            StatusDetails(name=reference.name, group="rbac.authorization.k8s.io", kind=kind),
        )

    def describe(self, binding: _Binding, user: User) -> str:
        """Why a binding applies, in the words of the reason a request was allowed."""
        subject = next(
            subject
            for subject in binding.subjects
            if _applies(_subject_key(subject, self.namespace), user)
        )
        reference, subject_name = binding.role_ref, subject.name
        if subject.kind == SUBJECT_SERVICE_ACCOUNT:
            subject_name += f"/{subject.namespace or self.namespace}"
        kind, name = "ClusterRoleBinding", binding.metadata.name
        if self.namespace:
            kind, name = "RoleBinding", f"{name}/{self.namespace}"
        return (
            f"{kind} {quote(name)} of {reference.kind} {quote(reference.name)}"
            f" to {subject.kind} {quote(subject_name)}"
        )


_EMPTY: Final = _Scope("", (), {}, ())


class RBACAuthorizer:
    """Decides by the roles and bindings in a state, as they are at the moment of asking."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._decisions: dict[_Key, _Remembered] = {}
        self._decision_chars = 0
        self._cluster = _EMPTY
        self._cluster_revisions: tuple[int, int] | None = None
        self._cluster_role_objects: tuple[ClusterRole, ...] = ()
        self._namespaces: dict[str, tuple[tuple[int, int], _Scope]] = {}

    def authorize(self, attributes: Attributes) -> Decision:
        namespace, user = attributes.namespace, attributes.user
        cluster = self._cluster_scope()
        local = self._namespace_scope(namespace) if namespace else _EMPTY
        key = (
            user.name,
            user.groups,
            attributes.verb,
            attributes.group,
            attributes.resource,
            attributes.subresource if attributes.resource else attributes.path,
            namespace,
        )
        remembered = self._decisions.get(key)
        if remembered is None or remembered.cluster is not cluster or remembered.local is not local:
            remembered = _decide(cluster, local, attributes)
            self._remember(key, remembered)
        for grant in remembered.grants:
            if grant.names is None or attributes.name in grant.names:
                return grant.decision
        return remembered.refusal

    def _remember(self, key: _Key, decision: _Remembered) -> None:
        if key not in self._decisions:
            name, groups, *words, namespace = key
            chars = len(name) + sum(map(len, groups)) + sum(map(len, words)) + len(namespace)
            if chars > KEY_CHARS_MAX or len(namespace) > NAMESPACE_CHARS_MAX:
                return
            self._decision_chars += chars
            if len(self._decisions) >= DECISIONS_MAX or self._decision_chars > DECISION_CHARS_MAX:
                self._decisions.clear()
                self._decision_chars = chars
        self._decisions[key] = decision

    def rules_for(self, user: User, namespace: str = "") -> tuple[list[PolicyRule], list[str]]:
        """All rules that apply to a user in a namespace (without one, anywhere), and for each
        binding whose role cannot be found, a sentence that says so.
        """
        rules: list[PolicyRule] = []
        problems: list[str] = []
        for scope in self._scopes(namespace):
            for binding in scope.bindings_of(user):
                try:
                    rules += scope.rules_of(binding.role_ref)
                except NotFound as error:
                    problems.append(error.message)
        return rules, problems

    def role_rules(self, reference: RoleRef, namespace: str = "") -> tuple[PolicyRule, ...]:
        """What a binding in the namespace, or of the cluster, would grant by this reference.

        NotFound if there is no such role.
        """
        return self._scopes(namespace)[-1].rules_of(reference)

    def _scopes(self, namespace: str) -> list[_Scope]:
        cluster = self._cluster_scope()
        return [cluster, self._namespace_scope(namespace)] if namespace else [cluster]

    def _cluster_scope(self) -> _Scope:
        state = self._state
        revisions = (state.revision(ClusterRole), state.revision(ClusterRoleBinding))
        if revisions != self._cluster_revisions:
            roles = tuple(state.list(ClusterRole))
            bindings = tuple(state.list(ClusterRoleBinding))
            same_roles = _identical(roles, self._cluster_role_objects)
            if not same_roles or not _identical(bindings, self._cluster.bindings):
                rules = self._cluster.cluster_roles if same_roles else effective_rules(roles)
                self._cluster = _Scope("", bindings, rules, ())
            self._cluster_role_objects = roles
            self._cluster_revisions = revisions
        return self._cluster

    def _namespace_scope(self, namespace: str) -> _Scope:
        """After `_cluster_scope`, whose cluster roles it shares."""
        state, cluster_roles = self._state, self._cluster.cluster_roles
        kept = self._namespaces.get(namespace)
        revisions = (state.revision(Role), state.revision(RoleBinding))
        if kept is not None and kept[0] == revisions and kept[1].cluster_roles is cluster_roles:
            return kept[1]
        roles = tuple(state.list(Role, namespace))
        bindings = tuple(state.list(RoleBinding, namespace))
        if (
            kept is not None
            and kept[1].cluster_roles is cluster_roles
            and _identical(roles, kept[1].roles)
            and _identical(bindings, kept[1].bindings)
        ):
            scope = kept[1]
        else:
            scope = _Scope(namespace, bindings, cluster_roles, roles)
        if len(namespace) > NAMESPACE_CHARS_MAX:
            return scope
        if kept is None and len(self._namespaces) >= NAMESPACES_MAX:
            self._namespaces.clear()
        self._namespaces[namespace] = (revisions, scope)
        return scope


def _decide(cluster: _Scope, local: _Scope, attributes: Attributes) -> _Remembered:
    grants: list[_Grant] = []
    problems: list[str] = []
    for scope in (cluster, local):
        for binding in scope.bindings_of(attributes.user):
            try:
                rules = scope.rules_of(binding.role_ref)
            except NotFound as error:
                problems.append(error.message)
                continue
            for rule in rules:
                if not matches(rule, attributes):
                    continue
                reason = f"RBAC: allowed by {scope.describe(binding, attributes.user)}"
                restricted = bool(rule.resource_names) and not attributes.asks_for_path
                names = rule.resource_names if restricted else None
                grants.append(_Grant(names, Decision(True, reason)))
                if names is None:
                    return _Remembered(cluster, local, tuple(grants), _NO_OPINION)
    refusal = Decision(None, f"RBAC: {_sentence(problems)}") if problems else _NO_OPINION
    return _Remembered(cluster, local, tuple(grants), refusal)


def _sentence(problems: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _subject_key(subject: Subject, namespace: str) -> tuple[str, str]:
    """Under which kind and name a subject is looked up; a service account is a user by its name."""
    if subject.kind != SUBJECT_SERVICE_ACCOUNT:
        return subject.kind, subject.name
    owner = subject.namespace or namespace
    # Without any namespace it names nobody.
    return (SUBJECT_USER, service_account_user_name(owner, subject.name)) if owner else ("", "")


def _applies(key: tuple[str, str], user: User) -> bool:
    kind, name = key
    return (
        name == user.name
        if kind == SUBJECT_USER
        else kind == SUBJECT_GROUP and (name in user.groups)
    )


def _identical(some: Sequence[object], others: Sequence[object]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))
