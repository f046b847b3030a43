"""Rules that need more than the object: who writes it, and what else there is.

Upstream asks these while it validates, so most refusals are field errors among others; only
escalation of rights is refused outright. Upstream counterparts: the strategies of
pkg/registry/resource, and policybased in pkg/registry/rbac.
"""

from __future__ import annotations

from typing import Any

from dray.api.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from dray.api.resource import ResourceClaim, ResourceClaimTemplate
from dray.errors import FieldError
from dray.server.admission.admin_access import check_admin_access
from dray.server.auth.claim_status import check_claim_status
from dray.server.auth.escalation import check_escalation
from dray.server.call import Call

__all__ = ["guard_create", "guard_update"]

_GRANTS = (Role, ClusterRole, RoleBinding, ClusterRoleBinding)


def guard_create(call: Call, new: Any) -> list[FieldError]:
    """What is wrong with creating this, here and now, for this user."""
    if isinstance(new, (ResourceClaim, ResourceClaimTemplate)):
        return check_admin_access(new, None, call.services.state)
    if isinstance(new, _GRANTS):
        _check_escalation(call, new, None)
    return []


def guard_update(call: Call, new: Any, old: Any, *, subresource: str) -> list[FieldError]:
    """What is wrong with changing this, here and now, for this user."""
    if isinstance(new, ResourceClaim) and subresource == "status":
        services = call.services
        errors = check_admin_access(new, old, services.state, subresource=subresource)
        if "DRAResourceClaimGranularStatusAuthorization" in services.gates:
            verb = call.route.verb
            errors += check_claim_status(new, old, call.user, verb, services.authorizer)
        return errors
    if isinstance(new, _GRANTS):
        _check_escalation(call, new, old)
    return []


def _check_escalation(call: Call, new: Any, old: Any | None) -> None:
    check_escalation(call.user, new, old, call.services.authorizer, call.services.rules)
