"""Gives a pod its claims: makes those that come from templates, and reserves what it may use.

A pod with claims from templates costs one write for each claim and one for its status. The status
is patched by a strategic merge, whose lists are merged by name as upstream's apply does, at three
quarters of the cost; the pod's UID goes with it, so that a successor is never written to. Upstream
counterpart: syncPod in pkg/controller/resourceclaim.
"""

from __future__ import annotations

import logging
from typing import Final

from dray.api.core import Pod, PodResourceClaim
from dray.api.pod_claims import is_reserved, ownership_error, references
from dray.api.resource import ResourceClaim, ResourceClaimConsumerReference
from dray.api.wire import replace
from dray.client import Client, EventRecorder, PatchType
from dray.controllers.reconciler import DONE, Result
from dray.controllers.resource_claims.generation import (
    generated_claim,
    has_admin_access,
    is_made_for,
)
from dray.controllers.resource_claims.views import Views, is_done
from dray.errors import AlreadyExists, APIError, NotFound, TransportError, quote
from dray.metrics import Family

__all__ = ["Provision"]

_log = logging.getLogger(__name__)

FIELD_MANAGER: Final = "ResourceClaimController"
FAILED_CREATION: Final = "FailedResourceClaimCreation"

# The API's: pods that share one claim.
CONSUMERS_MAX: Final = 256

# A pod that waits for a template is looked at once that appears. This is to repeat the event, which
# is kept for an hour.
REMINDER_SECONDS: Final = 600.0


class Provision:
    """What is done for pods."""

    def __init__(self, client: Client, views: Views, events: EventRecorder) -> None:
        self._client = client
        self._views = views
        self._events = events
        self.creations: Final = Family(
            "dynamic_resource_allocation_resourceclaim_creates_total",
            "ResourceClaims that were to be created, by how it went, admin access and owner.",
            kind="counter",
            labels=("status", "admin_access", "owner_api_group", "owner_api_kind"),
        )

    def is_wanted(self, pod: Pod) -> bool:
        """Whether there is something to do for a pod, as far as one can see."""
        if pod.metadata.deletion_timestamp is not None or is_done(pod):
            return False
        namespace, uid = pod.metadata.namespace, pod.metadata.uid
        for reference in references(self._views.newest(pod)):
            if reference.error:
                return True
            if not reference.claim_name:
                continue  # none was needed
            claim = self._views.claim(namespace, reference.claim_name, uid)
            if reference.generated and (claim is None or ownership_error(pod, claim)):
                return True
            if reference.name and claim is not None and _is_to_be_reserved(pod, claim):
                return True
        return False

    async def provide(self, pod: Pod) -> Result:
        """Make what is missing, say so in the pod's status, and reserve what is allocated."""
        if pod.metadata.deletion_timestamp is not None or is_done(pod):
            return DONE
        recorded = {
            status.name: status.resource_claim_name
            for status in self._views.newest(pod).status.resource_claim_statuses or ()
        }
        news: dict[str, str] = {}
        for entry in pod.spec.resource_claims:
            if entry.resource_claim_name is not None:
                continue
            if entry.name in recorded and recorded[entry.name] is None:
                continue  # none was needed
            try:
                name = await self._claim_for(pod, entry, recorded.get(entry.name) or "")
            except _Refusal as error:
                self._report(pod, entry, error)
                return Result(requeue_after_seconds=REMINDER_SECONDS)
            except (APIError, TransportError) as error:
                self._report(pod, entry, error)
                raise
            if name != recorded.get(entry.name):
                news[entry.name] = name
        try:
            if news:
                await self._record(pod, news)
        except NotFound:
            return DONE  # the pod is gone, and takes its claims along
        if pod.spec.node_name:
            await self._reserve(pod)
        return DONE

    # Private -----------------------------------------------------------------------------------

    def _report(self, pod: Pod, entry: PodResourceClaim, error: Exception) -> None:
        text = f"PodResourceClaim {entry.name}: {error}"
        self._events.record(pod, "Warning", FAILED_CREATION, text)

    async def _claim_for(self, pod: Pod, entry: PodResourceClaim, recorded: str) -> str:
        """The name of the claim for an entry, which is made if there is none."""
        if recorded and await self._is_there(pod, recorded):
            return recorded
        claim = self._views.made_for(pod, entry.name)
        if claim is None:
            claim = await self._create(pod, entry)
        return claim.metadata.name

    async def _is_there(self, pod: Pod, name: str) -> bool:
        """Whether the claim that the pod's status names exists, and is the pod's."""
        namespace = pod.metadata.namespace
        claim = self._views.claims.get(name, namespace)
        if claim is None:
            # The view may be behind, or what was created may have gone unseen: a second claim, or
            # one that is waited for in vain, costs more than asking.
            try:
                claim = await self._client.get(ResourceClaim, name, namespace=namespace)
            except NotFound:
                remembered = self._views.claim(namespace, name, pod.metadata.uid)
                if remembered is not None:
                    self._views.see_claim(remembered)
                return False
        problem = ownership_error(pod, claim)
        if problem:
            _log.warning("%s; a new one is made", problem)
        return not problem

    async def _create(self, pod: Pod, entry: PodResourceClaim) -> ResourceClaim:
        if entry.resource_claim_template_name is None:
            raise _Refusal("none of the supported fields are set")
        wanted = entry.resource_claim_template_name
        template = self._views.templates.get(wanted, pod.metadata.namespace)
        if template is None:
            raise _Refusal(
                f"resource claim template {quote(wanted)}:"
                f" resourceclaimtemplate.resource.k8s.io {quote(wanted)} not found"
            )
        claim = generated_claim(pod, entry.name, template)
        name, namespace = claim.metadata.name, claim.metadata.namespace
        try:
            made = await self._counted(claim)
        except AlreadyExists:
            made = await self._client.get(ResourceClaim, name, namespace=namespace)
            if not is_made_for(made, pod, entry.name):
                # It is on its way out, or somebody else's: then the server draws a name.
                unnamed = replace(claim, metadata=replace(claim.metadata, name=""))
                made = await self._counted(unnamed)
        self._views.created(made, pod)
        return made

    async def _counted(self, claim: ResourceClaim) -> ResourceClaim:
        labels = "true" if has_admin_access(claim.spec) else "false", "", "Pod"
        try:
            made = await self._client.create(claim)
        except (APIError, TransportError):
            self.creations.add("failure", *labels)
            raise
        self.creations.add("success", *labels)
        return made

    async def _record(self, pod: Pod, names: dict[str, str]) -> None:
        statuses = [{"name": entry, "resourceClaimName": name} for entry, name in names.items()]
        written = await self._client.patch(
            Pod,
            pod.metadata.name,
            {
                "metadata": {"uid": pod.metadata.uid},
                "status": {"resourceClaimStatuses": statuses},
            },
            namespace=pod.metadata.namespace,
            type=PatchType.STRATEGIC,
            subresource="status",
            field_manager=FIELD_MANAGER,
        )
        self._views.written(written)

    async def _reserve(self, pod: Pod) -> None:
        """Do what a scheduler would have done, for a pod that came to its node without one."""
        for reference in references(pod):
            if not reference.name or not reference.claim_name:
                continue
            claim = self._views.claims.get(reference.claim_name, pod.metadata.namespace)
            if claim is None or (reference.generated and ownership_error(pod, claim)):
                continue
            if _is_to_be_reserved(pod, claim):
                consumer = ResourceClaimConsumerReference(
                    resource="pods", name=pod.metadata.name, uid=pod.metadata.uid
                )
                consumers = (*claim.status.reserved_for, consumer)
                status = replace(claim.status, reserved_for=consumers)
                await self._client.update_status(replace(claim, status=status))


class _Refusal(Exception):
    """A claim that is not made until something else changes."""


def _is_to_be_reserved(pod: Pod, claim: ResourceClaim) -> bool:
    return (
        bool(pod.spec.node_name)
        and claim.status.allocation is not None
        and claim.metadata.deletion_timestamp is None
        and len(claim.status.reserved_for) < CONSUMERS_MAX
        and not is_reserved(pod, claim)
    )
