"""Nobody hands out rights they do not have.

Whoever writes a role must hold every permission in it, or the verb `escalate` on it; whoever binds
a role must hold what the role grants, or the verb `bind` on it. A role that gathers others may come
to grant anything, so writing one takes all rights there are.

Upstream counterparts: pkg/registry/rbac escalation_check.go and the policybased storages.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

from dray.api.equality import semantically_equal
from dray.api.rbac import (
    ALL,
    API_GROUP,
    ClusterRole,
    ClusterRoleBinding,
    PolicyRule,
    Role,
    RoleBinding,
    RoleRef,
)
from dray.api.wire import replace
from dray.errors import Forbidden, quote
from dray.server.auth.chain import Authorizer, forbid
from dray.server.auth.policy import (
    STEPS_MAX,
    compact,
    describe,
    permission_count,
    single_permissions,
    uncovered,
)
from dray.server.auth.rbac import RBACAuthorizer
from dray.server.user import SYSTEM_MASTERS, Attributes, User

__all__ = ["check_escalation"]

# What a refusal lists at most. The widest default role, `admin`, is some four hundred permissions.
LISTED_PERMISSIONS_MAX: Final = 1_000
# Words may be of any length, and each is repeated in many permissions.
LISTED_CHARS_MAX: Final = 128 * 1024

_Grant: TypeAlias = Role | ClusterRole | RoleBinding | ClusterRoleBinding

_PLURALS: Final = {
    Role: "roles",
    ClusterRole: "clusterroles",
    RoleBinding: "rolebindings",
    ClusterRoleBinding: "clusterrolebindings",
}
_ROLE_PLURALS: Final = {"Role": "roles", "ClusterRole": "clusterroles"}
_EVERYTHING: Final = (
    PolicyRule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    PolicyRule(verbs=(ALL,), non_resource_urls=(ALL,)),
)


def check_escalation(
    user: User,
    new: _Grant,
    old: _Grant | None,
    authorizer: Authorizer,
    rules: RBACAuthorizer,
) -> None:
    """Forbidden if writing the object would give anybody more than its writer has.

    NotFound if it binds a role that does not exist to somebody who may not bind just any.
    """
    if SYSTEM_MASTERS in user.groups or (old is not None and _only_collectable(new, old)):
        return
    if isinstance(new, (Role, ClusterRole)):
        _check_role(user, new, old, authorizer, rules)
    else:
        namespace = new.metadata.namespace if isinstance(new, RoleBinding) else ""
        if not _may_bind(user, new.role_ref, namespace, authorizer):
            _check_rules(user, new, rules.role_rules(new.role_ref, namespace), rules)


def _check_role(
    user: User,
    new: Role | ClusterRole,
    old: _Grant | None,
    authorizer: Authorizer,
    rules: RBACAuthorizer,
) -> None:
    escalate = Attributes(
        user,
        "escalate",
        group=API_GROUP,
        version="*",
        resource=_PLURALS[type(new)],
        namespace=new.metadata.namespace,
        # A role that is yet to be has no name in its request's path.
        name=new.metadata.name if old is not None else "",
    )
    if authorizer.authorize(escalate).allowed:
        return
    _check_rules(user, new, new.rules or (), rules)
    if not _gathers(new) and not _gathers(old):
        return
    held, _ = rules.rules_for(user)
    if uncovered(held, _EVERYTHING) != []:
        raise _forbidden(new, "must have cluster-admin privileges to use the aggregationRule")


def _gathers(obj: _Grant | None) -> bool:
    return (
        isinstance(obj, ClusterRole)
        and obj.aggregation_rule is not None
        and bool(obj.aggregation_rule.cluster_role_selectors)
    )


def _may_bind(user: User, reference: RoleRef, namespace: str, authorizer: Authorizer) -> bool:
    resource = _ROLE_PLURALS.get(reference.kind)
    if resource is None:
        return False
    bind = Attributes(
        user,
        "bind",
        group=reference.api_group,
        version="*",
        resource=resource,
        namespace=namespace,
        name=reference.name,
    )
    return bool(authorizer.authorize(bind).allowed)


def _check_rules(
    user: User, new: _Grant, granted: tuple[PolicyRule, ...], rules: RBACAuthorizer
) -> None:
    held, problems = rules.rules_for(user, new.metadata.namespace)
    lacking = uncovered(held, granted)
    if lacking is None:
        raise _forbidden(
            new,
            f"the rules are too wide to be checked against those that user {quote(user.name)} has:"
            f" it takes more than {STEPS_MAX} steps; grant less at once",
        )
    if not lacking:
        return
    listed = _listed(lacking)
    groups = " ".join(quote(group) for group in user.groups)
    sentence = (
        f"user {quote(user.name)} (groups=[{groups}]) is attempting to grant"
        f" RBAC permissions not currently held:\n{listed}"
    )
    if problems:
        distinct = list(dict.fromkeys(problems))
        told = distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
        sentence += f"; resolution errors: [{told}]"
    raise _forbidden(new, sentence)


def _listed(lacking: Sequence[PolicyRule]) -> str:
    """The permissions, a line for each resource or path; only how many they are beyond a bound."""
    total = sum(permission_count(rule) for rule in lacking)
    taken: list[PolicyRule] = []
    chars = 0
    every = (one for rule in lacking for one in single_permissions(rule))
    for permission in islice(every, LISTED_PERMISSIONS_MAX):
        chars += len(describe(permission))
        if chars > LISTED_CHARS_MAX:
            break
        taken.append(permission)
    lines = sorted({describe(rule) for rule in compact(taken)})
    if total > len(taken):
        lines.append(f"... and {total - len(taken)} more")
    return "\n".join(lines)


def _forbidden(new: _Grant, sentence: str) -> Forbidden:
    return forbid(API_GROUP, _PLURALS[type(new)], new.metadata.name, sentence)


def _only_collectable(new: Any, old: Any) -> bool:
    """Whether a change concerns only what the garbage collector keeps in order."""
    settled = replace(
        new.metadata,
        owner_references=old.metadata.owner_references,
        finalizers=old.metadata.finalizers,
        self_link=old.metadata.self_link,
        managed_fields=old.metadata.managed_fields,
    )
    return semantically_equal(replace(new, metadata=settled), old)
