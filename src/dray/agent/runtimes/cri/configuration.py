"""What the agent wants, in CRI's messages.

Labels are those a kubelet sets, so that crictl and a kubelet read what dray made. CRI wants a
sandbox's configuration again with each of its containers; what cannot be asked back of a runtime
is kept in a label of the sandbox, so that an agent that knows nothing has it too. It is JSON, which
no label of a pod can be: a pod that a kubelet made cannot pretend to have been made by us. Upstream
counterpart: generatePodSandboxConfig and generateContainerConfig in pkg/kubelet/kuberuntime, as
far as they make messages.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from dray.agent.runtimes.failures import CREATE_CONTAINER_ERROR, RuntimeFailed
from dray.agent.runtimes.runtime import ContainerConfig, PodIdentity, SandboxConfig
from dray.proto import cri_v1_pb2 as cri
from dray.texts import quote

__all__ = [
    "CONTAINER_NAME",
    "POD_NAME",
    "POD_NAMESPACE",
    "POD_UID",
    "container_message",
    "restored_sandbox_message",
    "sandbox_message",
    "set_user_of_image",
    "user_of_image",
]

POD_NAME: Final = "io.kubernetes.pod.name"
POD_NAMESPACE: Final = "io.kubernetes.pod.namespace"
POD_UID: Final = "io.kubernetes.pod.uid"
CONTAINER_NAME: Final = "io.kubernetes.container.name"
RESTART_COUNT: Final = "io.kubernetes.container.restartCount"
SANDBOX_CONFIG: Final = "dray.dev/sandbox-config"

# Where a kubelet has the logs of pods; those of sandboxes we did not make are there.
POD_LOGS: Final = "/var/log/pods"

# The kernel's share of one CPU, and the least it takes.
SHARES_PER_CPU: Final = 1024
SHARES_MIN: Final = 2
# The kernel's default period, and the least quota it takes.
PERIOD_MICROSECONDS: Final = 100_000
QUOTA_MICROSECONDS_MIN: Final = 1_000

# What a container that is not privileged may not see, and not write, of /proc and /sys. A runtime
# hides nothing that it is not told to.
MASKED_PATHS: Final = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
)
CPUS: Final = Path("/sys/devices/system/cpu")
READ_ONLY_PATHS: Final = (
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
)

# Upstream's default, unless a node says otherwise.
_UNCONFINED: Final = cri.SecurityProfile(profile_type=cri.SecurityProfile.Unconfined)


def sandbox_message(config: SandboxConfig) -> cri.PodSandboxConfig:
    """A pod's sandbox."""
    kept = {
        "hostname": config.hostname,
        "logDirectory": config.log_directory,
        "cgroupParent": config.cgroup_parent,
        "hostNetwork": config.host_network,
        "hostPID": config.host_pid,
        "hostIPC": config.host_ipc,
        "privileged": config.privileged,
    }
    message = _sandbox(config.pod, config.attempt, kept)
    message.labels.update({**config.labels, **message.labels, SANDBOX_CONFIG: json.dumps(kept)})
    message.annotations.update(config.annotations)
    message.linux.sysctls.update(config.sysctls)
    for protocol, container_port, host_port in config.port_mappings:
        message.port_mappings.add(
            protocol=_protocol(protocol), container_port=container_port, host_port=host_port
        )
    return message


def restored_sandbox_message(status: cri.PodSandboxStatus) -> cri.PodSandboxConfig:
    """A sandbox as it was made, by us or by a kubelet, from what a runtime says of it."""
    metadata = status.metadata
    pod = PodIdentity(metadata.namespace, metadata.name, metadata.uid)
    message = _sandbox(pod, metadata.attempt, _kept(status))
    message.labels.update(status.labels)
    message.annotations.update(status.annotations)
    return message


def container_message(
    config: ContainerConfig, sandbox: cri.PodSandboxConfig
) -> cri.ContainerConfig:
    """A container of that sandbox, CDI devices by name."""
    metadata = sandbox.metadata
    return cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name=config.name, attempt=config.attempt),
        image=cri.ImageSpec(image=config.image, user_specified_image=config.image),
        command=config.command,
        args=config.arguments,
        working_dir=config.working_directory,
        envs=[
            cri.KeyValue(key=name, value=value.encode("utf-8", "surrogateescape"))
            for name, value in config.environment
        ],
        mounts=[
            cri.Mount(
                container_path=mount.container_path,
                host_path=mount.host_path,
                readonly=mount.read_only,
            )
            for mount in config.mounts
        ],
        labels={
            **config.labels,
            POD_NAME: metadata.name,
            POD_NAMESPACE: metadata.namespace,
            POD_UID: metadata.uid,
            CONTAINER_NAME: config.name,
        },
        annotations={**config.annotations, RESTART_COUNT: str(config.attempt)},
        log_path=config.log_path,
        stdin=config.stdin,
        stdin_once=config.stdin_once,
        tty=config.tty,
        linux=cri.LinuxContainerConfig(
            resources=_resources(config),
            security_context=_security_context(
                config, sandbox.linux.security_context.namespace_options
            ),
        ),
        CDI_devices=[cri.CDIDevice(name=name) for name in config.cdi_devices],
        stop_signal=_signal(config),
    )


def set_user_of_image(message: cri.ContainerConfig, image: cri.Image) -> None:
    """Say whom the container runs as when the pod does not: CRI knows no group without a user."""
    context = message.linux.security_context
    if not context.HasField("run_as_user") and not context.run_as_username:
        user = user_of_image(image)
        if isinstance(user, str):
            context.run_as_username = user
        else:
            context.run_as_user.value = user


def user_of_image(image: cri.Image) -> int | str:
    """Whom an image's containers run as: a number, or a name that only the image explains."""
    if image.username and not image.HasField("uid"):
        return image.username
    return image.uid.value  # root's, unless the image says otherwise


# Private ----------------------------------------------------------------------------------------


def _sandbox(pod: PodIdentity, attempt: int, kept: dict[str, Any]) -> cri.PodSandboxConfig:
    host_network = bool(kept.get("hostNetwork"))
    options = cri.NamespaceOption(
        network=cri.NODE if host_network else cri.POD,
        pid=cri.NODE if kept.get("hostPID") else cri.CONTAINER,
        ipc=cri.NODE if kept.get("hostIPC") else cri.POD,
    )
    return cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(
            name=pod.name, namespace=pod.namespace, uid=pod.uid, attempt=attempt
        ),
        # On the host's network the name is the host's.
        hostname="" if host_network else _text(kept, "hostname"),
        log_directory=_text(kept, "logDirectory"),
        labels={POD_NAME: pod.name, POD_NAMESPACE: pod.namespace, POD_UID: pod.uid},
        linux=cri.LinuxPodSandboxConfig(
            cgroup_parent=_text(kept, "cgroupParent"),
            security_context=cri.LinuxSandboxSecurityContext(
                namespace_options=options,
                privileged=bool(kept.get("privileged")),
                seccomp=_UNCONFINED,
            ),
        ),
    )


def _kept(status: cri.PodSandboxStatus) -> dict[str, Any]:
    """What the label keeps, or what a kubelet would have said."""
    try:
        kept = json.loads(status.labels.get(SANDBOX_CONFIG, ""))
    except ValueError:
        kept = None
    if isinstance(kept, dict) and _text(kept, "logDirectory").startswith("/"):
        return kept
    metadata, options = status.metadata, status.linux.namespaces.options
    return {
        "hostname": metadata.name[:63],
        "logDirectory": f"{POD_LOGS}/{metadata.namespace}_{metadata.name}_{metadata.uid}",
        "hostNetwork": options.network == cri.NODE,
        "hostPID": options.pid == cri.NODE,
        "hostIPC": options.ipc == cri.NODE,
    }


def _resources(config: ContainerConfig) -> cri.LinuxContainerResources:
    request = config.cpu_request_millis or config.cpu_limit_millis
    resources = cri.LinuxContainerResources(
        cpu_shares=max(SHARES_MIN, request * SHARES_PER_CPU // 1000),
        memory_limit_in_bytes=config.memory_limit_bytes,
        oom_score_adj=config.oom_score_adjustment,
    )
    if config.cpu_limit_millis:
        quota = config.cpu_limit_millis * PERIOD_MICROSECONDS // 1000
        resources.cpu_period = PERIOD_MICROSECONDS
        resources.cpu_quota = max(QUOTA_MICROSECONDS_MIN, quota)
    return resources


def _security_context(
    config: ContainerConfig, options: cri.NamespaceOption
) -> cri.LinuxContainerSecurityContext:
    context = cri.LinuxContainerSecurityContext(
        capabilities=cri.Capability(
            add_capabilities=config.add_capabilities, drop_capabilities=config.drop_capabilities
        ),
        privileged=config.privileged,
        namespace_options=options,
        readonly_rootfs=config.read_only_root,
        no_new_privs=config.no_new_privileges,
        supplemental_groups=config.supplemental_groups,
        masked_paths=() if config.privileged else (*MASKED_PATHS, *_thermal_paths()),
        readonly_paths=() if config.privileged else READ_ONLY_PATHS,
        seccomp=_UNCONFINED,
    )
    if config.run_as_user is not None:
        context.run_as_user.value = config.run_as_user
    if config.run_as_group is not None:
        context.run_as_group.value = config.run_as_group
    return context


def _thermal_paths() -> list[str]:
    """What tells a container how hot its neighbours are."""
    return sorted(str(path) for path in CPUS.glob("cpu[0-9]*/thermal_throttle"))


def _signal(config: ContainerConfig) -> cri.Signal.ValueType:
    if not config.stop_signal:
        return cri.SIGNAL_RUNTIME_DEFAULT
    name = config.stop_signal.upper().removeprefix("SIG").replace("+", "PLUS").replace("-", "MINUS")
    try:
        return cri.Signal.Value(f"SIGNAL_SIG{name}")
    except ValueError:
        raise RuntimeFailed(
            f"container {config.name}: {quote(config.stop_signal)} is no signal",
            reason=CREATE_CONTAINER_ERROR,
        ) from None


def _protocol(name: str) -> cri.Protocol.ValueType:
    return cri.Protocol.Value(name) if name in cri.Protocol.keys() else cri.TCP  # noqa: SIM118


def _text(values: dict[str, Any], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""
