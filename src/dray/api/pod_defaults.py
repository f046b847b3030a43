"""What a pod may leave out, filled in as upstream fills it in when it decodes one.

Only fields that dray looks into are filled in. Volumes, probes and the like are carried as they
came, so their own defaults (a probe's period, a volume's mode) stay absent; so do those of
environment variables. Amounts of resources are cut to thousandths, upwards, as upstream has
always done. What is derived from the whole pod at creation is in `dray.api.pod_strategy`.
Upstream counterpart: pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeVar

from msgspec import Raw

from dray.api._edit import edit, edit_items, edit_values
from dray.api.core import (
    PULL_ALWAYS,
    PULL_IF_NOT_PRESENT,
    RESTART_POLICY_ALWAYS,
    TERMINATION_MESSAGE_READ_FILE,
    Container,
    ContainerPort,
    ContainerStatus,
    Pod,
    PodIP,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from dray.api.quantity import Quantity
from dray.api.wire import is_null

__all__ = ["default_pod", "default_pod_spec", "rounded_up"]

DNS_POLICY_DEFAULT: Final = "ClusterFirst"
SCHEDULER_NAME_DEFAULT: Final = "default-scheduler"
TERMINATION_GRACE_PERIOD_SECONDS_DEFAULT: Final = 30
TERMINATION_MESSAGE_PATH_DEFAULT: Final = "/dev/termination-log"
PROTOCOL_DEFAULT: Final = "TCP"

_NANO_PER_MILLI: Final = 1_000_000

C = TypeVar("C", bound=Container)


def default_pod(pod: Pod) -> Pod:
    """The pod with its defaults; one that lacks nothing comes back itself."""
    spec = pod.spec
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
    return edit(pod, spec=default_pod_spec(spec), status=_status(pod.status))


def default_pod_spec(spec: PodSpec) -> PodSpec:
    """The spec with the defaults that pods and pod templates share."""
    account = spec.service_account_name or spec.service_account
    grace = spec.termination_grace_period_seconds
    return edit(
        spec,
        service_account_name=account,
        service_account=account,
        dns_policy=spec.dns_policy or DNS_POLICY_DEFAULT,
        restart_policy=spec.restart_policy or RESTART_POLICY_ALWAYS,
        security_context=Raw(b"{}") if is_null(spec.security_context) else spec.security_context,
        termination_grace_period_seconds=TERMINATION_GRACE_PERIOD_SECONDS_DEFAULT
        if grace is None
        else grace,
        scheduler_name=spec.scheduler_name or SCHEDULER_NAME_DEFAULT,
        containers=spec.containers and edit_items(spec.containers, _container),
        init_containers=edit_items(spec.init_containers, _container),
        ephemeral_containers=edit_items(spec.ephemeral_containers, _container),
        overhead=rounded_up(spec.overhead),
        resources=spec.resources and _amounts(spec.resources),
    )


# Containers ------------------------------------------------------------------------------------


def _container(container: C) -> C:
    pull_policy = container.image_pull_policy
    if not pull_policy:
        latest = _tag(container.image) == "latest"
        pull_policy = PULL_ALWAYS if latest else PULL_IF_NOT_PRESENT
    return edit(
        container,
        image_pull_policy=pull_policy,
        termination_message_path=container.termination_message_path
        or TERMINATION_MESSAGE_PATH_DEFAULT,
        termination_message_policy=container.termination_message_policy
        or TERMINATION_MESSAGE_READ_FILE,
        ports=edit_items(
            container.ports, lambda port: edit(port, protocol=port.protocol or PROTOCOL_DEFAULT)
        ),
        resources=_amounts(container.resources),
    )


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


def rounded_up(amounts: Mapping[str, Quantity]) -> Mapping[str, Quantity]:
    """The amounts in whole thousandths, as every list of resources has them."""
    return edit_values(amounts, _round_up)


def _round_up(amount: Quantity) -> Quantity:
    """The amount in whole thousandths, away from zero, in its canonical spelling."""
    whole, rest = divmod(abs(amount.nano), _NANO_PER_MILLI)
    if not rest:
        canonical = amount + Quantity.from_int(0, amount.format)
        return amount if str(canonical) == str(amount) else canonical
    return Quantity.from_milli(amount.sign * (whole + 1), amount.format)


# Status ----------------------------------------------------------------------------------------


def _status(status: PodStatus) -> PodStatus:
    """The status with its first address in both places; the older field wins."""
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


def _container_status(status: ContainerStatus) -> ContainerStatus:
    return edit(
        status,
        allocated_resources=rounded_up(status.allocated_resources),
        resources=status.resources and _amounts(status.resources),
    )


# Images ----------------------------------------------------------------------------------------

# A reference as registries understand it: a domain (only if it looks like one), a path in lower
# case, and optionally a tag and a digest.
_PATH_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DOMAIN_PART: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN: Final = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_REFERENCE: Final = re.compile(
    rf"(?:(?P<domain>{_DOMAIN})/)?"
    rf"(?P<path>{_PATH_PART}(?:/{_PATH_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}")
_REPOSITORY_CHARACTERS_MAX: Final = 255
_DEFAULT_REGISTRIES: Final = ("", "docker.io", "index.docker.io")
_DIGEST_CHARACTERS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}


def _tag(image: str) -> str:
    """The tag of an image: `latest` unless it has one or a digest; empty if it is no reference."""
    found = _REFERENCE.fullmatch(image)
    if found is None or _IDENTIFIER.fullmatch(image):
        return ""
    if len(_repository(found["domain"] or "", found["path"])) > _REPOSITORY_CHARACTERS_MAX:
        return ""
    digest = found["digest"]
    if digest is not None:
        algorithm, _, value = digest.partition(":")
        if len(value) != _DIGEST_CHARACTERS.get(algorithm) or value != value.lower():
            return ""
    return found["tag"] or ("" if digest is not None else "latest")


def _repository(domain: str, path: str) -> str:
    """Where in its registry an image is kept; the default one puts bare names in a library."""
    if domain == domain.lower() and domain != "localhost" and not set(".:") & set(domain):
        path, domain = f"{domain}/{path}" if domain else path, ""
    if domain in _DEFAULT_REGISTRIES and "/" not in path:
        path = f"library/{path}"
    return path
