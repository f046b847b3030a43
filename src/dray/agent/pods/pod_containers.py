"""Containers of a pod by name, whichever of its lists they are in, and events about them."""

from __future__ import annotations

from dray.agent.pods.collaborators import Events
from dray.api.core import Container, Pod

__all__ = ["field_path_of", "find_container", "tell"]


def find_container(pod: Pod, name: str) -> Container | None:
    """The container of this name."""
    spec = pod.spec
    every = (*spec.init_containers, *(spec.containers or ()), *spec.ephemeral_containers)
    return next((container for container in every if container.name == name), None)


def field_path_of(pod: Pod, name: str) -> str:
    """Where the container is in the pod, as events say it."""
    spec = pod.spec
    for member, containers in (
        ("containers", spec.containers or ()),
        ("initContainers", spec.init_containers),
        ("ephemeralContainers", spec.ephemeral_containers),
    ):
        if any(container.name == name for container in containers):
            return f"spec.{member}{{{name}}}"
    return ""


def tell(events: Events, pod: Pod, name: str, kind: str, reason: str, message: str) -> None:
    """Record an event about one container of a pod."""
    events.record(pod, kind, reason, message, field_path=field_path_of(pod, name))
