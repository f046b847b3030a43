"""From a pod's spec to what a runtime is told: a sandbox, and containers complete in every detail.

Upstream counterpart: generatePodSandboxConfig and generateContainerConfig in
pkg/kubelet/kuberuntime.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Final

from dray.agent.pods.collaborators import Claims, ImageUsers
from dray.agent.pods.downward import PodFacts
from dray.agent.pods.environment import Environment
from dray.agent.pods.expansion import expand
from dray.agent.pods.hooks import lifecycle_of
from dray.agent.pods.plan import Start
from dray.agent.pods.starting import ConfigFailed, pod_text
from dray.agent.pods.storage import PodStorage
from dray.agent.pods.volumes import is_written, volumes_of
from dray.agent.runtimes.runtime import (
    ContainerConfig,
    Mount,
    PodIdentity,
    Sandbox,
    SandboxConfig,
)
from dray.api.carried import read_part
from dray.api.core import (
    QOS_BEST_EFFORT,
    QOS_GUARANTEED,
    RESOURCE_CPU,
    RESOURCE_MEMORY,
    Container,
    Pod,
)
from dray.api.core.parts import PodSecurityContext, SecurityContext, VolumeMount
from dray.api.pod_resources import qos_class
from dray.api.quantity import Quantity

__all__ = ["Configurer", "identity_of", "log_directory", "sandbox_config"]

# Who is killed first when memory runs out; upstream's numbers. What a burstable container gets
# depends on the node's memory, which only the kernel's choice among several would show.
_OOM_SCORES: Final = {QOS_GUARANTEED: -997, QOS_BEST_EFFORT: 1000}
_OOM_SCORE_BURSTABLE: Final = 999

TERMINATION_LOG: Final = "/dev/termination-log"

_ZERO: Final = Quantity.from_int(0)


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
        privileged=any(
            (read_part(container.security_context, SecurityContext) or SecurityContext()).privileged
            for container in (*spec.init_containers, *(spec.containers or ()))
        ),
        sysctls={one.name: one.value for one in security.sysctls} if security else {},
        port_mappings=tuple(
            (port.protocol or "TCP", port.container_port, port.host_port)
            for container in (*spec.init_containers, *(spec.containers or ()))
            for port in container.ports
            if port.host_port
        ),
    )


class Configurer:
    """Configures containers; without storage, those of a simulated node."""

    def __init__(
        self,
        environment: Environment,
        claims: Claims,
        *,
        facts: PodFacts,
        storage: PodStorage | None = None,
        images: ImageUsers | None = None,
    ) -> None:
        """`images` of the runtime, if they have users; else containers run as the agent does."""
        self._environment = environment
        self._claims = claims
        self._facts = facts
        self._storage = storage
        self._images = images

    async def __call__(self, pod: Pod, start: Start, sandbox: Sandbox) -> ContainerConfig:
        """The configuration of a container; raises ConfigFailed, or ClaimInfoMissing."""
        container = start.container
        facts = dataclasses.replace(self._facts, pod_addresses=sandbox.addresses)
        variables = await self._environment.variables(pod, container, facts)
        limits, requests = container.resources.limits, container.resources.requests
        config = ContainerConfig(
            name=container.name,
            attempt=start.attempt,
            image=container.image,
            command=tuple(expand(word, variables) for word in container.command),
            arguments=tuple(expand(word, variables) for word in container.args),
            working_directory=container.working_dir,
            environment=tuple(variables.items()),
            mounts=self._mounts(pod, start, dict(variables)) if self._storage else (),
            cdi_devices=self._claims.cdi_devices(pod, container.name),
            log_path=f"{container.name}/{start.attempt}.log",
            stdin=container.stdin,
            stdin_once=container.stdin_once,
            tty=container.tty,
            cpu_limit_millis=limits.get(RESOURCE_CPU, _ZERO).milli_value(),
            cpu_request_millis=requests.get(RESOURCE_CPU, _ZERO).milli_value(),
            memory_limit_bytes=limits.get(RESOURCE_MEMORY, _ZERO).value(),
            oom_score_adjustment=_OOM_SCORES.get(qos_class(pod.spec), _OOM_SCORE_BURSTABLE),
            stop_signal=lifecycle_of(container).stop_signal or "",
        )
        config = _secured(config, pod, container)
        # On a simulated node nobody runs as anybody.
        if _is_non_root(pod, container) and self._storage is not None:
            await self._refuse_root(config, pod)
        return config

    async def _refuse_root(self, config: ContainerConfig, pod: Pod) -> None:
        text = ""
        if config.run_as_user is not None:
            if config.run_as_user == 0:
                text = "container's runAsUser breaks non-root policy"
        else:
            user: int | str = os.geteuid()
            if self._images is not None:
                user = await self._images.image_user(config.image)
            if isinstance(user, str):
                text = (
                    f"container has runAsNonRoot and image has non-numeric user ({user}), "
                    "cannot verify user is non-root"
                )
            elif user == 0:
                text = "container has runAsNonRoot and image will run as root"
        if text:
            where = f'pod: "{pod_text(pod)}", container: {config.name}'
            raise ConfigFailed(f"{text} ({where})")

    def _mounts(self, pod: Pod, start: Start, variables: dict[str, str]) -> tuple[Mount, ...]:
        assert self._storage is not None
        container = start.container
        volumes = {volume.name: volume for volume in volumes_of(pod)}
        found = []
        mounts = read_part(container.volume_mounts, tuple[VolumeMount, ...]) or ()
        for number, mount in enumerate(mounts):
            volume = volumes.get(mount.name)
            if volume is None:
                raise ConfigFailed(
                    f"cannot find volume {mount.name!r} to mount into container {container.name!r}"
                )
            path = self._storage.volumes.path_of(pod, volume)
            below = mount.sub_path or expand(mount.sub_path_expr, variables)
            if below:
                # Not in a thread, which could go on mounting after the pod was cleaned up.
                path = self._storage.sub_path(pod, f"{container.name}/{number}", volume, below)
            read_only = mount.read_only or is_written(volume)
            found.append(Mount(str(path), mount.mount_path, read_only=read_only))
        if not self._storage.can_mount:
            # Volumes are the pod's wish, and refused by the runtime if it must; this is only ours.
            return tuple(found)
        message = self._storage.message_path(pod, container.name, start.attempt)
        try:
            message.parent.mkdir(parents=True, exist_ok=True)
            message.touch()
            # The container may run as anybody.
            message.chmod(0o666)
        except OSError as error:
            raise ConfigFailed(f"file for last words of {container.name}: {error}") from error
        found.append(Mount(str(message), container.termination_message_path or TERMINATION_LOG))
        return tuple(found)


def _secured(config: ContainerConfig, pod: Pod, container: Container) -> ContainerConfig:
    """The configuration with users and privileges: the container's own before the pod's."""
    of_pod = read_part(pod.spec.security_context, PodSecurityContext) or PodSecurityContext()
    own = read_part(container.security_context, SecurityContext) or SecurityContext()
    user = own.run_as_user if own.run_as_user is not None else of_pod.run_as_user
    group = own.run_as_group if own.run_as_group is not None else of_pod.run_as_group
    groups = of_pod.supplemental_groups
    if of_pod.fs_group is not None:
        groups = (*groups, of_pod.fs_group)
    return dataclasses.replace(
        config,
        privileged=bool(own.privileged),
        read_only_root=bool(own.read_only_root_filesystem),
        no_new_privileges=own.allow_privilege_escalation is False,
        run_as_user=user,
        run_as_group=group,
        supplemental_groups=groups,
        add_capabilities=own.capabilities.add if own.capabilities else (),
        drop_capabilities=own.capabilities.drop if own.capabilities else (),
    )


def _is_non_root(pod: Pod, container: Container) -> bool:
    of_pod = read_part(pod.spec.security_context, PodSecurityContext) or PodSecurityContext()
    own = read_part(container.security_context, SecurityContext) or SecurityContext()
    wish = own.run_as_non_root if own.run_as_non_root is not None else of_pod.run_as_non_root
    return bool(wish)
