from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from dray.api.authentication import BoundObjectReference, TokenRequest, TokenRequestSpec
from dray.api.core import PodResourceClaimStatus, PodStatus, Taint
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.policy import Eviction
from dray.api.resource import ResourceSlice, ResourceSliceSpec
from dray.api.wire import replace
from dray.errors import Forbidden, NotFound
from dray.server.admission.node_restriction import AUDIENCE_VERB, NodeRestriction
from dray.server.admission.request import AdmissionRequest, Operation
from dray.server.state import FixedState
from dray.server.user import Attributes, Decision, User
from tests.unit.server.admission.builders import (
    NODE_1,
    NODES,
    PODS,
    SLICES,
    create,
    delete,
    node,
    pod,
    resource,
    update,
)

OWNER = OwnerReference(api_version="v1", kind="Node", name="n1", uid="node-uid", controller=True)
HERE, THERE = pod(node_name="n1"), pod(node_name="n2")


def check(request: AdmissionRequest, *objects: Any, allowed: bool | None = None) -> None:
    plugin = NodeRestriction(FixedState(*objects), lambda _: Decision(allowed))
    assert plugin.concerns(request.resource, request.subresource, request.operation)
    assert plugin.admit(request) is request.object


def refusal(request: AdmissionRequest, *objects: Any) -> str:
    with pytest.raises(Forbidden) as refused:
        check(request, *objects)
    return refused.value.message.partition("is forbidden: ")[2]


def test_nobody_else_is_restricted() -> None:
    check(create(PODS, pod()))
    check(create(PODS, pod(), user=User("system:node:n1", groups=("others",))))


def test_a_node_without_a_name_may_nothing() -> None:
    nameless = User("system:node:", groups=NODE_1.groups)
    assert refusal(create(resource("configmaps"), pod(), user=nameless)) == (
        'could not determine node from user "system:node:"'
    )


def mirror(*owners: OwnerReference, node_name: str = "n1", **spec: Any) -> Any:
    metadata = {
        "annotations": {"kubernetes.io/config.mirror": "x"},
        "owner_references": owners or (OWNER,),
    }
    return create(PODS, pod(metadata=metadata, node_name=node_name, **spec), user=NODE_1)


def test_a_node_may_show_its_static_pods() -> None:
    check(mirror(), node())


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        pytest.param(
            create(PODS, HERE, user=NODE_1),
            'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create '
            "mirror pods",
            id="no-mirror",
        ),
        pytest.param(
            mirror(node_name="n2"),
            'node "n1" can only create pods with spec.nodeName set to itself',
            id="elsewhere",
        ),
        pytest.param(
            mirror(replace(OWNER, controller=None)),
            'node "n1" can only create pods with a controller owner reference set to itself',
            id="not-controlled",
        ),
        pytest.param(
            mirror(replace(OWNER, uid="x")),
            "node n1 UID mismatch: expected x got node-uid",
            id="other-uid",
        ),
        pytest.param(
            mirror(service_account_name="a"),
            'node "n1" can not create pods that reference serviceaccounts',
            id="account",
        ),
        pytest.param(
            mirror(volumes=Raw(b'[{"name":"v"}]')),
            'error checking mirror pod for API references: unknown volume type for volume  "v"',
            id="unknown-volume",
        ),
    ],
)
def test_other_pods_a_node_may_not_create(request_: AdmissionRequest, why: str) -> None:
    assert refusal(request_, node()) == why


def test_a_node_deletes_and_evicts_its_own_pods_only() -> None:
    check(delete(PODS, HERE, user=NODE_1), HERE)
    assert refusal(delete(PODS, THERE, user=NODE_1), THERE) == (
        'node "n1" can only delete pods with spec.nodeName set to itself'
    )
    eviction = Eviction(metadata=ObjectMeta(name="p", namespace="ns"))
    request = create(PODS, eviction, user=NODE_1, subresource="eviction")
    check(request, HERE)
    assert refusal(request, THERE) == "node n1 can only evict pods with spec.nodeName set to itself"
    with pytest.raises(NotFound, match='pod "p" not found'):
        check(request)


def status_update(new: Any, old: Any) -> AdmissionRequest:
    return update(PODS, new, old, user=NODE_1, subresource="status")


def test_a_node_reports_on_its_own_pods_but_not_on_their_claims_and_labels() -> None:
    check(status_update(replace(HERE, status=PodStatus(phase="Running")), HERE))
    assert "can only update pod status for pods" in refusal(status_update(THERE, THERE))
    claims = (PodResourceClaimStatus(name="c", resource_claim_name="x"),)
    told = replace(HERE, status=PodStatus(resource_claim_statuses=claims))
    assert refusal(status_update(told, HERE)) == 'node "n1" cannot update resource claim statues'
    labelled = pod(node_name="n1", metadata={"labels": {"a": "b"}})
    assert refusal(status_update(labelled, HERE)) == (
        'node "n1" cannot update labels through pod status'
    )


@pytest.mark.parametrize(
    ("operation", "subresource", "why"),
    [
        (
            Operation.UPDATE,
            "",
            'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
        ),
        (Operation.DELETE, "status", 'unexpected operation "DELETE"'),
        (Operation.UPDATE, "eviction", "unexpected operation UPDATE"),
        (
            Operation.CREATE,
            "binding",
            "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed",
        ),
    ],
)
def test_nothing_else_may_be_done_to_pods(operation: Operation, subresource: str, why: str) -> None:
    request = AdmissionRequest(
        operation, PODS, NODE_1, namespace="ns", name="p", subresource=subresource, object=HERE,
        old=HERE,
    )  # fmt: skip
    assert refusal(request) == why


def test_a_node_may_be_itself_with_taints() -> None:
    check(create(NODES, node(taints=(Taint(key="a", effect="NoSchedule"),)), user=NODE_1))
    assert refusal(create(NODES, node("n2"), user=NODE_1)) == (
        'node "n1" is not allowed to modify node "n2"'
    )


@pytest.mark.parametrize(
    ("label", "allowed"),
    [
        ("a", True),
        ("example.com/a", True),
        ("kubernetes.io/hostname", True),
        ("topology.kubernetes.io/zone", True),
        ("x.kubelet.kubernetes.io/a", True),
        ("kubernetes.io/other", False),
        ("x.k8s.io/a", False),
        ("node-restriction.kubernetes.io/a", False),
    ],
)
def test_some_labels_are_not_a_nodes_to_set(label: str, allowed: bool) -> None:
    labelled = node(labels={label: "x"})
    made, changed = (
        create(NODES, labelled, user=NODE_1),
        update(NODES, node(labels={label: "y"}), labelled, user=NODE_1),
    )
    if allowed:
        check(made)
        check(changed)
    else:
        assert refusal(made) == (f'node "n1" is not allowed to set the following labels: {label}')
        assert refusal(changed) == f"is not allowed to modify labels: {label}"


def test_a_node_may_not_change_its_taints_owners_or_configuration() -> None:
    tainted = node(taints=(Taint(key="a", effect="NoSchedule"),))
    assert refusal(update(NODES, node(), tainted, user=NODE_1)) == (
        'node "n1" is not allowed to modify taints'
    )
    owned = replace(node(), metadata=replace(node().metadata, owner_references=(OWNER,)))
    assert refusal(update(NODES, owned, node(), user=NODE_1)) == (
        'node "n1" is not allowed to modify ownerReferences'
    )
    configured = node(config_source=Raw(b'{"configMap":{}}'))
    assert "configSource" in refusal(update(NODES, configured, node(), user=NODE_1))
    assert "configSource" in refusal(create(NODES, configured, user=NODE_1))
    check(update(NODES, node(), configured, user=NODE_1))


LEASES = resource("leases", "coordination.k8s.io")


@pytest.mark.parametrize(
    ("namespace", "name", "why"),
    [
        ("kube-node-lease", "n1", ""),
        (
            "kube-node-lease",
            "n2",
            "can only access node lease with the same name as the requesting",
        ),
        ("ns", "n1", 'can only access leases in the "kube-node-lease" system namespace'),
    ],
)
def test_a_node_has_one_lease(namespace: str, name: str, why: str) -> None:
    lease = pod(name)
    lease = replace(lease, metadata=replace(lease.metadata, namespace=namespace))
    request = create(LEASES, lease, user=NODE_1)
    if why:
        assert refusal(request).startswith(why)
    else:
        check(request)


@pytest.mark.parametrize("node_name", ["n1", "n2", None])
def test_a_node_publishes_its_own_slices(node_name: str | None) -> None:
    made = ResourceSlice(
        metadata=ObjectMeta(name="s"), spec=ResourceSliceSpec(driver="d", node_name=node_name)
    )
    check(update(SLICES, made, made, user=NODE_1))
    if node_name == "n1":
        check(create(SLICES, made, user=NODE_1))
        check(delete(SLICES, made, user=NODE_1))
    else:
        assert refusal(create(SLICES, made, user=NODE_1)) == (
            "can only create ResourceSlice with the same NodeName as the requesting node"
        )
        assert refusal(delete(SLICES, made, user=NODE_1)) == (
            "can only delete ResourceSlice with the same NodeName as the requesting node"
        )


MOUNTING = pod(
    node_name="n1",
    metadata={"uid": "u"},
    volumes=Raw(
        b'[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"t"}},'
        b'{"serviceAccountToken":{"path":"w","audience":"vault"}}]}}]'
    ),
)


def token(*audiences: str, uid: str = "u", kind: str = "Pod") -> AdmissionRequest:
    bound = BoundObjectReference(api_version="v1", kind=kind, name="p", uid=uid)
    asked = TokenRequest(
        metadata=ObjectMeta(name="robot", namespace="ns"),
        spec=TokenRequestSpec(audiences=audiences, bound_object_ref=bound),
    )
    return create(resource("serviceaccounts"), asked, user=NODE_1, subresource="token")


def test_a_node_gets_the_tokens_its_pods_mount() -> None:
    check(token(), MOUNTING)
    check(token("vault"), MOUNTING)


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (token(kind="Node"), "node requested token not bound to a pod"),
        (token(uid=""), "node requested token with a pod binding without a uid"),
        (token("a", "b"), "node may only request 0 or 1 audiences"),
        (
            token("bank"),
            'system:node:n1 is not authorized to request tokens for audience "bank"',
        ),
    ],
)
def test_other_tokens_a_node_does_not_get(request_: AdmissionRequest, why: str) -> None:
    assert refusal(request_, MOUNTING) == why


def test_an_audience_can_be_granted() -> None:
    asked: list[Attributes] = []

    def authorize(attributes: Attributes) -> Decision:
        asked.append(attributes)
        return Decision(True)

    request = token("bank")
    NodeRestriction(FixedState(MOUNTING), authorize).admit(request)
    (found,) = asked
    assert (found.verb, found.resource, found.name) == (AUDIENCE_VERB, "bank", "robot")


def test_a_storage_driver_nobody_knows_is_an_error() -> None:
    stored = pod(
        node_name="n1",
        metadata={"uid": "u"},
        volumes=Raw(b'[{"name":"v","csi":{"driver":"d"}}]'),
    )
    assert refusal(token("x"), stored) == (
        'error validating audience "x": csidriver.storage.k8s.io "d" not found'
    )
