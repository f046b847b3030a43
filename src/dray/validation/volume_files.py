"""Volumes whose files the cluster writes: secrets, config maps, facts of the pod, projections.

Upstream counterparts: validateSecretVolumeSource, validateProjectionSources and the like in
pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api.core.parts import (
    ConfigMapProjection,
    ConfigMapVolumeSource,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    KeyToPath,
    ProjectedVolumeSource,
    SecretProjection,
    SecretVolumeSource,
    ServiceAccountTokenProjection,
    VolumeProjection,
)
from dray.validation.file_paths import check_local_path
from dray.validation.findings import Findings
from dray.validation.pod_environment import check_field_ref, check_resource_ref
from dray.validation.pod_leniency import Leniency
from dray.validation.user_ids import check_user_id
from dray.validation.volume_certificates import check_pod_certificate, check_trust_bundle

__all__ = ["check_config_map", "check_downward_api", "check_projected", "check_secret"]

FILE_MODE_MAX: Final = 0o777
TOKEN_SECONDS_MIN: Final = 600
TOKEN_SECONDS_MAX: Final = 2**32

_FACTS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)


def check_secret(found: Findings, source: SecretVolumeSource, path: str) -> None:
    if not source.secret_name:
        found.required(f"{path}.secretName")
    _check_defaults(found, source.default_mode, source.default_user, path)
    _check_keys(found, source.items, f"{path}.items")


def check_config_map(found: Findings, source: ConfigMapVolumeSource, path: str) -> None:
    if not source.name:
        found.required(f"{path}.name")
    _check_defaults(found, source.default_mode, source.default_user, path)
    _check_keys(found, source.items, f"{path}.items")


def check_downward_api(found: Findings, source: DownwardAPIVolumeSource, path: str) -> None:
    _check_defaults(found, source.default_mode, source.default_user, path)
    for file in source.items:
        # Upstream names the volume where it means the file.
        _check_file(found, file, path)


def _check_defaults(found: Findings, mode: int | None, user: int | None, path: str) -> None:
    _check_mode(found, mode, f"{path}.defaultMode")
    check_user_id(found, user, f"{path}.defaultUser")


def _check_mode(found: Findings, mode: int | None, path: str) -> None:
    if mode is not None and not 0 <= mode <= FILE_MODE_MAX:
        found.invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive")


def _check_keys(found: Findings, items: Sequence[KeyToPath], path: str) -> None:
    for index, item in enumerate(items):
        _check_key(found, item, f"{path}[{index}]")


def _check_key(found: Findings, item: KeyToPath, path: str) -> None:
    if not item.key:
        found.required(f"{path}.key")
    if not item.path:
        found.required(f"{path}.path")
    check_local_path(found, item.path, f"{path}.path")
    _check_mode(found, item.mode, f"{path}.mode")
    check_user_id(found, item.user, f"{path}.user")


def _check_file(found: Findings, file: DownwardAPIVolumeFile, path: str) -> None:
    if not file.path:
        found.required(f"{path}.path")
    check_local_path(found, file.path, f"{path}.path")
    if file.field_ref is not None:
        check_field_ref(found, file.field_ref, _FACTS, f"{path}.fieldRef")
        if file.resource_field_ref is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            found.invalid(path, "resource", detail)
    elif file.resource_field_ref is not None:
        at = f"{path}.resourceFieldRef"
        check_resource_ref(found, file.resource_field_ref, at, in_file=True)
    else:
        found.required(path, "one of fieldRef and resourceFieldRef is required")
    _check_mode(found, file.mode, f"{path}.mode")
    check_user_id(found, file.user, f"{path}.user")


# Several sources in one directory --------------------------------------------------------------


class _Directory:
    """The files that sources of a projected volume put there; one path, one file."""

    def __init__(self, found: Findings, path: str) -> None:
        self._found = found
        self._path = path
        self._taken: set[str] = set()

    def take(self, file: str, shown: str) -> None:
        """A source puts a file here; of two at one path, `shown` names the later."""
        if file in self._taken:
            self._found.invalid(self._path, shown, "conflicting duplicate paths")
        self._taken.add(file)


def check_projected(
    found: Findings, source: ProjectedVolumeSource, path: str, leniency: Leniency
) -> None:
    _check_defaults(found, source.default_mode, source.default_user, path)
    directory = _Directory(found, path)
    for index, projection in enumerate(source.sources or ()):
        at = f"{path}.sources[{index}]"
        _check_projection(found, projection, directory, path, at, leniency)
        given = sum(getattr(projection, name) is not None for name in _PROJECTIONS)
        if given > 1:
            found.forbidden(at, "may not specify more than 1 volume type per source")


_PROJECTIONS: Final = tuple(
    name for name in VolumeProjection.__struct_fields__ if name != "unknown_fields"
)


def _check_projection(
    found: Findings,
    projection: VolumeProjection,
    directory: _Directory,
    path: str,
    at: str,
    leniency: Leniency,
) -> None:
    if projection.secret is not None:
        _check_projected_keys(found, projection.secret, directory, f"{at}.secret")
    if projection.config_map is not None:
        _check_projected_keys(found, projection.config_map, directory, f"{at}.configMap")
    if projection.downward_api is not None:
        for file in projection.downward_api.items:
            _check_file(found, file, f"{at}.downwardAPI")
            if file.path:
                directory.take(file.path, file.path)
    if projection.service_account_token is not None:
        token = projection.service_account_token
        _check_token(found, token, path, f"{at}.serviceAccountToken", leniency)
    if projection.cluster_trust_bundle is not None:
        bundle = projection.cluster_trust_bundle
        check_trust_bundle(found, bundle, f"{at}.clusterTrustBundle")
        directory.take(bundle.path, bundle.path)
    if projection.pod_certificate is not None:
        certificate = projection.pod_certificate
        at = f"{at}.podCertificate"
        check_pod_certificate(found, certificate, at)
        files = (
            ("credentialBundlePath", certificate.credential_bundle_path),
            ("keyPath", certificate.key_path),
            ("certificateChainPath", certificate.certificate_chain_path),
        )
        for name, text in files:
            if text:
                check_local_path(found, text, f"{at}.{name}")
                directory.take(text, text)
        if not any(text for _, text in files):
            detail = (
                "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
            )
            found.required(at, detail)


def _check_projected_keys(
    found: Findings,
    source: SecretProjection | ConfigMapProjection,
    directory: _Directory,
    path: str,
) -> None:
    if not source.name:
        found.required(f"{path}.name")
    for index, item in enumerate(source.items):
        _check_key(found, item, f"{path}.items[{index}]")
        if item.path:
            directory.take(item.path, source.name)


def _check_token(
    found: Findings,
    token: ServiceAccountTokenProjection,
    path: str,
    at: str,
    leniency: Leniency,
) -> None:
    seconds = token.expiration_seconds
    if seconds is None:
        found.required(f"{at}.expirationSeconds")
    elif seconds < TOKEN_SECONDS_MIN:
        detail = "may not specify a duration less than 10 minutes"
        found.invalid(f"{at}.expirationSeconds", seconds, detail)
    elif seconds > TOKEN_SECONDS_MAX:
        detail = "may not specify a duration larger than 2^32 seconds"
        found.invalid(f"{at}.expirationSeconds", seconds, detail)
    # Upstream names the volume where it means the source.
    if not token.path:
        found.required(f"{path}.path")
    elif not leniency.any_token_path:
        check_local_path(found, token.path, f"{path}.path")
    check_user_id(found, token.user, f"{at}.user")
