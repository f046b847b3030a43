"""From a pod's spec to what a runtime is told: a sandbox, and containers complete in every detail.

Upstream counterpart: generatePodSandboxConfig and generateContainerConfig in
pkg/kubelet/kuberuntime.
"""

from __future__ import annotations

from pathlib import Path

from dray.agent.runtimes.runtime import PodIdentity, SandboxConfig
from dray.api.carried import read_part
from dray.api.core import Pod
from dray.api.core.parts import PodSecurityContext

__all__ = ["identity_of", "log_directory", "sandbox_config"]


def identity_of(pod: Pod) -> PodIdentity:
    """A pod as runtimes know it."""
    return PodIdentity(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def log_directory(root: Path, pod: Pod) -> Path:
    """Where the logs of a pod's containers are."""
    metadata = pod.metadata
    return root / "logs" / f"{metadata.namespace}_{metadata.name}_{metadata.uid}"


def sandbox_config(pod: Pod, attempt: int, root: Path) -> SandboxConfig:
    """What a pod's containers share."""
    spec = pod.spec
    security = read_part(spec.security_context, PodSecurityContext)
    return SandboxConfig(
        pod=identity_of(pod),
        attempt=attempt,
        hostname=spec.hostname_override or spec.hostname or pod.metadata.name[:63],
        log_directory=str(log_directory(root, pod)),
        labels=pod.metadata.labels,
        annotations=pod.metadata.annotations,
        host_network=spec.host_network,
        host_pid=spec.host_pid,
        host_ipc=spec.host_ipc,
        sysctls={one.name: one.value for one in security.sysctls} if security else {},
        port_mappings=tuple(
            (port.protocol or "TCP", port.container_port, port.host_port)
            for container in (*spec.init_containers, *(spec.containers or ()))
            for port in container.ports
            if port.host_port
        ),
    )
