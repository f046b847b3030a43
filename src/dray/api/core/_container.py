"""Containers as a pod asks for them.

Upstream counterpart: Container and EphemeralContainer in k8s.io/api/core/v1.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from dray.api.core._environment import EnvFromSource, EnvVar
from dray.api.core._probe import Lifecycle, Probe
from dray.api.core._resources import ResourceRequirements
from dray.api.core._security import SecurityContext
from dray.api.core._volume import VolumeDevice, VolumeMount
from dray.api.wire import Carried, Holds, Int32, Struct, always

__all__ = [
    "CONTAINER_RESTART_POLICY_ALWAYS",
    "CONTAINER_RESTART_POLICY_NEVER",
    "CONTAINER_RESTART_POLICY_ON_FAILURE",
    "PULL_ALWAYS",
    "PULL_IF_NOT_PRESENT",
    "PULL_NEVER",
    "RESTART_RULE_ACTION_RESTART",
    "RESTART_RULE_ACTION_RESTART_ALL_CONTAINERS",
    "RESTART_RULE_OPERATOR_IN",
    "RESTART_RULE_OPERATOR_NOT_IN",
    "TERMINATION_MESSAGE_FALLBACK_TO_LOGS_ON_ERROR",
    "TERMINATION_MESSAGE_READ_FILE",
    "Container",
    "ContainerPort",
    "ContainerResizePolicy",
    "ContainerRestartRule",
    "ContainerRestartRuleOnExitCodes",
    "EphemeralContainer",
]

CONTAINER_RESTART_POLICY_ALWAYS: Final = "Always"
CONTAINER_RESTART_POLICY_ON_FAILURE: Final = "OnFailure"
CONTAINER_RESTART_POLICY_NEVER: Final = "Never"

RESTART_RULE_ACTION_RESTART: Final = "Restart"
RESTART_RULE_ACTION_RESTART_ALL_CONTAINERS: Final = "RestartAllContainers"

RESTART_RULE_OPERATOR_IN: Final = "In"
RESTART_RULE_OPERATOR_NOT_IN: Final = "NotIn"

PULL_ALWAYS: Final = "Always"
PULL_IF_NOT_PRESENT: Final = "IfNotPresent"
PULL_NEVER: Final = "Never"

TERMINATION_MESSAGE_READ_FILE: Final = "File"
TERMINATION_MESSAGE_FALLBACK_TO_LOGS_ON_ERROR: Final = "FallbackToLogsOnError"


class ContainerPort(Struct):
    """A port the container listens on."""

    name: str = ""
    host_port: Int32 = 0
    container_port: Int32 = always(0)
    protocol: str = ""
    host_ip: str = field(default="", name="hostIP")


class ContainerResizePolicy(Struct):
    """Whether changing one resource in place restarts the container."""

    resource_name: str = always("")
    restart_policy: str = always("")


class ContainerRestartRuleOnExitCodes(Struct):
    """Exit codes: one of these, or none of them."""

    operator: str = ""
    values: tuple[Int32, ...] = ()


class ContainerRestartRule(Struct):
    """What to do when the container exits so; the first rule that matches decides."""

    action: str = ""
    exit_codes: ContainerRestartRuleOnExitCodes | None = None


class Container(Struct):
    """One process tree of a pod, from one image."""

    name: str = always("")
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    ports: tuple[ContainerPort, ...] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    env: tuple[EnvVar, ...] = ()
    resources: ResourceRequirements = always(ResourceRequirements)
    resize_policy: tuple[ContainerResizePolicy, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: Annotated[Carried, Holds(tuple[VolumeMount, ...])] = None
    volume_devices: Annotated[Carried, Holds(tuple[VolumeDevice, ...])] = None
    liveness_probe: Annotated[Carried, Holds(Probe)] = None
    readiness_probe: Annotated[Carried, Holds(Probe)] = None
    startup_probe: Annotated[Carried, Holds(Probe)] = None
    lifecycle: Annotated[Carried, Holds(Lifecycle)] = None
    termination_message_path: str = ""
    termination_message_policy: str = ""
    image_pull_policy: str = ""
    security_context: Annotated[Carried, Holds(SecurityContext)] = None
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False


class EphemeralContainer(Container):
    """A container added to a running pod for a look inside."""

    target_container_name: str = ""
