"""What a container or a pod needs of a node: amounts of named resources, and claims.

Upstream counterpart: ResourceRequirements in k8s.io/api/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import field

from dray.api.quantity import Quantity
from dray.api.wire import Struct, always

__all__ = [
    "RESOURCE_CPU",
    "RESOURCE_EPHEMERAL_STORAGE",
    "RESOURCE_HUGE_PAGES_PREFIX",
    "RESOURCE_MEMORY",
    "RESOURCE_PODS",
    "ResourceClaim",
    "ResourceRequirements",
]

RESOURCE_CPU: Final = "cpu"
RESOURCE_MEMORY: Final = "memory"
RESOURCE_EPHEMERAL_STORAGE: Final = "ephemeral-storage"
RESOURCE_PODS: Final = "pods"
RESOURCE_HUGE_PAGES_PREFIX: Final = "hugepages-"


class ResourceClaim(Struct):
    """A container's use of one of its pod's claims, or of one request of it.

    Not the kind of the same name in `dray.api.resource`, to which the pod's entry leads.
    """

    name: str = always("")
    request: str = ""


class ResourceRequirements(Struct):
    """What is set aside, what may not be exceeded, and which devices come along."""

    limits: Mapping[str, Quantity] = field(default_factory=dict)
    requests: Mapping[str, Quantity] = field(default_factory=dict)
    claims: tuple[ResourceClaim, ...] = ()
