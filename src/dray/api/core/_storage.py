"""Storage of clouds and networks, as a volume names it. Much of it no node can mount any more.

Upstream counterpart: the volume sources in k8s.io/api/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from dray.api.core._reference import LocalObjectReference
from dray.api.wire import Int32, Struct, always

__all__ = [
    "AWSElasticBlockStoreVolumeSource",
    "AzureDiskVolumeSource",
    "AzureFileVolumeSource",
    "CephFSVolumeSource",
    "CinderVolumeSource",
    "FCVolumeSource",
    "FlexVolumeSource",
    "FlockerVolumeSource",
    "GCEPersistentDiskVolumeSource",
    "GitRepoVolumeSource",
    "GlusterfsVolumeSource",
    "ISCSIVolumeSource",
    "NFSVolumeSource",
    "PhotonPersistentDiskVolumeSource",
    "PortworxVolumeSource",
    "QuobyteVolumeSource",
    "RBDVolumeSource",
    "ScaleIOVolumeSource",
    "StorageOSVolumeSource",
    "VsphereVirtualDiskVolumeSource",
]


class AWSElasticBlockStoreVolumeSource(Struct):
    """A disk of Amazon."""

    volume_id: str = always("", name="volumeID")
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class AzureDiskVolumeSource(Struct):
    """A disk of Azure."""

    disk_name: str = always("")
    disk_uri: str = always("", name="diskURI")
    caching_mode: str | None = None
    fs_type: str | None = None
    read_only: bool | None = None
    kind: str | None = None


class AzureFileVolumeSource(Struct):
    """A file share of Azure."""

    secret_name: str = always("")
    share_name: str = always("")
    read_only: bool = False


class CephFSVolumeSource(Struct):
    """A Ceph file system."""

    monitors: tuple[str, ...] | None = always(None)
    path: str = ""
    user: str = ""
    secret_file: str = ""
    secret_ref: LocalObjectReference | None = None
    read_only: bool = False


class CinderVolumeSource(Struct):
    """A disk of OpenStack."""

    volume_id: str = always("", name="volumeID")
    fs_type: str = ""
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None


class FCVolumeSource(Struct):
    """A disk behind Fibre Channel."""

    target_wwns: tuple[str, ...] = field(default=(), name="targetWWNs")
    lun: Int32 | None = None
    fs_type: str = ""
    read_only: bool = False
    wwids: tuple[str, ...] = ()


class FlexVolumeSource(Struct):
    """Whatever a program on the node makes of the options."""

    driver: str = always("")
    fs_type: str = ""
    secret_ref: LocalObjectReference | None = None
    read_only: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


class FlockerVolumeSource(Struct):
    """A Flocker dataset."""

    dataset_name: str = ""
    dataset_uuid: str = field(default="", name="datasetUUID")


class GCEPersistentDiskVolumeSource(Struct):
    """A disk of Google."""

    pd_name: str = always("")
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class GitRepoVolumeSource(Struct):
    """A repository, cloned once."""

    repository: str = always("")
    revision: str = ""
    directory: str = ""


class GlusterfsVolumeSource(Struct):
    """A Gluster volume."""

    endpoints: str = always("")
    path: str = always("")
    read_only: bool = False


class ISCSIVolumeSource(Struct):
    """A disk behind iSCSI."""

    target_portal: str = always("")
    iqn: str = always("")
    lun: Int32 = always(0)
    iscsi_interface: str = ""
    fs_type: str = ""
    read_only: bool = False
    portals: tuple[str, ...] = ()
    chap_auth_discovery: bool = False
    chap_auth_session: bool = False
    secret_ref: LocalObjectReference | None = None
    initiator_name: str | None = None


class NFSVolumeSource(Struct):
    """A directory of an NFS server."""

    server: str = always("")
    path: str = always("")
    read_only: bool = False


class PhotonPersistentDiskVolumeSource(Struct):
    """A disk of a Photon controller."""

    pd_id: str = always("", name="pdID")
    fs_type: str = ""


class PortworxVolumeSource(Struct):
    """A Portworx volume."""

    volume_id: str = always("", name="volumeID")
    fs_type: str = ""
    read_only: bool = False


class QuobyteVolumeSource(Struct):
    """A Quobyte volume."""

    registry: str = always("")
    volume: str = always("")
    read_only: bool = False
    user: str = ""
    group: str = ""
    tenant: str = ""


class RBDVolumeSource(Struct):
    """A Ceph block device."""

    monitors: tuple[str, ...] | None = always(None)
    image: str = always("")
    fs_type: str = ""
    pool: str = ""
    user: str = ""
    keyring: str = ""
    secret_ref: LocalObjectReference | None = None
    read_only: bool = False


class ScaleIOVolumeSource(Struct):
    """A ScaleIO volume."""

    gateway: str = always("")
    system: str = always("")
    secret_ref: LocalObjectReference | None = always(None)
    ssl_enabled: bool = False
    protection_domain: str = ""
    storage_pool: str = ""
    storage_mode: str = ""
    volume_name: str = ""
    fs_type: str = ""
    read_only: bool = False


class StorageOSVolumeSource(Struct):
    """A StorageOS volume."""

    volume_name: str = ""
    volume_namespace: str = ""
    fs_type: str = ""
    read_only: bool = False
    secret_ref: LocalObjectReference | None = None


class VsphereVirtualDiskVolumeSource(Struct):
    """A disk of vSphere."""

    volume_path: str = always("")
    fs_type: str = ""
    storage_policy_name: str = ""
    storage_policy_id: str = field(default="", name="storagePolicyID")
