"""What a pod refers to in its namespace, and so what its node must be able to read.

Volumes travel through dray as JSON. For a node only the few members matter that name other objects,
and nothing else is read of them.

Upstream counterparts: pkg/api/v1/pod (VisitPodSecretNames and its siblings), component-helpers'
ephemeral volumes, dynamic-resource-allocation's resourceclaim.Name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

import msgspec

from dray.api.core import Container, Pod
from dray.api.wire import Carried, is_null

__all__ = ["MIRROR_ANNOTATION", "Reference", "ReferencedKind", "references_of"]

# Marks the image of a pod that a node runs on its own account.
MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"


class ReferencedKind(Enum):
    """Kinds a pod may refer to, by the resource they are asked for as."""

    SECRET = "secrets"  # noqa: S105 - the name of a resource
    CONFIG_MAP = "configmaps"
    VOLUME_CLAIM = "persistentvolumeclaims"
    RESOURCE_CLAIM = "resourceclaims"
    SERVICE_ACCOUNT = "serviceaccounts"


Reference: TypeAlias = tuple[ReferencedKind, str]

# Volume sources that hold {"secretRef": {"name": ...}}.
_WITH_SECRET_REFERENCE: Final = (
    "cephfs",
    "cinder",
    "flexVolume",
    "rbd",
    "scaleIO",
    "iscsi",
    "storageos",
)


def references_of(pod: Pod) -> frozenset[Reference]:
    """The objects of the pod's namespace it needs. A mirror pod needs none.

    A node makes its mirror pods itself, so whatever they refer to, they must not give it access.
    """
    if MIRROR_ANNOTATION in pod.metadata.annotations:
        return frozenset()
    return frozenset(reference for reference in _references(pod) if reference[1])


def _references(pod: Pod) -> Iterator[Reference]:
    spec = pod.spec
    yield ReferencedKind.SERVICE_ACCOUNT, spec.service_account_name
    for secret in spec.image_pull_secrets:
        yield ReferencedKind.SECRET, secret.name
    every: Sequence[Container] = (
        *spec.init_containers,
        *(spec.containers or ()),
        *spec.ephemeral_containers,
    )
    for container in every:
        yield from _of_environment(container)
    for volume in _read(spec.volumes):
        yield from _of_volume(pod.metadata.name, volume)
    yield from _of_claims(pod)


def _of_environment(container: Container) -> Iterator[Reference]:
    for source in container.env_from:
        if source.secret_ref is not None:
            yield ReferencedKind.SECRET, source.secret_ref.name
        if source.config_map_ref is not None:
            yield ReferencedKind.CONFIG_MAP, source.config_map_ref.name
    for variable in container.env:
        origin = variable.value_from
        if origin is not None and origin.secret_key_ref is not None:
            yield ReferencedKind.SECRET, origin.secret_key_ref.name
        if origin is not None and origin.config_map_key_ref is not None:
            yield ReferencedKind.CONFIG_MAP, origin.config_map_key_ref.name


def _of_claims(pod: Pod) -> Iterator[Reference]:
    made = {
        status.name: status.resource_claim_name
        for status in pod.status.resource_claim_statuses or ()
    }
    for claim in pod.spec.resource_claims:
        if claim.resource_claim_name is not None:
            yield ReferencedKind.RESOURCE_CLAIM, claim.resource_claim_name
        elif claim.resource_claim_template_name is not None:
            yield ReferencedKind.RESOURCE_CLAIM, made.get(claim.name) or ""
    extended = pod.status.extended_resource_claim_status
    if extended is not None:
        yield ReferencedKind.RESOURCE_CLAIM, extended.resource_claim_name


def _of_volume(pod_name: str, volume: dict[str, Any]) -> Iterator[Reference]:
    yield ReferencedKind.SECRET, _text(volume, "secret", "secretName")
    yield ReferencedKind.SECRET, _text(volume, "azureFile", "secretName")
    yield ReferencedKind.SECRET, _text(volume, "csi", "nodePublishSecretRef", "name")
    for source in _WITH_SECRET_REFERENCE:
        if source in volume:
            yield ReferencedKind.SECRET, _text(volume, source, "secretRef", "name")
    yield ReferencedKind.CONFIG_MAP, _text(volume, "configMap", "name")
    yield ReferencedKind.VOLUME_CLAIM, _text(volume, "persistentVolumeClaim", "claimName")
    if isinstance(volume.get("ephemeral"), dict):
        yield ReferencedKind.VOLUME_CLAIM, f"{pod_name}-{_text(volume, 'name')}"
    projected = volume.get("projected")
    sources = projected.get("sources") if isinstance(projected, dict) else None
    for source in sources if isinstance(sources, list) else ():
        if isinstance(source, dict):
            yield ReferencedKind.SECRET, _text(source, "secret", "name")
            yield ReferencedKind.CONFIG_MAP, _text(source, "configMap", "name")


def _read(volumes: Carried) -> Iterator[dict[str, Any]]:
    if volumes is None or is_null(volumes):
        return
    decoded = msgspec.json.decode(volumes)
    for volume in decoded if isinstance(decoded, list) else ():
        if isinstance(volume, dict):
            yield volume


def _text(value: Any, *path: str) -> str:
    """The text at a path of member names; empty if there is none."""
    for member in path:
        value = value.get(member) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
