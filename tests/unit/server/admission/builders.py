"""Requests and objects for the tests of admission, with defaults a test need not repeat."""

from __future__ import annotations

from typing import Any

from dray.api.core import (
    Container,
    LimitRange,
    LimitRangeItem,
    LimitRangeSpec,
    Namespace,
    NamespaceStatus,
    Node,
    NodeSpec,
    Pod,
    PodSpec,
    ResourceQuota,
    ResourceQuotaSpec,
    ResourceQuotaStatus,
    ResourceRequirements,
    ServiceAccount,
)
from dray.api.meta import ObjectMeta
from dray.api.quantity import Quantity
from dray.api.resource import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dray.api.schema import StructOf
from dray.server.admission.request import AdmissionRequest, Operation
from dray.server.resources import Resource
from dray.server.user import User

ALICE = User("alice", groups=("system:authenticated",))
NODE_1 = User("system:node:n1", groups=("system:nodes", "system:authenticated"))


def resource(plural: str, group: str = "", *, namespaced: bool = True) -> Resource:
    return Resource(
        group=group,
        version="v1",
        plural=plural,
        singular=plural.removesuffix("s"),
        kind=plural.removesuffix("s").title(),
        namespaced=namespaced,
        schema=StructOf("", dict),
    )


PODS = resource("pods")
NODES = resource("nodes", namespaced=False)
NAMESPACES = resource("namespaces", namespaced=False)
CONFIG_MAPS = resource("configmaps")
CLAIMS = resource("resourceclaims", "resource.k8s.io")
SLICES = resource("resourceslices", "resource.k8s.io", namespaced=False)
PRIORITY_CLASSES = resource("priorityclasses", "scheduling.k8s.io", namespaced=False)


def create(what: Resource, obj: Any, *, user: User = ALICE, **more: Any) -> AdmissionRequest:
    return AdmissionRequest(
        operation=Operation.CREATE,
        resource=what,
        user=user,
        namespace=obj.metadata.namespace,
        name=obj.metadata.name,
        object=obj,
        **more,
    )


def update(
    what: Resource, obj: Any, old: Any, *, user: User = ALICE, **more: Any
) -> AdmissionRequest:
    return AdmissionRequest(
        operation=Operation.UPDATE,
        resource=what,
        user=user,
        namespace=obj.metadata.namespace,
        name=obj.metadata.name,
        object=obj,
        old=old,
        **more,
    )


def delete(what: Resource, old: Any, *, user: User = ALICE) -> AdmissionRequest:
    return AdmissionRequest(
        operation=Operation.DELETE,
        resource=what,
        user=user,
        namespace=old.metadata.namespace,
        name=old.metadata.name,
        old=old,
    )


def quantities(given: dict[str, str]) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in given.items()}


def container(
    name: str = "c",
    requests: dict[str, str] | None = None,
    limits: dict[str, str] | None = None,
    **more: Any,
) -> Container:
    resources = ResourceRequirements(
        requests=quantities(requests or {}), limits=quantities(limits or {})
    )
    return Container(name=name, image="busybox:1", resources=resources, **more)


def pod(name: str = "p", *containers: Container, metadata: Any = None, **spec: Any) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=name, namespace="ns", **(metadata or {})),
        spec=PodSpec(containers=containers or (container(),), **spec),
    )


def namespace(name: str = "ns", phase: str = "Active", **labels: str) -> Namespace:
    return Namespace(
        metadata=ObjectMeta(name=name, labels=labels), status=NamespaceStatus(phase=phase)
    )


def account(name: str = "default", *, annotations: Any = None, **more: Any) -> ServiceAccount:
    metadata = ObjectMeta(name=name, namespace="ns", annotations=annotations or {})
    return ServiceAccount(metadata=metadata, **more)


def node(name: str = "n1", *, labels: Any = None, uid: str = "node-uid", **spec: Any) -> Node:
    return Node(metadata=ObjectMeta(name=name, uid=uid, labels=labels or {}), spec=NodeSpec(**spec))


def limit_range(name: str, kind: str = "Container", **bounds: dict[str, str]) -> LimitRange:
    given: dict[str, Any] = {bound: quantities(amounts) for bound, amounts in bounds.items()}
    item = LimitRangeItem(type=kind, **given)
    metadata = ObjectMeta(name=name, namespace="ns")
    return LimitRange(metadata=metadata, spec=LimitRangeSpec(limits=(item,)))


def quota(
    name: str, hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any
) -> ResourceQuota:
    bounds = quantities(hard)
    return ResourceQuota(
        metadata=ObjectMeta(name=name, namespace="ns", resource_version="7"),
        spec=ResourceQuotaSpec(hard=bounds, **spec),
        status=ResourceQuotaStatus(
            hard=bounds, used=quantities(dict.fromkeys(hard, "0") if used is None else used)
        ),
    )


def claim(name: str, device_class: str, count: int = 1, **metadata: Any) -> ResourceClaim:
    exactly = ExactDeviceRequest(
        device_class_name=device_class, allocation_mode="ExactCount", count=count
    )
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace="ns", **metadata),
        spec=ResourceClaimSpec(
            devices=DeviceClaim(requests=(DeviceRequest(name="r", exactly=exactly),))
        ),
    )
