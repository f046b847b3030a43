"""What a pod refers to: secrets, config maps, and other objects its volumes and variables name.

dray carries volumes and mounts as JSON, which rules judge only after admission, so this reads them
with care: whatever has not the shape it should have counts as absent.
Upstream counterparts: pkg/api/pod/util.go (VisitPodSecretNames, HasAPIObjectReference).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from dray.api.core import Container, Pod, PodSpec
from dray.api.wire import Carried
from dray.errors import quote

__all__ = [
    "MIRROR_POD_ANNOTATION",
    "Reference",
    "api_reference",
    "carried_items",
    "containers_of",
    "is_mirror_pod",
    "projected_sources",
    "references_config_maps",
    "references_secrets",
    "volumes_of",
]

MIRROR_POD_ANNOTATION: Final = "kubernetes.io/config.mirror"

Item = Mapping[str, Any]

# Sources that name a secret of their own: the member of the volume, and where in it the name is.
# A volume has one source; were there more, upstream would look at the first of this order.
_SECRET_MEMBERS: Final = {
    "azureFile": ("secretName",),
    "cephfs": ("secretRef", "name"),
    "cinder": ("secretRef", "name"),
    "flexVolume": ("secretRef", "name"),
    "projected": (),
    "rbd": ("secretRef", "name"),
    "secret": ("secretName",),
    "scaleIO": ("secretRef", "name"),
    "iscsi": ("secretRef", "name"),
    "storageos": ("secretRef", "name"),
    "csi": ("nodePublishSecretRef", "name"),
}

# Sources that a node can provide by itself.
_LOCAL_VOLUMES: Final = (
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
)

# Sources that come from another object, and what a refusal calls it.
_FOREIGN_VOLUMES: Final = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}

_FOREIGN_PROJECTIONS: Final = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


class Reference(NamedTuple):
    """What other objects of the API a pod depends on, or why that cannot be told."""

    found: str = ""
    trouble: str = ""


_NO_REFERENCE: Final = Reference()


def is_mirror_pod(pod: Pod) -> bool:
    """Whether a node made this pod to show one that its own configuration started."""
    return MIRROR_POD_ANNOTATION in pod.metadata.annotations


def containers_of(spec: PodSpec) -> Iterator[Container]:
    """All containers, in the order they are started in, those added for debugging last."""
    yield from spec.init_containers
    yield from spec.containers or ()
    yield from spec.ephemeral_containers


def carried_items(carried: Carried) -> list[Item]:
    """The objects in a carried list."""
    if carried is None:
        return []
    items = msgspec.json.decode(carried)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def volumes_of(spec: PodSpec) -> list[Item]:
    """The volumes of a pod, each as its JSON says."""
    return carried_items(spec.volumes)


def projected_sources(volume: Item) -> list[Item]:
    """What a projected volume is made of; nothing for any other."""
    projected = volume.get("projected")
    sources = projected.get("sources") if isinstance(projected, dict) else None
    return [one for one in sources if isinstance(one, dict)] if isinstance(sources, list) else []


def references_secrets(pod: Pod) -> bool:
    """Whether anything in a pod names a secret."""
    if any(reference.name for reference in pod.spec.image_pull_secrets):
        return True
    for container in containers_of(pod.spec):
        for source in container.env_from:
            if source.secret_ref is not None and source.secret_ref.name:
                return True
        for variable in container.env:
            origin = variable.value_from
            if origin and origin.secret_key_ref is not None and origin.secret_key_ref.name:
                return True
    return any(_names_a_secret(volume) for volume in volumes_of(pod.spec))


def references_config_maps(pod: Pod) -> bool:
    """Whether anything in a pod names a config map."""
    for container in containers_of(pod.spec):
        for source in container.env_from:
            if source.config_map_ref is not None and source.config_map_ref.name:
                return True
        for variable in container.env:
            origin = variable.value_from
            if origin and origin.config_map_key_ref is not None and origin.config_map_key_ref.name:
                return True
    for volume in volumes_of(pod.spec):
        if _given(volume, "projected"):
            if any(_member(source, "configMap", "name") for source in projected_sources(volume)):
                return True
        elif _member(volume, "configMap", "name"):
            return True
    return False


def api_reference(pod: Pod) -> Reference:
    """The first thing a pod depends on; neither found nor trouble if it needs no other object."""
    if pod.spec.service_account_name:
        return Reference("serviceaccounts")
    if references_secrets(pod):
        return Reference("secrets")
    if references_config_maps(pod):
        return Reference("configmaps")
    if pod.spec.resource_claims:
        return Reference("resourceclaims")
    for volume in volumes_of(pod.spec):
        reference = _reference_of_volume(volume)
        if reference is not _NO_REFERENCE:
            return reference
    return _NO_REFERENCE


def _reference_of_volume(volume: Item) -> Reference:
    if any(_given(volume, member) for member in _LOCAL_VOLUMES):
        return _NO_REFERENCE
    for member, found in _FOREIGN_VOLUMES.items():
        if _given(volume, member):
            return Reference(found)
    shown = quote(_member(volume, "name"))
    if not _given(volume, "projected"):
        return Reference(trouble=f"unknown volume type for volume  {shown}")
    for source in projected_sources(volume):
        for member, found in _FOREIGN_PROJECTIONS.items():
            if _given(source, member):
                return Reference(found)
        if not _given(source, "downwardAPI"):
            return Reference(trouble=f"unknown source for projected volume {shown}")
    return _NO_REFERENCE


def _names_a_secret(volume: Item) -> bool:
    for member, path in _SECRET_MEMBERS.items():
        if _given(volume, member):
            if member == "projected":
                sources = projected_sources(volume)
                return any(_member(source, "secret", "name") for source in sources)
            return bool(_member(volume, member, *path))
    return False


def _given(item: Item, member: str) -> bool:
    return item.get(member) is not None


def _member(item: Item, *path: str) -> str:
    found: Any = item
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""
