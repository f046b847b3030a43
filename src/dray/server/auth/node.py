"""What a node may do: serve its own pods, and read what they need.

Kinds that matter to single nodes are decided here one by one; everything else by a fixed list of
rules that holds for all nodes. What a node writes is limited further by admission, which sees the
object: here only names are known.

A refusal has no opinion rather than saying no: bindings may still give a node more. Upstream
counterpart: plugin/pkg/auth/authorizer/node. Volume attachments, persistent volumes and requests
for pod certificates are no kinds of this server, so nodes are not related to any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from dray.api import fields
from dray.api.core import Pod
from dray.api.rbac import PolicyRule
from dray.api.resource import ResourceSlice
from dray.errors import ParseError
from dray.server.auth.default_roles import node_rules
from dray.server.auth.identities import node_of
from dray.server.auth.node_graph import NodeGraph
from dray.server.auth.pod_references import ReferencedKind
from dray.server.auth.policy import rule_allows
from dray.server.state import State
from dray.server.user import Attributes, Decision

__all__ = ["NodeAuthorizer"]

LEASE_NAMESPACE: Final = "kube-node-lease"

_ALLOWED: Final = Decision(True)
_NO_OPINION: Final = Decision(None)
_READ: Final = frozenset({"get", "list", "watch"})
_OWNER_VERBS: Final = frozenset({"get", "create", "update", "patch", "delete"})

_Judge: TypeAlias = Callable[[str, Attributes], Decision]


class NodeAuthorizer:
    """Decides for users that are nodes, and has no opinion on others."""

    def __init__(
        self,
        state: State,
        *,
        rules: tuple[PolicyRule, ...] | None = None,
        told: bool = False,
    ) -> None:
        """`told` promises that `note_pod` is called for every pod that comes, changes or goes."""
        self._state = state
        self._graph = NodeGraph(state, told=told)
        self._rules = node_rules() if rules is None else rules
        self._judges: dict[tuple[str, str], _Judge] = {
            ("", "secrets"): self._read_referenced,
            ("", "configmaps"): self._read_referenced,
            ("", "persistentvolumeclaims"): self._volume_claim,
            ("", "persistentvolumes"): self._unrelated,
            ("", "serviceaccounts"): self._service_account,
            ("", "nodes"): self._node,
            ("", "pods"): self._pod,
            ("coordination.k8s.io", "leases"): self._lease,
            ("resource.k8s.io", "resourceclaims"): self._get_referenced,
            ("resource.k8s.io", "resourceslices"): self._slice,
            ("storage.k8s.io", "csinodes"): self._csi_node,
            ("storage.k8s.io", "volumeattachments"): self._unrelated,
            ("certificates.k8s.io", "podcertificaterequests"): self._unrelated,
        }

    def authorize(self, attributes: Attributes) -> Decision:
        node = node_of(attributes.user)
        if node is None:
            return _NO_OPINION
        if not node:
            return Decision(None, f'unknown node for user "{attributes.user.name}"')
        judge = self._judges.get((attributes.group, attributes.resource))
        if judge is not None:
            return judge(node, attributes)
        if any(rule_allows(rule, attributes) for rule in self._rules):
            return _ALLOWED
        return _NO_OPINION

    def note_pod(self, namespace: str, name: str) -> None:
        """Hear that a pod is not what it was."""
        self._graph.note(namespace, name)

    # Objects that pods refer to ----------------------------------------------------------------

    def _get_referenced(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb != "get":
            return Decision(None, "can only get individual resources of this type")
        if attributes.subresource:
            return Decision(None, "cannot get subresource")
        return self._referenced(node, attributes)

    def _read_referenced(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb not in _READ:
            return Decision(None, "can only read resources of this type")
        if attributes.subresource:
            return Decision(None, "cannot read subresource")
        if not attributes.namespace:
            return Decision(None, "can only read namespaced object of this type")
        return self._referenced(node, attributes)

    def _volume_claim(self, node: str, attributes: Attributes) -> Decision:
        if attributes.subresource != "status":
            return self._get_referenced(node, attributes)
        if attributes.verb not in ("update", "patch"):
            return Decision(None, "can only get/update/patch this type")
        return self._referenced(node, attributes)

    def _service_account(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb == "get" and not attributes.subresource:
            return self._read_referenced(node, attributes)
        if attributes.verb != "create" or not attributes.name:
            return Decision(None, "can only create tokens for individual service accounts")
        if attributes.subresource != "token":
            return Decision(None, "can only create token subresource of serviceaccount")
        return self._referenced(node, attributes)

    def _unrelated(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb != "get":
            return Decision(None, "can only get individual resources of this type")
        if attributes.subresource:
            return Decision(None, "cannot get subresource")
        return _related(node, attributes, related=False)

    def _referenced(self, node: str, attributes: Attributes) -> Decision:
        kind = ReferencedKind(attributes.resource)
        found = bool(attributes.name) and self._graph.reaches(
            node, kind, attributes.namespace, attributes.name
        )
        return _related(node, attributes, related=found)

    # Objects that belong to nodes --------------------------------------------------------------

    def _node(self, node: str, attributes: Attributes) -> Decision:
        verb, name = attributes.verb, attributes.name
        if attributes.subresource == "status" and verb in ("update", "patch"):
            return _ALLOWED
        if attributes.subresource:
            return _NO_OPINION
        if verb in ("create", "update", "patch"):
            return _ALLOWED
        if verb not in _READ:
            return _NO_OPINION
        # By its name alone: a kubelet looks for its Node before it creates it.
        if name == node:
            return _ALLOWED
        wanted = f"'{name}'" if name else "all nodes"
        return Decision(None, f"node '{node}' cannot read {wanted}, only its own Node object")

    def _lease(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb not in _OWNER_VERBS:
            return Decision(None, "can only get, create, update, patch, or delete a node lease")
        if attributes.namespace != LEASE_NAMESPACE:
            return Decision(
                None, f'can only access leases in the "{LEASE_NAMESPACE}" system namespace'
            )
        # The name of a new lease is in its body, where admission sees it.
        if attributes.verb != "create" and attributes.name != node:
            return Decision(
                None, "can only access node lease with the same name as the requesting node"
            )
        return _ALLOWED

    def _csi_node(self, node: str, attributes: Attributes) -> Decision:
        if attributes.subresource:
            return Decision(None, "cannot authorize CSINode subresources")
        if attributes.verb not in _OWNER_VERBS:
            return Decision(None, "can only get, create, update, patch, or delete a CSINode")
        if attributes.verb != "create" and attributes.name != node:
            return Decision(
                None, "can only access CSINode with the same name as the requesting node"
            )
        return _ALLOWED

    def _slice(self, node: str, attributes: Attributes) -> Decision:
        verb = attributes.verb
        if attributes.subresource:
            return Decision(None, "cannot authorize ResourceSlice subresources")
        if verb == "create":
            return _ALLOWED
        if verb in ("get", "update", "patch", "delete"):
            return _related(node, attributes, related=self._published(node, attributes))
        if verb in ("list", "watch", "deletecollection"):
            if _selects_node(attributes, node):
                return _ALLOWED
            return Decision(
                None,
                "can only list/watch/deletecollection resourceslices with nodeName field selector",
            )
        return Decision(
            None,
            "only the following verbs are allowed for a ResourceSlice:"
            " get, watch, list, create, update, patch, delete, deletecollection",
        )

    def _published(self, node: str, attributes: Attributes) -> bool:
        # Slices are in no namespace; a review may ask about one in a namespace all the same.
        if not attributes.name or attributes.namespace:
            return False
        found = self._state.get(ResourceSlice, attributes.name)
        return found is not None and found.spec.node_name == node

    def _pod(self, node: str, attributes: Attributes) -> Decision:
        verb, subresource = attributes.verb, attributes.subresource
        if not subresource:
            if verb in ("create", "delete"):
                return _ALLOWED
            if verb in ("list", "watch") and _selects_node(attributes, node):
                return _ALLOWED
            if verb == "get" or (verb in ("list", "watch") and attributes.name):
                return _related(node, attributes, related=self._runs(node, attributes))
            if verb in ("list", "watch"):
                return Decision(None, "can only list/watch pods with spec.nodeName field selector")
            return _NO_OPINION
        if subresource == "status" and verb in ("update", "patch"):
            return _ALLOWED
        if subresource == "eviction" and verb == "create":
            return _ALLOWED
        return _NO_OPINION

    def _runs(self, node: str, attributes: Attributes) -> bool:
        if not attributes.name or not attributes.namespace:
            return False
        found = self._state.get(Pod, attributes.name, attributes.namespace)
        return found is not None and found.spec.node_name == node


def _related(node: str, attributes: Attributes, *, related: bool) -> Decision:
    if related:
        return _ALLOWED
    if not attributes.name:
        return Decision(None, "No Object name found")
    return Decision(None, f"no relationship found between node '{node}' and this object")


def _selects_node(attributes: Attributes, node: str) -> bool:
    """Whether the request's field selector leaves only what is on the node."""
    try:
        selector = fields.Selector.parse(attributes.field_selector)
    except ParseError:
        return False
    return fields.Requirement("spec.nodeName", node) in selector.requirements
