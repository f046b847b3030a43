"""All containers of a pod, in the order in which upstream looks at all of them.

Upstream counterpart: VisitContainersWithPath in pkg/apis/core/pods.
"""

from __future__ import annotations

from collections.abc import Iterator

from dray.api.core import Container, PodSpec

__all__ = ["containers_of"]


def containers_of(spec: PodSpec, path: str) -> Iterator[tuple[Container, str]]:
    """Each container and its path below that of the spec: init, regular, ephemeral ones."""
    for name, containers in (
        ("initContainers", spec.init_containers),
        ("containers", spec.containers or ()),
        ("ephemeralContainers", spec.ephemeral_containers),
    ):
        for index, container in enumerate(containers):
            yield container, f"{path}.{name}[{index}]"
