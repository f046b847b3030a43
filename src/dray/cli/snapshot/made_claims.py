"""Claims as the controller makes them from templates, and whose they are.

Upstream counterpart: pkg/controller/resourceclaim.
"""

from __future__ import annotations

from collections.abc import Container

from dray.api.core import Pod
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.pod_claims import generated_name_base
from dray.api.resource import POD_CLAIM_NAME_ANNOTATION, ResourceClaim, ResourceClaimTemplate
from dray.cli.snapshot.names import ObjectName

__all__ = ["claim_from_template", "controls"]


def claim_from_template(
    pod: Pod, entry: str, template: ResourceClaimTemplate, taken: Container[ObjectName]
) -> ResourceClaim:
    """The claim the controller would make for the pod, with a name that is not taken."""
    base = generated_name_base(pod.metadata.name, entry)
    name = base.rstrip("-.")
    number = 1
    while ObjectName(pod.metadata.namespace, name) in taken:
        number += 1
        name = f"{base.rstrip('-.')}-{number}"
    made = template.spec
    owner = OwnerReference(
        api_version="v1",
        kind="Pod",
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        controller=True,
    )
    metadata = ObjectMeta(
        name=name,
        generate_name=base,
        namespace=pod.metadata.namespace,
        labels=made.metadata.labels,
        annotations={**made.metadata.annotations, POD_CLAIM_NAME_ANNOTATION: entry},
        owner_references=(owner,),
    )
    return ResourceClaim(metadata=metadata, spec=made.spec)


def controls(pod: Pod, claim: ResourceClaim) -> bool:
    """Whether the claim belongs to this pod. A manifest has no uid yet: then the name decides."""
    for owner in claim.metadata.owner_references:
        if owner.controller:
            if owner.uid and pod.metadata.uid:
                return owner.uid == pod.metadata.uid
            return owner.kind == "Pod" and owner.name == pod.metadata.name
    return False
