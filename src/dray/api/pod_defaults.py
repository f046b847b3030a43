"""What a pod may leave out, filled in as upstream fills it in when it decodes one.

Amounts of resources are cut to thousandths, upwards, as upstream has always done. What is inside
volumes, probes and other parts that pods carry is filled in by `dray.api.part_defaults`; what is
derived from the whole pod at creation, in `dray.api.pod_strategy`.
Upstream counterpart: pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec import Raw

from dray.api._edit import edit, edit_items
from dray.api.core import (
    RESTART_POLICY_ALWAYS,
    TERMINATION_MESSAGE_READ_FILE,
    Container,
    ContainerPort,
    ContainerStatus,
    EnvVar,
    Pod,
    PodIP,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from dray.api.images import pull_policy_for
from dray.api.part_defaults import default_field_ref, default_parts
from dray.api.resource_lists import rounded_up
from dray.api.shared import deriving

__all__ = ["default_pod", "default_pod_spec"]

DNS_POLICY_DEFAULT: Final = "ClusterFirst"
SCHEDULER_NAME_DEFAULT: Final = "default-scheduler"
TERMINATION_GRACE_PERIOD_SECONDS_DEFAULT: Final = 30
TERMINATION_MESSAGE_PATH_DEFAULT: Final = "/dev/termination-log"
PROTOCOL_DEFAULT: Final = "TCP"

C = TypeVar("C", bound=Container)


def default_pod(pod: Pod) -> Pod:
    """The pod with its defaults; one that lacks nothing comes back itself."""
    return edit(pod, spec=_default_spec(pod.spec), status=_status(pod.status))


@deriving
def _default_spec(spec: PodSpec) -> PodSpec:
    grace = spec.termination_grace_period_seconds
    spec = edit(
        spec,
        # Longer ago than anybody remembers, less than nothing meant "at once".
        termination_grace_period_seconds=1 if grace is not None and grace < 0 else grace,
        containers=spec.containers and edit_items(spec.containers, _request_limits),
        init_containers=edit_items(spec.init_containers, _request_limits),
        enable_service_links=True
        if spec.enable_service_links is None
        else spec.enable_service_links,
    )
    if spec.host_network:
        spec = edit(
            spec,
            containers=spec.containers and edit_items(spec.containers, _bind_host_ports),
            init_containers=edit_items(spec.init_containers, _bind_host_ports),
        )
    return default_pod_spec(spec)


def default_pod_spec(spec: PodSpec) -> PodSpec:
    """The spec with the defaults that pods and pod templates share."""
    account = spec.service_account_name or spec.service_account
    parts = default_parts(spec)
    if parts["security_context"] is None:
        parts["security_context"] = Raw(b"{}")
    grace = spec.termination_grace_period_seconds
    return edit(
        spec,
        service_account_name=account,
        service_account=account,
        dns_policy=spec.dns_policy or DNS_POLICY_DEFAULT,
        restart_policy=spec.restart_policy or RESTART_POLICY_ALWAYS,
        termination_grace_period_seconds=TERMINATION_GRACE_PERIOD_SECONDS_DEFAULT
        if grace is None
        else grace,
        scheduler_name=spec.scheduler_name or SCHEDULER_NAME_DEFAULT,
        containers=spec.containers and edit_items(spec.containers, _container),
        init_containers=edit_items(spec.init_containers, _container),
        ephemeral_containers=edit_items(spec.ephemeral_containers, _container),
        overhead=rounded_up(spec.overhead),
        resources=spec.resources and _amounts(spec.resources),
        **parts,
    )


# Containers ------------------------------------------------------------------------------------


def _container(container: C) -> C:
    return edit(
        container,
        image_pull_policy=container.image_pull_policy or pull_policy_for(container.image),
        termination_message_path=container.termination_message_path
        or TERMINATION_MESSAGE_PATH_DEFAULT,
        termination_message_policy=container.termination_message_policy
        or TERMINATION_MESSAGE_READ_FILE,
        ports=edit_items(
            container.ports, lambda port: edit(port, protocol=port.protocol or PROTOCOL_DEFAULT)
        ),
        env=edit_items(container.env, _variable),
        resources=_amounts(container.resources),
        **default_parts(container),
    )


def _variable(variable: EnvVar) -> EnvVar:
    source = variable.value_from
    if source is None:
        return variable
    file = source.file_key_ref
    source = edit(
        source,
        field_ref=source.field_ref and default_field_ref(source.field_ref),
        file_key_ref=file and edit(file, optional=bool(file.optional)),
    )
    return edit(variable, value_from=source)


def _request_limits(container: C) -> C:
    """Whoever sets a limit and asks for nothing is given all of it."""
    resources = container.resources
    missing = {
        name: amount for name, amount in resources.limits.items() if name not in resources.requests
    }
    if not missing:
        return container
    requests = {**resources.requests, **missing}
    return edit(container, resources=edit(resources, requests=requests))


def _bind_host_ports(container: C) -> C:
    def bound(port: ContainerPort) -> ContainerPort:
        return edit(port, host_port=port.host_port or port.container_port)

    return edit(container, ports=edit_items(container.ports, bound))


def _amounts(resources: ResourceRequirements) -> ResourceRequirements:
    return edit(
        resources,
        limits=rounded_up(resources.limits),
        requests=rounded_up(resources.requests),
    )


# Status ----------------------------------------------------------------------------------------


def _status(status: PodStatus) -> PodStatus:
    """The status with its first address in both places; the older field wins."""
    if status == _BLANK:
        return status
    address, addresses = status.pod_ip, status.pod_ips
    if not address and addresses:
        address = addresses[0].ip
    if address and (not addresses or addresses[0].ip != address):
        addresses = (PodIP(ip=address),)
    return edit(
        status,
        pod_ip=address,
        pod_ips=addresses,
        init_container_statuses=edit_items(status.init_container_statuses, _container_status),
        container_statuses=edit_items(status.container_statuses, _container_status),
        ephemeral_container_statuses=edit_items(
            status.ephemeral_container_statuses, _container_status
        ),
        allocated_resources=rounded_up(status.allocated_resources),
        resources=status.resources and _amounts(status.resources),
    )


_BLANK: Final = PodStatus()


def _container_status(status: ContainerStatus) -> ContainerStatus:
    return edit(
        status,
        allocated_resources=rounded_up(status.allocated_resources),
        resources=status.resources and _amounts(status.resources),
    )
