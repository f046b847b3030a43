"""The claims a pod refers to, and whether it may use them. Pure.

A pod names a claim directly, or a template; for the latter its status says which claim was made.
The claim behind its extended resources is in the status only. Upstream counterpart:
k8s.io/dynamic-resource-allocation/resourceclaim.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from dray.api.core import Pod, PodResourceClaim
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.resource import ResourceClaim
from dray.errors import quote

__all__ = ["ClaimReference", "generated_name_base", "is_reserved", "ownership_error", "references"]

# Upstream's: of the 63 characters that many tools can show, a hyphen and five that are drawn.
NAME_BASE_CHARACTERS_MAX: Final = 57

_SCHEDULING_GROUP: Final = "scheduling.k8s.io"


class ClaimReference(msgspec.Struct, frozen=True, gc=False):
    """One claim of a pod: what the pod calls it, and which object it is.

    No `claim_name` and no `error`: no claim was needed. `generated` claims must belong to the pod.
    """

    name: str
    claim_name: str = ""
    generated: bool = False
    error: str = ""


def references(pod: Pod) -> Iterator[ClaimReference]:
    """All claims of a pod in the order it names them, then that of its extended resources."""
    for entry in pod.spec.resource_claims:
        yield _reference(pod, entry)
    extended = pod.status.extended_resource_claim_status
    if extended is not None:
        yield ClaimReference("", extended.resource_claim_name)


def ownership_error(pod: Pod, claim: ResourceClaim) -> str:
    """Why a generated claim is not this pod's; empty if it is."""
    near = claim.metadata.namespace == pod.metadata.namespace
    owner = _controller(claim.metadata)
    if near and owner is not None and owner.uid == pod.metadata.uid:
        return ""
    named = f"ResourceClaim {claim.metadata.namespace}/{claim.metadata.name}"
    whose = f"Pod {pod.metadata.namespace}/{pod.metadata.name}"
    if not near:
        return f"{named} is not in the same namespace as {whose}"
    group = _group_name(pod)
    if not group:
        return f"{named} was not created for {whose} (Pod is not owner)"
    if (
        owner is not None
        and owner.name == group
        and owner.kind == "PodGroup"
        and owner.api_version.startswith(f"{_SCHEDULING_GROUP}/")
    ):
        return ""
    return f"{named} was not created for {whose} (neither Pod nor PodGroup {group} is the owner)"


def generated_name_base(pod: str, entry: str) -> str:
    """What the name of a claim for an entry begins with; if too long, each part loses its share."""
    base = f"{pod}-{entry}-"
    if len(base) <= NAME_BASE_CHARACTERS_MAX:
        return base
    pod_part = pod[: len(pod) * NAME_BASE_CHARACTERS_MAX // len(base)]
    entry_part = entry[: len(entry) * NAME_BASE_CHARACTERS_MAX // len(base)]
    # A dot before the hyphen would make no valid name; upstream never gets such a claim created.
    return f"{pod_part.rstrip('.')}-{entry_part}"


def is_reserved(pod: Pod, claim: ResourceClaim) -> bool:
    """Whether the claim is reserved for the pod, or for the group it belongs to."""
    group = _group_name(pod)
    return any(
        consumer.uid == pod.metadata.uid
        # A pod does not know the UID of its group.
        or (
            group != ""
            and consumer.api_group == _SCHEDULING_GROUP
            and consumer.resource == "podgroups"
            and consumer.name == group
        )
        for consumer in claim.status.reserved_for
    )


def _reference(pod: Pod, entry: PodResourceClaim) -> ClaimReference:
    if entry.resource_claim_name is not None:
        return ClaimReference(entry.name, entry.resource_claim_name)
    if entry.resource_claim_template_name is not None:
        for status in pod.status.resource_claim_statuses or ():
            if status.name == entry.name:
                return ClaimReference(entry.name, status.resource_claim_name or "", generated=True)
    whose = f'pod "{pod.metadata.namespace}/{pod.metadata.name}"'
    if entry.resource_claim_template_name is None:
        field = f"{whose}, spec.resourceClaim {quote(entry.name)}"
        return ClaimReference(entry.name, error=f"{field}: none of the supported fields are set")
    return ClaimReference(entry.name, error=f"{whose}: ResourceClaim not created yet")


def _controller(metadata: ObjectMeta) -> OwnerReference | None:
    for owner in metadata.owner_references:
        if owner.controller:
            return owner
    return None


def _group_name(pod: Pod) -> str:
    group = pod.spec.scheduling_group
    return (group.pod_group_name or "") if group is not None else ""
