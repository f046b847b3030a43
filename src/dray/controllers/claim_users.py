"""The pods that refer to a claim, found without a look at all the others."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from dray.api.core import Pod
from dray.api.pod_claims import references
from dray.api.resource import ResourceClaim
from dray.client import Informers

__all__ = ["ClaimUsers", "has_claims"]

_INDEX: Final = "claim-users"


def has_claims(pod: Pod) -> bool:
    """Whether a pod refers to claims at all, be it only for its extended resources."""
    return bool(pod.spec.resource_claims) or pod.status.extended_resource_claim_status is not None


class ClaimUsers:
    """An index of the view of all pods. Whoever needs it makes one; the index is the same."""

    def __init__(self, informers: Informers) -> None:
        self._pods = informers.of(Pod)
        self._pods.add_index(_INDEX, _claims_of)

    def of(self, claim: ResourceClaim) -> Sequence[Pod]:
        """The pods whose spec or status names a claim, whether or not they may use it."""
        metadata = claim.metadata
        return self._pods.by_index(_INDEX, (metadata.namespace, metadata.name))


def _claims_of(pod: Pod) -> Iterator[Hashable]:
    if has_claims(pod):
        for reference in references(pod):
            if reference.claim_name:
                yield pod.metadata.namespace, reference.claim_name
