"""The claims of a pod, looked up: until all of them are there, the pod is not even tried.

Upstream counterpart: podResourceClaims of the DynamicResources plugin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dray.api.core import Pod
from dray.api.pod_claims import ownership_error, references
from dray.api.resource import ResourceClaim
from dray.errors import quote

__all__ = ["ClaimLookup", "Unresolved", "claim_names", "resolve"]

ClaimLookup = Callable[[str, str], ResourceClaim | None]
"""The claim of a name and a namespace."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Why a pod's claims are not all there."""

    why: str


def claim_names(pod: Pod) -> tuple[str, ...] | None:
    """The names of the claims in the pod's spec; None if one of them is not known yet."""
    names = []
    for reference in references(pod):
        if reference.error:
            return None
        if reference.name and reference.claim_name:
            names.append(reference.claim_name)
    return tuple(names)


def resolve(pod: Pod, lookup: ClaimLookup) -> tuple[ResourceClaim, ...] | Unresolved:
    """The claims in the pod's spec, in its order, or what is in the way in upstream's words."""
    if not pod.spec.resource_claims:
        return ()
    namespace = pod.metadata.namespace
    claims = []
    for reference in references(pod):
        if reference.error:
            return Unresolved(reference.error)
        name = reference.claim_name
        if not reference.name or not name:
            continue  # of extended resources, or the controller found that none is needed
        claim = lookup(name, namespace)
        if claim is None:
            return Unresolved(f"could not find ResourceClaim {quote(f'{namespace}/{name}')}")
        if claim.metadata.deletion_timestamp is not None:
            return Unresolved(f"resourceclaim {quote(name)} is being deleted")
        if reference.generated and (stranger := ownership_error(pod, claim)):
            return Unresolved(stranger)
        claims.append(claim)
    return tuple(claims)
