"""Volumes whose files the cluster itself writes: secrets, configuration, tokens, facts of the pod.

Upstream counterpart: the volume sources and projections in k8s.io/api/core/v1.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from dray.api.core._environment import ObjectFieldSelector, ResourceFieldSelector
from dray.api.meta import LabelSelector
from dray.api.wire import Int32, Int64, Struct, always

__all__ = [
    "ClusterTrustBundleProjection",
    "ConfigMapProjection",
    "ConfigMapVolumeSource",
    "DownwardAPIProjection",
    "DownwardAPIVolumeFile",
    "DownwardAPIVolumeSource",
    "KeyToPath",
    "PodCertificateProjection",
    "ProjectedVolumeSource",
    "SecretProjection",
    "SecretVolumeSource",
    "ServiceAccountTokenProjection",
    "VolumeProjection",
]


class KeyToPath(Struct):
    """The file that one key becomes."""

    key: str = always("")
    path: str = always("")
    mode: Int32 | None = None
    user: Int64 | None = None


class SecretVolumeSource(Struct):
    """A secret, a file for each key."""

    secret_name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: Int32 | None = None
    optional: bool | None = None
    default_user: Int64 | None = None


class ConfigMapVolumeSource(Struct):
    """A config map, a file for each key."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: Int32 | None = None
    optional: bool | None = None
    default_user: Int64 | None = None


class DownwardAPIVolumeFile(Struct):
    """The file that one fact of the pod becomes."""

    path: str = always("")
    field_ref: ObjectFieldSelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    mode: Int32 | None = None
    user: Int64 | None = None


class DownwardAPIVolumeSource(Struct):
    """Facts of the pod."""

    items: tuple[DownwardAPIVolumeFile, ...] = ()
    default_mode: Int32 | None = None
    default_user: Int64 | None = None


class SecretProjection(Struct):
    """A secret among other sources."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None


class ConfigMapProjection(Struct):
    """A config map among other sources."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None


class DownwardAPIProjection(Struct):
    """Facts of the pod among other sources."""

    items: tuple[DownwardAPIVolumeFile, ...] = ()


class ServiceAccountTokenProjection(Struct):
    """A token of the pod's service account."""

    audience: str = ""
    expiration_seconds: Int64 | None = None
    path: str = always("")
    user: Int64 | None = None


class ClusterTrustBundleProjection(Struct):
    """Certificates to trust, by name or by signer."""

    name: str | None = None
    signer_name: str | None = None
    label_selector: LabelSelector | None = None
    optional: bool | None = None
    path: str = always("")
    user: Int64 | None = None


class PodCertificateProjection(Struct):
    """A key, and a certificate a signer issued for it."""

    signer_name: str = ""
    key_type: str = ""
    max_expiration_seconds: Int32 | None = None
    credential_bundle_path: str = ""
    key_path: str = ""
    certificate_chain_path: str = ""
    user_annotations: Mapping[str, str] = field(default_factory=dict)
    user: Int64 | None = None


class VolumeProjection(Struct):
    """One source of several; one member is set."""

    secret: SecretProjection | None = None
    downward_api: DownwardAPIProjection | None = field(default=None, name="downwardAPI")
    config_map: ConfigMapProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None
    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    pod_certificate: PodCertificateProjection | None = None


class ProjectedVolumeSource(Struct):
    """Several sources in one directory."""

    sources: tuple[VolumeProjection, ...] | None = always(None)
    default_mode: Int32 | None = None
    default_user: Int64 | None = None
