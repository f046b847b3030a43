"""What probes have found out so far, and what that makes of a container: started, ready, failed.

A probe not answered yet says: not started, not ready, and nothing against it living on. Upstream
counterpart: pkg/kubelet/prober/results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dray.api.core import Container
from dray.api.wire import is_null

__all__ = ["UNPROBED", "ProbeResults", "is_ready", "is_started"]


@dataclass(frozen=True, slots=True)
class ProbeResults:
    """The verdict of each probe on one container; None while there is none."""

    startup: bool | None = None
    readiness: bool | None = None
    liveness: bool | None = None


UNPROBED: Final = ProbeResults()


def is_started(container: Container, container_id: str, probes: Mapping[str, ProbeResults]) -> bool:
    """Whether a running container has started, as far as its startup probe can tell."""
    return is_null(container.startup_probe) or probes.get(container_id, UNPROBED).startup is True


def is_ready(container: Container, container_id: str, probes: Mapping[str, ProbeResults]) -> bool:
    """Whether a running container is ready."""
    if not is_started(container, container_id, probes):
        return False
    return (
        is_null(container.readiness_probe) or probes.get(container_id, UNPROBED).readiness is True
    )
