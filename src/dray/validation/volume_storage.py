"""Volumes from storage of clouds and networks: what each must name.

Most rules only ask for what cannot be left out, so most of this is a table. Upstream counterparts:
validateISCSIVolumeSource, validateAzureDisk and the like in pkg/apis/core/validation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from dray.api import names
from dray.api.core.parts import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    CinderVolumeSource,
    CSIVolumeSource,
    FCVolumeSource,
    FlexVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    NFSVolumeSource,
    QuobyteVolumeSource,
    StorageOSVolumeSource,
)
from dray.validation.findings import Findings
from dray.validation.rules import (
    DOMAIN_BYTES_MAX,
    byte_length,
    check_dns_label,
    check_dns_subdomain,
)

__all__ = [
    "REQUIRED",
    "check_azure_disk",
    "check_cinder",
    "check_csi",
    "check_disk",
    "check_fibre_channel",
    "check_flex",
    "check_flocker",
    "check_iscsi",
    "check_nfs",
    "check_quobyte",
    "check_required",
    "check_storageos",
]

PARTITION_MAX: Final = 255
LUN_MAX: Final = 255
TENANT_BYTES_MAX: Final = 64

# Field and wire name of what a source must say.
REQUIRED: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "aws_elastic_block_store": (("volume_id", "volumeID"),),
    "azure_disk": (("disk_name", "diskName"), ("disk_uri", "diskURI")),
    "azure_file": (("secret_name", "secretName"), ("share_name", "shareName")),
    "cephfs": (("monitors", "monitors"),),
    "cinder": (("volume_id", "volumeID"),),
    "flex_volume": (("driver", "driver"),),
    "gce_persistent_disk": (("pd_name", "pdName"),),
    "glusterfs": (("endpoints", "endpoints"), ("path", "path")),
    "nfs": (("server", "server"), ("path", "path")),
    "persistent_volume_claim": (("claim_name", "claimName"),),
    "photon_persistent_disk": (("pd_id", "pdID"),),
    "portworx_volume": (("volume_id", "volumeID"),),
    "rbd": (("monitors", "monitors"), ("image", "image")),
    "scale_io": (("gateway", "gateway"), ("system", "system"), ("volume_name", "volumeName")),
    "vsphere_volume": (("volume_path", "volumePath"),),
}


def check_required(found: Findings, source: Any, kind: str, path: str) -> None:
    """That what this kind of source must say is said."""
    for name, wire_name in REQUIRED.get(kind, ()):
        if not getattr(source, name):
            found.required(f"{path}.{wire_name}")


def check_disk(
    found: Findings,
    source: GCEPersistentDiskVolumeSource | AWSElasticBlockStoreVolumeSource,
    path: str,
) -> None:
    if not 0 <= source.partition <= PARTITION_MAX:
        # Upstream lets 0 pass all the same.
        detail = f"must be between 1 and {PARTITION_MAX}, inclusive"
        found.invalid(f"{path}.partition", source.partition, detail)


def check_nfs(found: Findings, source: NFSVolumeSource, path: str) -> None:
    if not source.path.startswith("/"):
        found.invalid(f"{path}.path", source.path, "must be an absolute path")


# iSCSI and Fibre Channel -----------------------------------------------------------------------

_INITIATORS: Final[Mapping[str, re.Pattern[str]]] = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\t\n\f\r ]+\Z", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}\Z"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}\Z"),
}


def check_iscsi(found: Findings, source: ISCSIVolumeSource, path: str) -> None:
    if not source.target_portal:
        found.required(f"{path}.targetPortal")
    if not source.iqn:
        found.required(f"{path}.iqn")
    else:
        _check_initiator(found, source.iqn, f"{path}.iqn")
    if not 0 <= source.lun <= LUN_MAX:
        found.invalid(f"{path}.lun", source.lun, _LUN)
    if (source.chap_auth_discovery or source.chap_auth_session) and source.secret_ref is None:
        found.required(f"{path}.secretRef")
    if source.initiator_name is not None:
        # Upstream's spelling.
        _check_initiator(found, source.initiator_name, f"{path}.initiatorname")


def _check_initiator(found: Findings, name: str, path: str) -> None:
    pattern = _INITIATORS.get(name[:3])
    if pattern is None:
        detail = "must be valid format starting with iqn, eui, or naa"
        found.invalid(path, name, detail)
    elif not pattern.search(name):
        found.invalid(path, name, "must be valid format")


_LUN: Final = f"must be between 0 and {LUN_MAX}, inclusive"


def check_fibre_channel(found: Findings, source: FCVolumeSource, path: str) -> None:
    targets = source.target_wwns
    if not targets and not source.wwids:
        detail = "must specify either targetWWNs or wwids, but not both"
        found.required(f"{path}.targetWWNs", detail)
    if targets and source.wwids:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        found.invalid(f"{path}.targetWWNs", list(targets), detail)
    if not targets:
        return
    if source.lun is None:
        found.required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif not 0 <= source.lun <= LUN_MAX:
        found.invalid(f"{path}.lun", source.lun, _LUN)


# Others ----------------------------------------------------------------------------------------

_PAIRS: Final = "must be a host:port pair or multiple pairs separated by commas"


def check_quobyte(found: Findings, source: QuobyteVolumeSource, path: str) -> None:
    if not source.registry:
        found.required(f"{path}.registry", _PAIRS)
    elif byte_length(source.tenant) > TENANT_BYTES_MAX:
        detail = "must be a UUID and may not exceed a length of 64 characters"
        found.required(f"{path}.tenant", detail)
    else:
        for pair in source.registry.split(","):
            if not _is_pair(pair):
                found.invalid(f"{path}.registry", source.registry, _PAIRS)
    if not source.volume:
        found.required(f"{path}.volume")


# Either may be empty; only brackets may hold colons, and only a host may have brackets.
_PAIR: Final = re.compile(r"(?:\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")


def _is_pair(text: str) -> bool:
    return _PAIR.fullmatch(text) is not None


def check_flocker(found: Findings, source: FlockerVolumeSource, path: str) -> None:
    if not source.dataset_name and not source.dataset_uuid:
        found.required(path, "one of datasetName and datasetUUID is required")
    if source.dataset_name and source.dataset_uuid:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        found.invalid(path, "resource", detail)
    if "/" in source.dataset_name:
        found.invalid(f"{path}.datasetName", source.dataset_name, "must not contain '/'")


def check_cinder(found: Findings, source: CinderVolumeSource, path: str) -> None:
    if source.secret_ref is not None and not source.secret_ref.name:
        found.required(f"{path}.secretRef.name")


def check_flex(found: Findings, source: FlexVolumeSource, path: str) -> None:
    for key in sorted(source.options):
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            found.invalid(f"{path}.options[{key}]", key, detail)


_CACHING_MODES: Final = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS: Final = ("Dedicated", "Managed", "Shared")
_MANAGED_DISKS: Final = "/providers/microsoft.compute/disks/{disk-id}"
_MANAGED_URI: Final = f"/subscriptions/{{sub-id}}/resourcegroups/{{group-name}}{_MANAGED_DISKS}"
_BLOB_URI: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def check_azure_disk(found: Findings, source: AzureDiskVolumeSource, path: str) -> None:
    if source.caching_mode is not None and source.caching_mode not in _CACHING_MODES:
        found.not_supported(f"{path}.cachingMode", source.caching_mode, _CACHING_MODES)
    if source.kind is None:
        return
    if source.kind not in _DISK_KINDS:
        found.not_supported(f"{path}.kind", source.kind, _DISK_KINDS)
    start, supported = "https://", _BLOB_URI
    if source.kind == "Managed":
        start, supported = "/subscriptions/", _MANAGED_URI
    if not source.disk_uri.startswith(start):
        found.not_supported(f"{path}.diskURI", source.disk_uri, (supported,))


def check_storageos(found: Findings, source: StorageOSVolumeSource, path: str) -> None:
    if not source.volume_name:
        found.required(f"{path}.volumeName")
    else:
        check_dns_label(found, source.volume_name, f"{path}.volumeName")
    if source.volume_namespace:
        check_dns_label(found, source.volume_namespace, f"{path}.volumeNamespace")
    if source.secret_ref is not None and not source.secret_ref.name:
        found.required(f"{path}.secretRef.name")


def check_csi(found: Findings, source: CSIVolumeSource, path: str) -> None:
    driver = source.driver
    if not driver:
        found.required(f"{path}.driver")
    else:
        if byte_length(driver) > DOMAIN_BYTES_MAX:
            found.too_long(f"{path}.driver", DOMAIN_BYTES_MAX)
        for message in names.dns_subdomain(driver.lower()):
            found.invalid(f"{path}.driver", driver, message)
    secret = source.node_publish_secret_ref
    if secret is None:
        return
    if not secret.name:
        found.required(f"{path}.nodePublishSecretRef.name")
    else:
        # Upstream names the source where it means the reference.
        check_dns_subdomain(found, secret.name, f"{path}.name")
