"""Roles, and the bindings that grant them.

Whether whoever writes a role may grant what is in it is a matter of authorization, not of rules.
Upstream's schema declares that verbs and names are required; what an update leaves as it is, is
not held to that again. Upstream counterpart: pkg/apis/rbac/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api import names
from dray.api.equality import semantically_equal
from dray.api.rbac import (
    API_GROUP,
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
from dray.validation.findings import Findings
from dray.validation.meta import (
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from dray.validation.pod_template import has_odd_values, read_selector
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import check_dns_subdomain, check_immutable

__all__ = ["CLUSTER_ROLE", "CLUSTER_ROLE_BINDING", "ROLE", "ROLE_BINDING"]

Binding = RoleBinding | ClusterRoleBinding

_SUBJECTS: Final = (SUBJECT_SERVICE_ACCOUNT, SUBJECT_USER, SUBJECT_GROUP)


def _name_rule(name: str, _prefix: bool) -> Sequence[str]:
    # Names like `system:node` are no DNS names; what is generated must be a segment already.
    return names.path_segment(name)


# Roles -----------------------------------------------------------------------------------------


def _create_role(new: Role, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=True, name_rule=_name_rule))
    _check_rules(found, new.rules or (), namespaced=True)
    return Verdict(found, _declare_rules(new, None))


def _update_role(new: Role, old: Role, context: Context) -> Verdict:
    found = _create_role(new, context).handwritten
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    return Verdict(found, _declare_rules(new, old))


def _create_cluster_role(new: ClusterRole, _context: Context) -> Verdict:
    found = Findings()
    _check_cluster_role(found, new, any_value=False)
    return Verdict(found, _declare_rules(new, None))


def _update_cluster_role(new: ClusterRole, old: ClusterRole, _context: Context) -> Verdict:
    found = Findings()
    stored = old.aggregation_rule.cluster_role_selectors if old.aggregation_rule else ()
    _check_cluster_role(found, new, any_value=any(map(has_odd_values, stored)))
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    return Verdict(found, _declare_rules(new, old))


def _check_cluster_role(found: Findings, role: ClusterRole, *, any_value: bool) -> None:
    found.extend(validate_object_meta(role.metadata, namespaced=False, name_rule=_name_rule))
    _check_rules(found, role.rules or (), namespaced=False)
    if role.aggregation_rule is None:
        return
    path = "aggregationRule.clusterRoleSelectors"
    selectors = role.aggregation_rule.cluster_role_selectors
    if not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        found.required(path, detail)
    for index, selector in enumerate(selectors):
        at = f"{path}[{index}]"
        found.extend(validate_label_selector(selector, at, any_value=any_value))
        if read_selector(selector) is None:
            found.invalid(at, None, "invalid label selector.")


def _check_rules(found: Findings, rules: Sequence[PolicyRule], *, namespaced: bool) -> None:
    for index, rule in enumerate(rules):
        _check_rule(found, rule, f"rules[{index}]", namespaced=namespaced)


def _declare_rules(new: Role | ClusterRole, old: Role | ClusterRole | None) -> Findings:
    found = Findings(shared=True)
    if old is None or not semantically_equal(new.rules, old.rules):
        for index, rule in enumerate(new.rules or ()):
            if not rule.verbs:
                found.required(f"rules[{index}].verbs")
    return found


def _check_rule(found: Findings, rule: PolicyRule, path: str, *, namespaced: bool) -> None:
    if not rule.verbs:
        found.required(f"{path}.verbs", "verbs must contain at least one value", shared=True)
    urls = list(rule.non_resource_urls)
    if urls:
        at = f"{path}.nonResourceURLs"
        if namespaced:
            found.invalid(at, urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.api_groups or rule.resources or rule.resource_names:
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            found.invalid(at, urls, detail)
        return
    if not rule.api_groups:
        detail = "resource rules must supply at least one api group"
        found.required(f"{path}.apiGroups", detail)
    if not rule.resources:
        detail = "resource rules must supply at least one resource"
        found.required(f"{path}.resources", detail)


# Bindings --------------------------------------------------------------------------------------


def _create_role_binding(new: RoleBinding, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=True, name_rule=_name_rule))
    _check_role_ref(found, new.role_ref, ("Role", "ClusterRole"))
    _check_subjects(found, new.subjects, namespaced=True)
    return Verdict(found, _declare_binding(new, None))


def _create_cluster_role_binding(new: ClusterRoleBinding, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta(new.metadata, namespaced=False, name_rule=_name_rule))
    _check_role_ref(found, new.role_ref, ("ClusterRole",))
    _check_subjects(found, new.subjects, namespaced=False)
    return Verdict(found, _declare_binding(new, None))


def _update_role_binding(new: RoleBinding, old: RoleBinding, context: Context) -> Verdict:
    return _update_binding(_create_role_binding(new, context).handwritten, new, old)


def _update_cluster_role_binding(
    new: ClusterRoleBinding, old: ClusterRoleBinding, context: Context
) -> Verdict:
    return _update_binding(_create_cluster_role_binding(new, context).handwritten, new, old)


def _update_binding(found: Findings, new: Binding, old: Binding) -> Verdict:
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    check_immutable(found, new.role_ref, old.role_ref, "roleRef")
    return Verdict(found, _declare_binding(new, old))


def _declare_binding(new: Binding, old: Binding | None) -> Findings:
    found = Findings(shared=True)
    if old is None or new.subjects != old.subjects:
        for index, subject in enumerate(new.subjects):
            if not subject.name:
                found.required(f"subjects[{index}].name")
    if not new.role_ref.name and (old is None or new.role_ref != old.role_ref):
        found.required("roleRef.name")
    return found


def _check_role_ref(found: Findings, role: RoleRef, kinds: tuple[str, ...]) -> None:
    if role.api_group != API_GROUP:
        found.not_supported("roleRef.apiGroup", role.api_group, (API_GROUP,))
    if role.kind not in kinds:
        found.not_supported("roleRef.kind", role.kind, kinds)
    if not role.name:
        found.required("roleRef.name", shared=True)
    else:
        for message in names.path_segment(role.name):
            found.invalid("roleRef.name", role.name, message)


def _check_subjects(found: Findings, subjects: Sequence[Subject], *, namespaced: bool) -> None:
    for index, subject in enumerate(subjects):
        _check_subject(found, subject, f"subjects[{index}]", namespaced=namespaced)


def _check_subject(found: Findings, subject: Subject, path: str, *, namespaced: bool) -> None:
    if not subject.name:
        found.required(f"{path}.name", shared=True)
    if subject.kind == SUBJECT_SERVICE_ACCOUNT:
        if subject.name:
            check_dns_subdomain(found, subject.name, f"{path}.name")
        if subject.api_group:
            found.not_supported(f"{path}.apiGroup", subject.api_group, ("",))
        if not namespaced and not subject.namespace:
            found.required(f"{path}.namespace")
    elif subject.kind not in _SUBJECTS:
        found.not_supported(f"{path}.kind", subject.kind, _SUBJECTS)
    elif subject.api_group != API_GROUP:
        found.not_supported(f"{path}.apiGroup", subject.api_group, (API_GROUP,))


ROLE: Final = Rulebook(namespaced=True, create=_create_role, update=_update_role)
CLUSTER_ROLE: Final = Rulebook(
    namespaced=False, create=_create_cluster_role, update=_update_cluster_role
)
ROLE_BINDING: Final = Rulebook(
    namespaced=True, create=_create_role_binding, update=_update_role_binding
)
CLUSTER_ROLE_BINDING: Final = Rulebook(
    namespaced=False, create=_create_cluster_role_binding, update=_update_cluster_role_binding
)
