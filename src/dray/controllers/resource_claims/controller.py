"""The controller: hears of pods, claims and templates, and has those looked at that need it.

It sits on the way of every pod with claims, so what is heard is weighed at once, in the view, and
only what needs a request is queued. Names in the queue say of what they are: `pod:web`, `claim:x`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from dray.api.core import Pod
from dray.api.pod_claims import references
from dray.api.resource import (
    EXTENDED_RESOURCE_CLAIM_ANNOTATION,
    POD_CLAIM_NAME_ANNOTATION,
    ResourceClaim,
    ResourceClaimTemplate,
)
from dray.controllers.claim_users import has_claims
from dray.controllers.reconciler import DONE, Context, Key, Reconciler, Result
from dray.controllers.resource_claims.generation import has_admin_access
from dray.controllers.resource_claims.provision import Provision
from dray.controllers.resource_claims.release import Release
from dray.controllers.resource_claims.views import Views, is_done
from dray.metrics import Family, Histogram

__all__ = ["ResourceClaimController"]

_POD: Final = "pod:"
_CLAIM: Final = "claim:"


class ResourceClaimController(Reconciler):
    """Pods and claims share a queue, as they do upstream."""

    name = "resourceclaim-controller"
    component = "resource_claim"  # upstream's, unlike the name
    workers = 50  # upstream's

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._views = Views(context.informers)
        self._provision = Provision(context.client, self._views, context.events)
        self._release = Release(context.client, self._views)
        self._counts = Family(
            "dynamic_resource_allocation_resource_claims",
            "ResourceClaims by whether they are allocated, admin access, and what made them:"
            " resource_claim_template, extended_resource, or nothing for a user.",
            kind="gauge",
            labels=("allocated", "admin_access", "source"),
        )
        self._views.pods.listen(self._hear_pod)
        self._views.claims.listen(self._hear_claim)
        self._views.templates.listen(self._hear_template)

    async def reconcile(self, key: Key) -> Result:
        if key.name.startswith(_POD):
            pod = self._views.pods.get(key.name.removeprefix(_POD), key.namespace)
            return DONE if pod is None else await self._provision.provide(pod)
        claim = self._views.claims.get(key.name.removeprefix(_CLAIM), key.namespace)
        if claim is not None:
            await self._release.release(claim)
        return DONE

    def families(self) -> Sequence[Family | Histogram]:
        claims = self._views.claims.values()
        self._counts.replace(dict(Counter(_labels(claim) for claim in claims)))
        return self._provision.creations, self._counts

    # Private -----------------------------------------------------------------------------------

    def _hear_pod(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        if not has_claims(pod):
            return
        if new is None:
            self._views.deleted(pod)
        else:
            self._views.see_pod(new)
        if new is None or is_done(new):
            namespace = pod.metadata.namespace
            for reference in references(pod):
                claim = self._views.claims.get(reference.claim_name or "", namespace)
                if claim is not None:
                    self._queue_claim(claim)
            for claim in self._views.owned_by(pod.metadata.uid):
                self._queue_claim(claim)
        else:
            self._queue_pod(new)

    def _hear_claim(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        claim = new or old
        assert claim is not None
        self._views.see_claim(claim)
        if new is not None and self._release.is_wanted(new):
            self._queue_claim(new)
        for pod in self._views.users.of(claim):
            self._queue_pod(pod)

    def _hear_template(
        self, _old: ResourceClaimTemplate | None, new: ResourceClaimTemplate | None
    ) -> None:
        if new is not None:
            for pod in self._views.users_of_template(new):
                self._queue_pod(pod)

    def _queue_pod(self, pod: Pod) -> None:
        if self._provision.is_wanted(pod):
            self.queue.add(Key(pod.metadata.namespace, _POD + pod.metadata.name))

    def _queue_claim(self, claim: ResourceClaim) -> None:
        key = Key(claim.metadata.namespace, _CLAIM + claim.metadata.name)
        self.queue.add_after(key, self._release.delay_seconds(claim))


def _labels(claim: ResourceClaim) -> tuple[str, str, str]:
    annotations = claim.metadata.annotations
    source = ""
    if annotations.get(EXTENDED_RESOURCE_CLAIM_ANNOTATION) == "true":
        source = "extended_resource"
    elif annotations.get(POD_CLAIM_NAME_ANNOTATION):
        source = "resource_claim_template"
    return (
        "false" if claim.status.allocation is None else "true",
        "true" if has_admin_access(claim.spec) else "false",
        source,
    )
