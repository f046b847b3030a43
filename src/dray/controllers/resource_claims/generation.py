"""The claim that is made from a template for one entry of a pod. Pure.

Two departures from upstream:

The name is not drawn but follows from the pod's UID and the entry's name; it looks as upstream's
do. Whoever makes the claim a second time, because the first answer was lost or because two
controllers run, is told that it exists (test_an_answer_that_is_lost_leads_to_no_second_claim).

The claim has the finalizer `resource.kubernetes.io/delete-protection` from the beginning. The
scheduler upstream adds it before it allocates, which is one more write for each pod; any scheduler
takes a claim that has it. While the claim is not reserved the finalizer holds nothing up: whoever
deletes the claim has it removed at once by this controller
(test_a_claim_that_nobody_uses_can_be_deleted_by_hand). Upstream counterpart: handleClaim.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from dray.api.core import Pod
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.pod_claims import generated_name_base
from dray.api.resource import (
    CLAIM_FINALIZER,
    POD_CLAIM_NAME_ANNOTATION,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)

__all__ = [
    "generated_claim",
    "has_admin_access",
    "is_made_for",
    "owner_of",
]

# As the server draws them: no vowels, and nothing easily misread.
SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_CHARACTERS: Final = 5


def generated_claim(pod: Pod, entry: str, template: ResourceClaimTemplate) -> ResourceClaim:
    """What to create for an entry of the pod's spec.resourceClaims."""
    base = generated_name_base(pod.metadata.name, entry)
    copied = template.spec.metadata
    return ResourceClaim(
        metadata=ObjectMeta(
            name=base + _suffix(pod.metadata.uid, entry),
            generate_name=base,
            namespace=pod.metadata.namespace,
            labels=copied.labels,
            annotations={**copied.annotations, POD_CLAIM_NAME_ANNOTATION: entry},
            owner_references=(
                OwnerReference(
                    api_version="v1",
                    kind="Pod",
                    name=pod.metadata.name,
                    uid=pod.metadata.uid,
                    controller=True,
                ),
            ),
            finalizers=(CLAIM_FINALIZER,),
        ),
        spec=template.spec.spec,
    )


def has_admin_access(spec: ResourceClaimSpec) -> bool:
    """Whether any request asks for admin access; alternatives of a request cannot."""
    return any(
        request.exactly is not None and bool(request.exactly.admin_access)
        for request in spec.devices.requests or ()
    )


def owner_of(claim: ResourceClaim) -> OwnerReference | None:
    """The pod that a claim was made for, if it was made for one."""
    return next(
        (
            owner
            for owner in claim.metadata.owner_references
            if owner.controller and owner.kind == "Pod" and owner.api_version == "v1"
        ),
        None,
    )


def is_made_for(claim: ResourceClaim, pod: Pod, entry: str) -> bool:
    """Whether a claim is the one of this entry of the pod, and is to stay."""
    owner = owner_of(claim)
    metadata = claim.metadata
    return (
        owner is not None
        and owner.uid == pod.metadata.uid
        and metadata.annotations.get(POD_CLAIM_NAME_ANNOTATION) == entry
        and metadata.deletion_timestamp is None
    )


def _suffix(uid: str, entry: str) -> str:
    number = int.from_bytes(sha256(f"{uid}/{entry}".encode()).digest()[:8], "big")
    drawn = ""
    for _ in range(SUFFIX_CHARACTERS):
        number, index = divmod(number, len(SUFFIX_ALPHABET))
        drawn += SUFFIX_ALPHABET[index]
    return drawn
