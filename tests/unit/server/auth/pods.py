"""Pods and slices as the node authorizer's tests want them."""

from __future__ import annotations

import msgspec

from dray.api.core import Pod, PodResourceClaim, PodSpec
from dray.api.meta import ObjectMeta
from dray.api.resource import ResourceSlice, ResourceSliceSpec


def pod(
    name: str = "p",
    *,
    node: str = "",
    namespace: str = "team",
    account: str = "",
    secret: str = "",
    claim: str = "",
    mirror: bool = False,
) -> Pod:
    volumes = [{"name": "v", "secret": {"secretName": secret}}] if secret else []
    claims = (PodResourceClaim(name="c", resource_claim_name=claim),) if claim else ()
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"uid-{name}",
            annotations={"kubernetes.io/config.mirror": "x"} if mirror else {},
        ),
        spec=PodSpec(
            node_name=node,
            service_account_name=account,
            volumes=msgspec.Raw(msgspec.json.encode(volumes)) if volumes else None,
            resource_claims=claims,
        ),
    )


def resource_slice(name: str, node: str | None) -> ResourceSlice:
    return ResourceSlice(
        metadata=ObjectMeta(name=name), spec=ResourceSliceSpec(driver="d", node_name=node)
    )
