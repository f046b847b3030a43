"""What the controller knows: pods, claims and templates, found by what ties them together.

A view may be behind what the controller did itself. So the claims that it created are remembered
until the view has them, pods that it wrote to until the view shows it, and pods whose end was seen
for a while. Upstream counterparts: the indexers, the mutation cache and the cache of
deleted UIDs in pkg/controller/resourceclaim.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from dray.api.core import Pod
from dray.api.resource import ResourceClaim, ResourceClaimTemplate
from dray.client import Informers
from dray.controllers.claim_users import ClaimUsers
from dray.controllers.pod_states import is_terminal
from dray.controllers.resource_claims.generation import is_made_for, owner_of

__all__ = ["Views", "is_done"]

# A UID is under a hundred bytes. A pod that is forgotten costs a request when its claims are
# released; so many may be deleted at once when a namespace or a large job goes.
DELETED_MAX: Final = 10_000

# Names of indexes are shared by all who use the same view.
_PODS_BY_TEMPLATE: Final = "resource-claims/template"
_CLAIMS_BY_OWNER: Final = "resource-claims/owner"


def is_done(pod: Pod) -> bool:
    """Whether it is certain that no container of the pod runs, or ever will."""
    return is_terminal(pod) or (
        pod.metadata.deletion_timestamp is not None and not pod.spec.node_name
    )


class Views:
    """The informers, their indexes, and what they do not show yet or any more."""

    def __init__(self, informers: Informers) -> None:
        self.pods: Final = informers.of(Pod)
        self.claims: Final = informers.of(ResourceClaim)
        self.users: Final = ClaimUsers(informers)
        self.templates: Final = informers.of(ResourceClaimTemplate)
        self.pods.add_index(_PODS_BY_TEMPLATE, _templates_of)
        self.claims.add_index(_CLAIMS_BY_OWNER, _owners_of)
        self._created: dict[str, dict[str, ResourceClaim]] = {}  # by UID of the pod, then by name
        self._written: dict[str, Pod] = {}  # by UID
        self._deleted: dict[str, None] = {}  # UIDs, the oldest first

    def claim(self, namespace: str, name: str, pod_uid: str) -> ResourceClaim | None:
        """A claim of a pod, also if it was only just created for it."""
        return self.claims.get(name, namespace) or self._created.get(pod_uid, {}).get(name)

    def made_for(self, pod: Pod, entry: str) -> ResourceClaim | None:
        """The claim that was made for an entry of a pod. If there are several, always the same."""
        uid = pod.metadata.uid
        owned = (*self.owned_by(uid), *self._created.get(uid, {}).values())
        made = (claim for claim in owned if is_made_for(claim, pod, entry))
        return min(made, key=lambda claim: claim.metadata.name, default=None)

    def owned_by(self, pod_uid: str) -> Sequence[ResourceClaim]:
        """The claims that were made for a pod."""
        return self.claims.by_index(_CLAIMS_BY_OWNER, pod_uid)

    def users_of_template(self, template: ResourceClaimTemplate) -> Sequence[Pod]:
        """The pods that refer to a template."""
        metadata = template.metadata
        return self.pods.by_index(_PODS_BY_TEMPLATE, (metadata.namespace, metadata.name))

    def created(self, claim: ResourceClaim, pod: Pod) -> None:
        """Remember a claim until it is seen, or its pod's end is."""
        metadata = claim.metadata
        # The watch may have been quicker than the answer.
        if self.claims.get(metadata.name, metadata.namespace) is None:
            self._created.setdefault(pod.metadata.uid, {})[metadata.name] = claim

    def newest(self, pod: Pod) -> Pod:
        """A pod of the view, or how it is since it was written to."""
        return self._written.get(pod.metadata.uid, pod)

    def written(self, pod: Pod) -> None:
        """Remember how a pod is since it was written to, until the view shows it."""
        metadata = pod.metadata
        shown = self.pods.get(metadata.name, metadata.namespace)
        # The watch may have been quicker than the answer; a pod that is gone is never seen again.
        if shown is not None and shown.metadata.uid == metadata.uid:
            self._written[metadata.uid] = pod
            self.see_pod(shown)

    def see_pod(self, pod: Pod) -> None:
        """A pod is in the view."""
        written = self._written.get(pod.metadata.uid)
        if written is not None and _revision(pod) >= _revision(written):
            del self._written[pod.metadata.uid]

    def see_claim(self, claim: ResourceClaim) -> None:
        """A claim is in the view, or no longer is, or turned out not to exist."""
        owner = owner_of(claim)
        created = self._created.get(owner.uid) if owner is not None else None
        if owner is not None and created is not None:
            created.pop(claim.metadata.name, None)
            if not created:
                del self._created[owner.uid]

    def deleted(self, pod: Pod) -> None:
        """Remember that a pod is gone."""
        uid = pod.metadata.uid
        self._created.pop(uid, None)
        self._written.pop(uid, None)
        self._deleted[uid] = None
        if len(self._deleted) > DELETED_MAX:
            del self._deleted[next(iter(self._deleted))]

    def is_deleted(self, pod_uid: str) -> bool:
        """Whether a pod is known to be gone; False if nothing is known of it."""
        return pod_uid in self._deleted


def _revision(pod: Pod) -> int:
    return int(pod.metadata.resource_version)


def _templates_of(pod: Pod) -> Iterator[Hashable]:
    for entry in pod.spec.resource_claims:
        if entry.resource_claim_template_name is not None:
            yield pod.metadata.namespace, entry.resource_claim_template_name


def _owners_of(claim: ResourceClaim) -> Iterator[Hashable]:
    owner = owner_of(claim)
    if owner is not None:
        yield owner.uid
