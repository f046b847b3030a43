"""Who may look at devices in use: claims and templates of namespaces that an administrator marked.

Not a plugin: upstream asks this while it validates, so a refusal is one field error among others
and the answer is 422. A spec is asked about once, when it is created, for it never changes; an
allocation when admin access first appears in it. The label is read at that moment and never again.
Upstream counterpart: AuthorizedForAdmin and AuthorizedForAdminStatus in pkg/registry/resource.
"""

from __future__ import annotations

from dray.api.core import Namespace
from dray.api.resource import ResourceClaim, ResourceClaimTemplate
from dray.errors import FieldError, FieldErrorType, quote
from dray.server.state import State
from dray.validation.resource_claim_spec import (
    ADMIN_ACCESS_LABEL,
    admin_access_forbidden,
    requests_with_admin_access,
)
from dray.validation.resource_claim_status import results_with_admin_access

__all__ = ["check_admin_access"]


def check_admin_access(
    new: ResourceClaim | ResourceClaimTemplate,
    old: ResourceClaim | ResourceClaimTemplate | None,
    state: State,
    *,
    subresource: str = "",
) -> list[FieldError]:
    """What is wrong with a write's use of admin access; `old` is None on create.

    Errors come before those of validation. Fields that a gate switches off are gone by then.
    """
    paths: tuple[str, ...] = ()
    if old is None:
        spec = new.spec.spec if isinstance(new, ResourceClaimTemplate) else new.spec
        paths = requests_with_admin_access(spec)
    elif subresource == "status" and isinstance(new, ResourceClaim):
        assert isinstance(old, ResourceClaim)
        paths = results_with_admin_access(new.status, old.status)
    if not paths:
        return []
    name = new.metadata.namespace
    namespace = state.get(Namespace, name)
    if namespace is None:
        missing = (
            "could not retrieve namespace to verify admin access: "
            f"namespaces {quote(name)} not found"
        )
        return [FieldError(FieldErrorType.INTERNAL, paths[0], None, missing)]
    if namespace.metadata.labels.get(ADMIN_ACCESS_LABEL) != "true":
        return [admin_access_forbidden(paths[0])]
    return []
