"""Volumes of a pod, and where its containers mount them.

Upstream counterpart: Volume and VolumeMount in k8s.io/api/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from dray.api.core._reference import LocalObjectReference
from dray.api.core._storage import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CephFSVolumeSource,
    CinderVolumeSource,
    FCVolumeSource,
    FlexVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    GitRepoVolumeSource,
    GlusterfsVolumeSource,
    ISCSIVolumeSource,
    NFSVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    RBDVolumeSource,
    ScaleIOVolumeSource,
    StorageOSVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from dray.api.core._volume_claim import EphemeralVolumeSource
from dray.api.core._volume_files import (
    ConfigMapVolumeSource,
    DownwardAPIVolumeSource,
    ProjectedVolumeSource,
    SecretVolumeSource,
)
from dray.api.quantity import Quantity
from dray.api.wire import Int32, Struct, always

__all__ = [
    "CSIVolumeSource",
    "EmptyDirVolumeSource",
    "HostPathVolumeSource",
    "ImageVolumeSource",
    "PersistentVolumeClaimVolumeSource",
    "Volume",
    "VolumeDevice",
    "VolumeMount",
]


class CSIVolumeSource(Struct):
    """What a storage driver provides for this pod alone."""

    driver: str = always("")
    read_only: bool | None = None
    fs_type: str | None = None
    volume_attributes: Mapping[str, str] = field(default_factory=dict)
    node_publish_secret_ref: LocalObjectReference | None = None


class EmptyDirVolumeSource(Struct):
    """A directory that is empty when the pod starts and goes with it."""

    medium: str = ""
    size_limit: Quantity | None = None
    mode: Int32 | None = None


class HostPathVolumeSource(Struct):
    """A path of the node."""

    path: str = always("")
    type: str | None = None


class ImageVolumeSource(Struct):
    """What is in an image."""

    reference: str = ""
    pull_policy: str = ""


class PersistentVolumeClaimVolumeSource(Struct):
    """A claim that exists."""

    claim_name: str = always("")
    read_only: bool = False


class Volume(Struct):
    """A name, and one source."""

    name: str = always("")
    host_path: HostPathVolumeSource | None = None
    empty_dir: EmptyDirVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    git_repo: GitRepoVolumeSource | None = None
    secret: SecretVolumeSource | None = None
    nfs: NFSVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    glusterfs: GlusterfsVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    flex_volume: FlexVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    cephfs: CephFSVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    downward_api: DownwardAPIVolumeSource | None = field(default=None, name="downwardAPI")
    fc: FCVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    scale_io: ScaleIOVolumeSource | None = field(default=None, name="scaleIO")
    storageos: StorageOSVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    image: ImageVolumeSource | None = None


class VolumeDevice(Struct):
    """A block device in a container."""

    name: str = always("")
    device_path: str = always("")


class VolumeMount(Struct):
    """A volume in the file system of a container."""

    name: str = always("")
    read_only: bool = False
    recursive_read_only: str | None = None
    mount_path: str = always("")
    sub_path: str = ""
    mount_propagation: str | None = None
    sub_path_expr: str = ""
    bind_mount_options: tuple[str, ...] = ()
