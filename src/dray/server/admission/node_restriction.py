"""NodeRestriction: what a node may write, beyond what the authorizer could tell without looking.

A node is a user `system:node:NAME` of the group `system:nodes`. It may touch its own Node but not
steer pods to itself by labels or taints, show its static pods, end its pods, publish slices of
its own devices, and ask for the tokens its pods mount; nobody else is restricted here. Drivers on
nodes use service accounts and are not nodes in this sense. Certificates, volumes and CSI are not
served. Upstream counterpart: plugin/pkg/admission/noderestriction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from dray.api.authentication import TokenRequest
from dray.api.coordination import Lease
from dray.api.core import Node, Pod
from dray.api.equality import semantically_equal
from dray.api.meta import OwnerReference
from dray.api.resource import ResourceSlice
from dray.api.wire import is_null
from dray.errors import quote
from dray.server.admission.pod_references import (
    MIRROR_POD_ANNOTATION,
    Item,
    api_reference,
    is_mirror_pod,
    projected_sources,
    volumes_of,
)
from dray.server.admission.refusals import aggregate, forbidden, not_found
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.auth.identities import node_of
from dray.server.resources import Resource
from dray.server.state import State
from dray.server.user import Attributes, Decision

__all__ = [
    "AUDIENCE_VERB",
    "NODE_LEASE_NAMESPACE",
    "Authorize",
    "NodeRestriction",
]

NODE_LEASE_NAMESPACE: Final = "kube-node-lease"

# Lets a node ask for tokens that none of its pods' volumes mention.
AUDIENCE_VERB: Final = "request-serviceaccounts-token-audience"

Authorize = Callable[[Attributes], Decision]

# Labels under kubernetes.io and k8s.io that a node may set on itself.
_NODE_LABELS: Final = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
    }
)
_NODE_LABEL_DOMAINS: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
_RESTRICTED_DOMAIN: Final = "node-restriction.kubernetes.io"
_KUBERNETES_DOMAINS: Final = ("kubernetes.io", "k8s.io")


class NodeRestriction(Plugin):
    """Refuses nodes what is not theirs."""

    def __init__(self, state: State, authorize: Authorize) -> None:
        self._state = state
        self._authorize = authorize

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        del subresource, resource  # a node without a name is refused whatever it asks for
        return operation is not Operation.CONNECT

    def admit(self, request: AdmissionRequest) -> Any:
        node_name = node_of(request.user)
        if node_name is not None:
            if not node_name:
                user = quote(request.user.name)
                raise forbidden(request, f"could not determine node from user {user}")
            self._check(request, node_name)
        return request.object

    def _check(self, request: AdmissionRequest, node_name: str) -> None:
        match request.resource.group, request.resource.plural:
            case "", "pods":
                self._check_pods(request, node_name)
            case "", "nodes":
                _check_node(request, node_name)
            case "", "serviceaccounts":
                if request.operation is Operation.CREATE and request.subresource == "token":
                    self._check_token(request, node_name)
            case "coordination.k8s.io", "leases":
                _check_lease(request, node_name)
            case "resource.k8s.io", "resourceslices":
                _check_slice(request, node_name)

    # Pods --------------------------------------------------------------------------------------

    def _check_pods(self, request: AdmissionRequest, node_name: str) -> None:
        operation = request.operation
        match request.subresource:
            case "" if operation is Operation.CREATE:
                self._check_mirror_pod(request, node_name)
            case "" if operation is Operation.DELETE:
                if self._pod(request, request.name).spec.node_name != node_name:
                    raise forbidden(
                        request,
                        f"node {quote(node_name)} can only delete pods with spec.nodeName set to "
                        "itself",
                    )
            case "":
                raise forbidden(
                    request,
                    f"unexpected operation {quote(operation.value)}, node {quote(node_name)} can "
                    "only create and delete mirror pods",
                )
            case "status" if operation is Operation.UPDATE:
                _check_pod_status(request, node_name)
            case "status":
                raise forbidden(request, f"unexpected operation {quote(operation.value)}")
            case "eviction" if operation is Operation.CREATE:
                self._check_eviction(request, node_name)
            case "eviction":
                raise forbidden(request, f"unexpected operation {operation.value}")
            case _:
                raise forbidden(
                    request,
                    f"unexpected pod subresource {quote(request.subresource)}, only 'status' and "
                    "'eviction' are allowed",
                )

    def _check_mirror_pod(self, request: AdmissionRequest, node_name: str) -> None:
        pod: Pod = request.object
        node = quote(node_name)
        if not is_mirror_pod(pod):
            raise forbidden(
                request,
                f"pod does not have {quote(MIRROR_POD_ANNOTATION)} annotation, node {node} can "
                "only create mirror pods",
            )
        if pod.spec.node_name != node_name:
            raise forbidden(
                request, f"node {node} can only create pods with spec.nodeName set to itself"
            )
        owners = pod.metadata.owner_references
        if trouble := _wrong_owner(owners, node_name):
            raise forbidden(request, f"node {node} {trouble}")
        found = self._state.get(Node, node_name)
        if found is None:
            raise not_found("node", node_name)
        if owners[0].uid != found.metadata.uid:
            raise forbidden(
                request,
                f"node {node_name} UID mismatch: expected {owners[0].uid} got {found.metadata.uid}",
            )
        reference = api_reference(pod)
        if reference.trouble:
            raise forbidden(
                request, f"error checking mirror pod for API references: {reference.trouble}"
            )
        if reference.found:
            raise forbidden(
                request, f"node {node} can not create pods that reference {reference.found}"
            )

    def _check_eviction(self, request: AdmissionRequest, node_name: str) -> None:
        name = request.name or request.object.metadata.name
        if not name:
            raise forbidden(request, "could not determine pod from request data")
        if self._pod(request, name).spec.node_name != node_name:
            raise forbidden(
                request, f"node {node_name} can only evict pods with spec.nodeName set to itself"
            )

    def _pod(self, request: AdmissionRequest, name: str) -> Pod:
        pod = self._state.get(Pod, name, request.namespace)
        if pod is None:
            raise not_found("pod", name)
        return pod

    # Tokens ------------------------------------------------------------------------------------

    def _check_token(self, request: AdmissionRequest, node_name: str) -> None:
        asked: TokenRequest = request.object
        bound = asked.spec.bound_object_ref
        if bound is None or (bound.api_version, bound.kind) != ("v1", "Pod") or not bound.name:
            raise forbidden(request, "node requested token not bound to a pod")
        if not bound.uid:
            raise forbidden(request, "node requested token with a pod binding without a uid")
        pod = self._pod(request, bound.name)
        if bound.uid != pod.metadata.uid:
            raise forbidden(
                request,
                f"the UID in the bound object reference ({bound.uid}) does not match the UID in "
                "record. The object might have been deleted and then recreated",
            )
        if pod.spec.node_name != node_name:
            raise forbidden(
                request, "node requested token bound to a pod scheduled on a different node"
            )
        audiences = asked.spec.audiences or ()
        if len(audiences) > 1:
            raise forbidden(request, "node may only request 0 or 1 audiences")
        self._check_audience(request, pod, audiences[0] if audiences else "")

    def _check_audience(self, request: AdmissionRequest, pod: Pod, audience: str) -> None:
        troubles: list[str] = []
        for volume in volumes_of(pod.spec):
            if _has_token_for(volume, audience):
                return
            if trouble := _unreadable_driver(pod, volume):
                troubles.append(trouble)
        if troubles:
            listed = aggregate(troubles)
            raise forbidden(request, f"error validating audience {quote(audience)}: {listed}")
        decision = self._authorize(
            Attributes(
                user=request.user,
                verb=AUDIENCE_VERB,
                group=request.resource.group,
                version=request.resource.version,
                resource=audience,
                namespace=request.namespace,
                name=request.name,
            )
        )
        if not decision.allowed:
            raise forbidden(
                request,
                f"{request.user.name} is not authorized to request tokens for audience "
                f"{quote(audience)}",
            )


def _wrong_owner(owners: tuple[OwnerReference, ...], node_name: str) -> str:
    if len(owners) > 1:
        return "can only create pods with a single owner reference set to itself"
    if not owners:
        return "can only create pods with an owner reference set to itself"
    owner = owners[0]
    if (owner.api_version, owner.kind, owner.name) != ("v1", "Node", node_name):
        return "can only create pods with an owner reference set to itself"
    if not owner.controller:
        return "can only create pods with a controller owner reference set to itself"
    if owner.block_owner_deletion:
        return "must not set blockOwnerDeletion on an owner reference"
    return ""


def _check_pod_status(request: AdmissionRequest, node_name: str) -> None:
    new, old = request.object, request.old
    node = quote(node_name)
    if old.spec.node_name != node_name:
        itself = "pods with spec.nodeName set to itself"
        raise forbidden(request, f"node {node} can only update pod status for {itself}")
    if old.metadata.labels != new.metadata.labels:
        raise forbidden(request, f"node {node} cannot update labels through pod status")
    for field, noun in (
        ("resource_claim_statuses", "resource claim statues"),  # as upstream spells it
        ("extended_resource_claim_status", "extended resource claim status"),
        ("node_allocatable_resource_claim_statuses", "node allocatable resource claim statuses"),
    ):
        if not semantically_equal(getattr(old.status, field), getattr(new.status, field)):
            raise forbidden(request, f"node {node} cannot update {noun}")


def _has_token_for(volume: Item, audience: str) -> bool:
    for source in projected_sources(volume):
        token = source.get("serviceAccountToken")
        if isinstance(token, dict) and token.get("audience", "") == audience:
            return True
    return False


def _unreadable_driver(pod: Pod, volume: Item) -> str:
    """Why it cannot be told for whom a storage driver wants tokens: none is served here."""
    match volume:
        case {"ephemeral": {"volumeClaimTemplate": dict()}, "name": str(name)}:
            return f"persistentvolumeclaim {quote(f'{pod.metadata.name}-{name}')} not found"
        case {"persistentVolumeClaim": {"claimName": str(name)}}:
            return f"persistentvolumeclaim {quote(name)} not found"
        case {"csi": {"driver": str(driver)}}:
            return f"csidriver.storage.k8s.io {quote(driver)} not found"
    return ""


# Nodes -----------------------------------------------------------------------------------------


def _check_node(request: AdmissionRequest, node_name: str) -> None:
    node = quote(node_name)
    if request.name != node_name:
        raise forbidden(request, f"node {node} is not allowed to modify node {quote(request.name)}")
    new: Node = request.object
    if request.operation is Operation.CREATE:
        if not is_null(new.spec.config_source):
            raise forbidden(
                request, f"node {node} is not allowed to create pods with a non-nil configSource"
            )
        if wrong := _forbidden_labels(new.metadata.labels):
            raise forbidden(
                request,
                f"node {node} is not allowed to set the following labels: {', '.join(wrong)}",
            )
    elif request.operation is Operation.UPDATE:
        _check_node_update(request, new, request.old, node)


def _check_node_update(request: AdmissionRequest, new: Node, old: Node, node: str) -> None:
    source = new.spec.config_source
    if not is_null(source) and not semantically_equal(source, old.spec.config_source):
        raise forbidden(
            request,
            f"node {node} is not allowed to update configSource to a new non-nil configSource",
        )
    if not semantically_equal(new.spec.taints, old.spec.taints):
        raise forbidden(request, f"node {node} is not allowed to modify taints")
    if not semantically_equal(new.metadata.owner_references, old.metadata.owner_references):
        raise forbidden(request, f"node {node} is not allowed to modify ownerReferences")
    labels, before = new.metadata.labels, old.metadata.labels
    changed = (key for key in labels.keys() | before.keys() if _differ(labels, before, key))
    if wrong := _forbidden_labels(changed):
        raise forbidden(request, f"is not allowed to modify labels: {', '.join(wrong)}")


def _differ(labels: Mapping[str, str], others: Mapping[str, str], key: str) -> bool:
    return labels.get(key) != others.get(key)


def _forbidden_labels(keys: Iterable[str]) -> list[str]:
    return sorted(key for key in keys if _is_forbidden(key))


def _is_forbidden(key: str) -> bool:
    domain, slash, _ = key.partition("/")
    if not slash:
        return False
    if _is_within(domain, _RESTRICTED_DOMAIN):
        return True
    if not any(_is_within(domain, ours) for ours in _KUBERNETES_DOMAINS):
        return False
    return key not in _NODE_LABELS and not any(
        _is_within(domain, allowed) for allowed in _NODE_LABEL_DOMAINS
    )


def _is_within(domain: str, other: str) -> bool:
    return domain == other or domain.endswith(f".{other}")


# Leases and slices -----------------------------------------------------------------------------


def _check_lease(request: AdmissionRequest, node_name: str) -> None:
    if request.namespace != NODE_LEASE_NAMESPACE:
        raise forbidden(
            request, f"can only access leases in the {quote(NODE_LEASE_NAMESPACE)} system namespace"
        )
    name = request.name
    if request.operation is Operation.CREATE:
        lease: Lease = request.object
        name = lease.metadata.name
    if name != node_name:
        raise forbidden(
            request, "can only access node lease with the same name as the requesting node"
        )


def _check_slice(request: AdmissionRequest, node_name: str) -> None:
    """Creates and deletes only: for the rest the authorizer has seen the stored slice."""
    found: ResourceSlice | None = None
    if request.operation is Operation.CREATE:
        found = request.object
    elif request.operation is Operation.DELETE:
        found = request.old
    if found is not None and found.spec.node_name != node_name:
        raise forbidden(
            request,
            f"can only {request.operation.value.lower()} ResourceSlice with the same NodeName as "
            "the requesting node",
        )
