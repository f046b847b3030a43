"""Small valid pods to break, with their defaults, and what dray says of writing them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dray.api.core import Container, Pod, PodSpec, PodStatus, ResourceClaim, ResourceRequirements
from dray.api.features import DEFAULT_GATES
from dray.api.meta import ObjectMeta
from dray.api.pod_defaults import default_pod
from dray.api.quantity import Quantity
from dray.validation.findings import merge
from dray.validation.pod import RULEBOOK
from dray.validation.rulebook import Context
from tests.unit.validation.builders import texts

CONTEXT = Context(DEFAULT_GATES, None)


def quantities(named: Mapping[str, str]) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in named.items()}


def resources(
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    claims: Iterable[ResourceClaim] = (),
) -> ResourceRequirements:
    return ResourceRequirements(
        requests=quantities(requests or {}), limits=quantities(limits or {}), claims=tuple(claims)
    )


def container(name: str = "main", **fields: Any) -> Container:
    return Container(name=name, **{"image": "app:1", **fields})


def pod(
    *,
    metadata: Mapping[str, Any] | None = None,
    status: PodStatus | None = None,
    **spec: Any,
) -> Pod:
    """A stored pod with one container."""
    basics = {"name": "pod", "namespace": "default", "uid": "u", "resource_version": "1"}
    return default_pod(
        Pod(
            metadata=ObjectMeta(**{**basics, **(metadata or {})}),
            spec=PodSpec(**{"containers": (container(),), **spec}),
            status=status or PodStatus(),
        )
    )


def created(pod: Pod) -> list[str]:
    """What is wrong with creating this pod."""
    return texts(merge(*RULEBOOK.create(pod, CONTEXT)))


def updated(new: Pod, old: Pod) -> list[str]:
    """What is wrong with this update."""
    return texts(merge(*RULEBOOK.update(new, old, CONTEXT)))


def status_updated(new: Pod, old: Pod) -> list[str]:
    """What is wrong with this update of the status."""
    assert RULEBOOK.status_update is not None
    return texts(merge(*RULEBOOK.status_update(new, old, CONTEXT)))


def paths(errors: list[str]) -> list[str]:
    return [error.partition(": ")[0] for error in errors]
