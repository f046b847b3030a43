"""Volumes of a pod: names, and one source each.

What a source must say is in `volume_files`, `volume_claims` and `volume_storage`. Upstream
counterparts: ValidateVolumes and validateVolumeSource in pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dray.api import names
from dray.api.core import PULL_ALWAYS, PULL_IF_NOT_PRESENT, PULL_NEVER, PodSpec
from dray.api.core.parts import (
    EmptyDirVolumeSource,
    HostPathVolumeSource,
    ImageVolumeSource,
    Volume,
)
from dray.api.meta import ObjectMeta
from dray.errors import quote
from dray.validation import volume_storage as storage
from dray.validation.file_paths import check_no_backsteps, check_relative_path
from dray.validation.findings import Findings
from dray.validation.pod_leniency import Leniency
from dray.validation.rules import byte_length, check_dns_label
from dray.validation.volume_claims import check_ephemeral
from dray.validation.volume_files import (
    check_config_map,
    check_downward_api,
    check_projected,
    check_secret,
)

__all__ = ["check_token_volumes", "check_volumes"]

EMPTY_DIR_MODE_MAX: Final = 0o1777
# What iSCSI initiators bear.
PORTAL_NAME_BYTES_MAX: Final = 64

_PULL_POLICIES: Final = (PULL_ALWAYS, PULL_IF_NOT_PRESENT, PULL_NEVER)
_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)


def check_volumes(
    found: Findings,
    volumes: Sequence[Volume],
    metadata: ObjectMeta | None,
    path: str,
    leniency: Leniency,
) -> dict[str, Volume]:
    """All volumes. Returns those without a fault by name: only they can be mounted."""
    pod_name = metadata.name if metadata is not None else ""
    claimed = {
        f"{pod_name}-{volume.name}"
        for volume in volumes
        if pod_name and volume.ephemeral is not None
    }
    usable: dict[str, Volume] = {}
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        faults = Findings()
        _check_source(faults, volume, pod_name, at, leniency)
        if not volume.name:
            faults.required(f"{at}.name")
        else:
            check_dns_label(faults, volume.name, f"{at}.name")
        if volume.name in usable:
            faults.duplicate(f"{at}.name", volume.name)
        if not faults:
            usable[volume.name] = volume
        found.absorb(faults)
        claim = volume.persistent_volume_claim
        if claim is not None and claim.claim_name in claimed:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            found.invalid(f"{at}.persistentVolumeClaim.claimName", claim.claim_name, detail)
    return usable


def check_token_volumes(found: Findings, spec: PodSpec, volumes: Sequence[Volume]) -> None:
    """A token is one of the pod's service account, so there must be one."""
    if spec.service_account_name:
        return
    for index, volume in enumerate(volumes):
        projected = volume.projected
        for place, source in enumerate((projected and projected.sources) or ()):
            if source.service_account_token is not None:
                at = f"spec.volumes[{index}].projected.sources[{place}].serviceAccountToken"
                detail = "must not be specified when serviceAccountName is not set"
                found.forbidden(at, detail)


def _check_source(
    found: Findings, volume: Volume, pod_name: str, path: str, leniency: Leniency
) -> None:
    given = 0
    for kind, wire_name in _SOURCES:
        source = getattr(volume, kind)
        if source is None:
            continue
        given += 1
        if given == 1:
            _check_first(found, volume, kind, pod_name, path, leniency)
        else:
            wrong_name = _MISSPELT.get(kind, wire_name)
            found.forbidden(f"{path}.{wrong_name}", "may not specify more than 1 volume type")
        if kind == "iscsi":
            _check_portal(found, volume, path)
    if not given:
        found.required(path, "must specify a volume type")


def _check_first(
    found: Findings, volume: Volume, kind: str, pod_name: str, path: str, leniency: Leniency
) -> None:
    source = getattr(volume, kind)
    at = f"{path}.{_WIRE_NAMES[kind]}"
    if kind == "gce_persistent_disk":
        at = f"{path}.persistentDisk"
    storage.check_required(found, source, kind, at)
    if kind == "projected":
        check_projected(found, source, at, leniency)
    elif kind == "image":
        _check_image(found, source, at, leniency)
    elif kind in _BY_KIND:
        _BY_KIND[kind](found, source, at)
    if kind == "ephemeral" and pod_name and volume.name:
        claim = f"{pod_name}-{volume.name}"
        for message in names.dns_subdomain(claim):
            found.invalid(f"{path}.name", volume.name, f"PVC name {quote(claim)}: {message}")


def _check_portal(found: Findings, volume: Volume, path: str) -> None:
    source = volume.iscsi
    if source is None or source.initiator_name is None:
        return
    if byte_length(f"{volume.name}:{source.target_portal}") > PORTAL_NAME_BYTES_MAX:
        detail = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
            "iscsi.initiatorName is specified."
        )
        found.invalid(f"{path}.name", volume.name, detail)


# Sources of the pod's own ----------------------------------------------------------------------


def _check_empty_dir(found: Findings, source: EmptyDirVolumeSource, path: str) -> None:
    if source.size_limit is not None and source.size_limit.sign < 0:
        detail = "SizeLimit field must be a valid resource quantity"
        found.forbidden(f"{path}.sizeLimit", detail)
    if source.mode is not None and not 0 <= source.mode <= EMPTY_DIR_MODE_MAX:
        detail = "must be a number between 0 and 01777 (octal), both inclusive"
        found.invalid(f"{path}.mode", source.mode, detail)


def _check_host_path(found: Findings, source: HostPathVolumeSource, path: str) -> None:
    if not source.path:
        found.required(f"{path}.path")
        return
    check_no_backsteps(found, source.path, f"{path}.path")
    if source.type is not None and source.type not in _HOST_PATH_TYPES:
        found.not_supported(f"{path}.type", source.type, _HOST_PATH_TYPES)


def _check_git_repo(found: Findings, source: Any, path: str) -> None:
    if not source.repository:
        found.required(f"{path}.repository")
    check_relative_path(found, source.directory, f"{path}.directory")


def _check_image(found: Findings, source: ImageVolumeSource, path: str, leniency: Leniency) -> None:
    if not source.reference and not leniency.empty_image_reference:
        found.required(f"{path}.reference")
    if not source.pull_policy:
        found.required(f"{path}.pullPolicy")
    elif source.pull_policy not in _PULL_POLICIES:
        found.not_supported(f"{path}.pullPolicy", source.pull_policy, _PULL_POLICIES)


# In the order in which upstream looks for them; the first one found is the volume's.
_SOURCES: Final = (
    ("empty_dir", "emptyDir"),
    ("host_path", "hostPath"),
    ("git_repo", "gitRepo"),
    ("gce_persistent_disk", "gcePersistentDisk"),
    ("aws_elastic_block_store", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistent_volume_claim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephfs"),
    ("quobyte", "quobyte"),
    ("downward_api", "downwardAPI"),
    ("fc", "fc"),
    ("flex_volume", "flexVolume"),
    ("config_map", "configMap"),
    ("azure_file", "azureFile"),
    ("vsphere_volume", "vsphereVolume"),
    ("photon_persistent_disk", "photonPersistentDisk"),
    ("portworx_volume", "portworxVolume"),
    ("azure_disk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scale_io", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
)
_WIRE_NAMES: Final = dict(_SOURCES)

# How upstream spells two of them where they are one too many.
_MISSPELT: Final[Mapping[str, str]] = {"cephfs": "cephFS", "downward_api": "downwarAPI"}

_BY_KIND: Final[Mapping[str, Callable[[Findings, Any, str], None]]] = {
    "empty_dir": _check_empty_dir,
    "host_path": _check_host_path,
    "git_repo": _check_git_repo,
    "gce_persistent_disk": storage.check_disk,
    "aws_elastic_block_store": storage.check_disk,
    "secret": check_secret,
    "nfs": storage.check_nfs,
    "iscsi": storage.check_iscsi,
    "flocker": storage.check_flocker,
    "cinder": storage.check_cinder,
    "quobyte": storage.check_quobyte,
    "downward_api": check_downward_api,
    "fc": storage.check_fibre_channel,
    "flex_volume": storage.check_flex,
    "config_map": check_config_map,
    "azure_disk": storage.check_azure_disk,
    "storageos": storage.check_storageos,
    "csi": storage.check_csi,
    "ephemeral": check_ephemeral,
}
