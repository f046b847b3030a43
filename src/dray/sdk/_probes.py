"""What a running driver answers when a kubelet asks whether it lives and is ready.

It lives if its socket answers and its monitor works: a restart cures both. It is ready when it was
accepted by the node and its devices are published.
"""

from __future__ import annotations

from pathlib import Path

from dray.clock import Clock
from dray.sdk._background import Background
from dray.sdk._metrics import DriverMetrics
from dray.sdk._monitor import HealthMonitor
from dray.sdk._probe_endpoint import Check, ProbeEndpoint, answers_calls
from dray.sdk._publisher import Publisher
from dray.sdk._registration import Registration

__all__ = ["probe_endpoint"]


def probe_endpoint(
    address: str,
    *,
    socket: Path | None,
    registration: Registration | None,
    background: Background,
    monitor: HealthMonitor,
    publisher: Publisher | None,
    metrics: DriverMetrics,
    clock: Clock,
) -> ProbeEndpoint:
    """An endpoint with the checks that this driver can make."""
    live: dict[str, Check] = {
        "background": lambda: _ended(background),
        "monitor": monitor.problem,
    }
    ready: dict[str, Check] = {}
    if socket is not None:
        live["service"] = answers_calls(socket)
    if registration is not None:
        ready["registration"] = lambda: _refused(registration)
    if publisher is not None:
        ready["slices"] = publisher.problem
    return ProbeEndpoint(address, live=live, ready=ready, metrics=metrics.text, clock=clock)


def _ended(background: Background) -> str:
    return "" if background.error is None else repr(background.error)


def _refused(registration: Registration) -> str:
    status = registration.status
    if status is None:
        return "the node has not registered the driver yet"
    return "" if status.registered else f"the node has refused the driver: {status.error}"
