"""Ports of containers, by themselves and on the host.

Upstream counterparts: validateContainerPorts, checkHostPortConflicts and
validatePodHostNetworkDeps in pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api import names
from dray.api.core import Container, ContainerPort, PodSpec
from dray.validation.findings import Findings

__all__ = ["check_host_network_ports", "check_host_ports", "check_port", "check_ports"]

PORT_MAX: Final = 65535

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_OUT_OF_RANGE: Final = f"must be between 1 and {PORT_MAX}, inclusive"


def check_ports(found: Findings, ports: Sequence[ContainerPort], path: str) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        if port.name:
            messages = names.port_name(port.name)
            for message in messages:
                found.invalid(f"{at}.name", port.name, message)
            if not messages and port.name in seen:
                found.duplicate(f"{at}.name", port.name)
            elif not messages:
                seen.add(port.name)
        if not port.container_port:
            found.required(f"{at}.containerPort")
        else:
            check_port(found, port.container_port, f"{at}.containerPort")
        if port.host_port:
            check_port(found, port.host_port, f"{at}.hostPort")
        if not port.protocol:
            found.required(f"{at}.protocol")
        elif port.protocol not in _PROTOCOLS:
            found.not_supported(f"{at}.protocol", port.protocol, _PROTOCOLS)


def check_port(found: Findings, port: int | str, path: str) -> None:
    """A port by number or by name."""
    if isinstance(port, str):
        for message in names.port_name(port):
            found.invalid(path, port, message)
    elif not 1 <= port <= PORT_MAX:
        found.invalid(path, port, _OUT_OF_RANGE)


def check_host_ports(found: Findings, containers: Sequence[Container], path: str) -> None:
    """That no two of these containers want the same port of the host."""
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for place, port in enumerate(container.ports):
            if not port.host_port:
                continue
            wanted = f"{port.protocol}/{port.host_ip}/{port.host_port}"
            if wanted in taken:
                found.duplicate(f"{path}[{index}].ports[{place}].hostPort", wanted)
            taken.add(wanted)


def check_host_network_ports(found: Findings, spec: PodSpec, path: str, *, is_pod: bool) -> None:
    """On the host's network a port is the host's; a template may leave that to the pod."""
    if not spec.host_network:
        return
    for index, container in enumerate(spec.containers or ()):
        for place, port in enumerate(container.ports):
            if (is_pod or port.host_port) and port.host_port != port.container_port:
                at = f"{path}.containers[{index}].ports[{place}].hostPort"
                detail = "must match `containerPort` when `hostNetwork` is true"
                found.invalid(at, port.host_port, detail)
