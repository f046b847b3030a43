"""Ports of a pod's containers that get into each other's way.

Upstream counterpart: warningsForPodSpecAndMeta in pkg/api/pod/warnings.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from dray.api.core import ContainerPort, PodSpec
from dray.errors import quote
from dray.validation.pod_visits import containers_of

__all__ = ["warn_of_ports"]


def warn_of_ports(spec: PodSpec, path: str) -> Iterator[str]:
    ports = [
        (port, f"{at}.ports[{index}]")
        for container, at in containers_of(spec, path)
        for index, port in enumerate(container.ports)
    ]
    listening: dict[tuple[int, str], list[tuple[ContainerPort, str]]] = {}
    for port, at in ports:
        if port.host_ip and not port.host_port:
            yield f"{at}: hostIP set without hostPort: {_shown(port)}"
        others = listening.setdefault((port.container_port, port.protocol), [])
        for other, where in others:
            if conflict := _conflict(port, other):
                yield f"{at}: {conflict} port definition with {where}"
        others.append((port, at))
    named: dict[str, str] = {}
    for port, at in ports:
        if not port.name:
            continue
        first = named.setdefault(port.name, at)
        if first != at:
            yield (
                f"{at}: duplicate port name {quote(port.name)} with {first}, services and probes "
                f"that select ports by name will use {first}"
            )


def _conflict(port: ContainerPort, other: ContainerPort) -> str:
    if (port.host_ip, port.host_port) == (other.host_ip, other.host_port):
        return "duplicate"
    if not port.host_port or not other.host_port:
        return "overlapping"
    # Which of the two gets what comes to the address they share, nobody can say.
    if port.host_port == other.host_port and bool(port.host_ip) != bool(other.host_ip):
        return "dangerously ambiguous"
    return ""


def _shown(port: ContainerPort) -> str:
    """As Go prints the struct."""
    return (
        f"{{Name:{port.name} HostPort:{port.host_port} ContainerPort:{port.container_port} "
        f"Protocol:{port.protocol} HostIP:{port.host_ip}}}"
    )
