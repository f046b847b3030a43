"""Volumes that no longer work, and files that take each other's place.

Upstream counterpart: warningsForPodSpecAndMeta and warningsForOverlappingVirtualPaths in
pkg/api/pod/warnings.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from dray.api.core.parts import (
    DownwardAPIVolumeFile,
    KeyToPath,
    PersistentVolumeClaimSpec,
    Volume,
    VolumeProjection,
)
from dray.api.quantity import Quantity
from dray.errors import quote

__all__ = ["is_fractional", "warn_of_volumes"]

_GONE_EARLY: Final = (
    (
        "photon_persistent_disk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    ("git_repo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scale_io", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
)
_GONE_LATE: Final = (
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)


def warn_of_volumes(volumes: Sequence[Volume], path: str) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        for name, wire_name, message in _GONE_EARLY:
            if getattr(volume, name) is not None:
                yield f"{at}.{wire_name}: {message}"
        ephemeral = volume.ephemeral
        if ephemeral is not None and ephemeral.volume_claim_template is not None:
            claim = ephemeral.volume_claim_template.spec
            yield from _of_claim(claim, f"{at}.ephemeral.volumeClaimTemplate.spec.resources")
        for name, wire_name, message in _GONE_LATE:
            if getattr(volume, name) is not None:
                yield f"{at}.{wire_name}: {message}"
    for volume in volumes:
        yield from _of_overlaps(volume)


def is_fractional(amount: Quantity) -> bool:
    """Whether this is no whole number of bytes."""
    return amount.milli_value() % 1000 != 0


def _of_claim(claim: PersistentVolumeClaimSpec, path: str) -> Iterator[str]:
    for name, amounts in (
        ("requests", claim.resources.requests),
        ("limits", claim.resources.limits),
    ):
        storage = amounts.get("storage")
        if storage is not None and is_fractional(storage):
            told = f"fractional byte value {quote(str(storage))} is invalid, must be an integer"
            yield f"{path}.{name}[storage]: {told}"


# Files that overlap ----------------------------------------------------------------------------


class _File(NamedTuple):
    path: str
    source: str

    def __str__(self) -> str:
        return f"{quote(self.path)} ({self.source})" if self.source else quote(self.path)


def _of_overlaps(volume: Volume) -> Iterator[str]:
    name = quote(volume.name)
    if volume.config_map is not None:
        title = f"ConfigMap {quote(volume.config_map.name)}"
        for overlap in _overlaps(_files(volume.config_map.items)):
            yield f"volume {name} ({title}): overlapping paths: {overlap}"
    if volume.secret is not None:
        title = f"Secret {quote(volume.secret.secret_name)}"
        for overlap in _overlaps(_files(volume.secret.items)):
            yield f"volume {name} ({title}): overlapping paths: {overlap}"
    if volume.downward_api is not None:
        for overlap in _overlaps(_files(volume.downward_api.items)):
            yield f"volume {name} (DownwardAPI): overlapping paths: {overlap}"
    if volume.projected is None:
        return
    files: list[_File] = []
    for projection in volume.projected.sources or ():
        if projection == VolumeProjection():
            yield f"volume {name} (Projected) has no sources provided"
        for file in _projected(projection):
            for overlap in _overlaps([*files, file], since=len(files)):
                yield f"volume {name} (Projected): overlapping paths: {overlap}"
            files.append(_trimmed(file))


def _files(items: Iterable[KeyToPath | DownwardAPIVolumeFile], source: str = "") -> list[_File]:
    return [_File(item.path, source) for item in items]


def _projected(projection: VolumeProjection) -> list[_File]:
    if projection.config_map is not None and projection.config_map.items:
        title = f"ConfigMap {quote(projection.config_map.name)}"
        return _files(projection.config_map.items, title)
    if projection.secret is not None and projection.secret.items:
        return _files(projection.secret.items, f"Secret {quote(projection.secret.name)}")
    if projection.downward_api is not None and projection.downward_api.items:
        return _files(projection.downward_api.items, "DownwardAPI")
    if projection.service_account_token is not None:
        return [_File(projection.service_account_token.path, "ServiceAccountToken")]
    bundle = projection.cluster_trust_bundle
    if bundle is not None:
        # Where neither is given, upstream trips over its own feet; we do not.
        title = bundle.name if bundle.name is not None else bundle.signer_name or ""
        return [_File(bundle.path, f"ClusterTrustBundle {quote(title)}")]
    certificate = projection.pod_certificate
    if certificate is None:
        return []
    files = (
        _File(certificate.certificate_chain_path, "PodCertificate chain"),
        _File(certificate.key_path, "PodCertificate key"),
        _File(certificate.credential_bundle_path, "PodCertificate credential bundle"),
    )
    return [file for file in files if file.path]


def _trimmed(file: _File) -> _File:
    return _File(file.path.rstrip("/"), file.source)


def _overlaps(files: Sequence[_File], *, since: int = 0) -> Iterator[str]:
    """Each file from a place on, with every earlier one it shares a path or a directory with."""
    trimmed = [_trimmed(file) for file in files]
    for index, file in enumerate(trimmed):
        if index < since or not file.path:
            continue
        for other in trimmed[:index]:
            ours, theirs = f"{file.path}/", f"{other.path}/"
            if other.path and (ours.startswith(theirs) or theirs.startswith(ours)):
                yield f"{file} with {other}"
