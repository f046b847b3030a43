"""Facts of a pod that its containers may ask for: the downward API.

Upstream counterpart: pkg/fieldpath and pkg/api/v1/resource/helpers.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dray.agent.pods.starting import ConfigFailed
from dray.api.core import Container, ObjectFieldSelector, Pod, ResourceFieldSelector
from dray.api.quantity import Quantity
from dray.texts import quote

__all__ = ["PodFacts", "field_value", "resource_value"]

_SUBSCRIPT: Final = re.compile(r"metadata\.(annotations|labels)\['(.+)'\]")
_NANO: Final = 10**9


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What is not in the pod itself, or not yet."""

    pod_addresses: tuple[str, ...] = ()
    host_addresses: tuple[str, ...] = ()
    allocatable: Mapping[str, Quantity] | None = None  # of the node, where a limit is missing


def field_value(selector: ObjectFieldSelector, pod: Pod, facts: PodFacts) -> str:
    """The value of a field; raises ConfigFailed."""
    path, metadata = selector.field_path, pod.metadata
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript is not None:
        values = metadata.annotations if subscript[1] == "annotations" else metadata.labels
        return values.get(subscript[2], "")
    plain = {
        "metadata.name": metadata.name,
        "metadata.namespace": metadata.namespace,
        "metadata.uid": metadata.uid,
        "spec.nodeName": pod.spec.node_name,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.hostIP": facts.host_addresses[0] if facts.host_addresses else "",
        "status.hostIPs": ",".join(facts.host_addresses),
        "status.podIP": facts.pod_addresses[0] if facts.pod_addresses else "",
        "status.podIPs": ",".join(facts.pod_addresses),
    }
    if path in plain:
        return plain[path]
    if path == "metadata.annotations":
        return _map(metadata.annotations)
    if path == "metadata.labels":
        return _map(metadata.labels)
    raise ConfigFailed(f"field label not supported: {path}")


def resource_value(
    selector: ResourceFieldSelector, pod: Pod, own: Container, facts: PodFacts
) -> str:
    """An amount of a container's resources, in units of the divisor, rounded up."""
    container = own
    if selector.container_name and selector.container_name != own.name:
        every = (*(pod.spec.containers or ()), *pod.spec.init_containers)
        found = next((one for one in every if one.name == selector.container_name), None)
        if found is None:
            raise ConfigFailed(f"container {selector.container_name} not found")
        container = found
    kind, _, name = selector.resource.partition(".")
    amounts = {
        "limits": container.resources.limits,
        "requests": container.resources.requests,
    }.get(kind)
    if amounts is None or not name:
        raise ConfigFailed(f"unsupported container resource : {selector.resource}")
    amount = amounts.get(name)
    if amount is None and kind == "limits" and facts.allocatable is not None:
        # Without a limit, all that the node has is the limit.
        amount = facts.allocatable.get(name)
    nano = 0 if amount is None else amount.nano
    divisor = selector.divisor.nano or _NANO
    return str(-(-nano // divisor))


def _map(values: Mapping[str, str]) -> str:
    """Entries as files show them: sorted, quoted, a line each."""
    return "\n".join(f"{key}={quote(values[key])}" for key in sorted(values))
