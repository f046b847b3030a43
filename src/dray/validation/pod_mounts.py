"""Where containers mount the pod's volumes.

Upstream counterparts: ValidateVolumeMounts and ValidateVolumeDevices in pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dray.api.core.parts import SecurityContext, Volume, VolumeDevice, VolumeMount
from dray.validation.file_paths import check_relative_path
from dray.validation.findings import Findings

__all__ = ["check_devices", "check_mounts"]

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE_READ_ONLY: Final = ("Disabled", "Enabled", "IfPossible")
_BIND_MOUNT_OPTIONS: Final = ("nodev", "noexec", "nosuid")


def check_mounts(
    found: Findings,
    mounts: Sequence[VolumeMount],
    devices: Sequence[VolumeDevice],
    volumes: Mapping[str, Volume],
    security: SecurityContext | None,
    path: str,
) -> None:
    by_device = {device.name: device.device_path for device in devices}
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        at = f"{path}[{index}]"
        if not mount.name:
            found.required(f"{at}.name")
        if mount.name not in volumes:
            found.not_found(f"{at}.name", mount.name)
        if not mount.mount_path:
            found.required(f"{at}.mountPath")
        if mount.mount_path in seen:
            found.invalid(f"{at}.mountPath", mount.mount_path, "must be unique")
        seen.add(mount.mount_path)
        if mount.name in by_device:
            found.invalid(f"{at}.name", mount.name, "must not already exist in volumeDevices")
        if mount.mount_path in by_device.values():
            detail = "must not already exist as a path in volumeDevices"
            found.invalid(f"{at}.mountPath", mount.mount_path, detail)
        _check_sub_path(found, mount, path, at)
        _check_propagation(found, mount, security, f"{path}.mountPropagation")
        _check_recursive_read_only(found, mount, f"{path}.recursiveReadOnly")
        _check_options(found, mount, volumes.get(mount.name), f"{at}.bindMountOptions")


def _check_sub_path(found: Findings, mount: VolumeMount, path: str, at: str) -> None:
    # Upstream names the list where it means the entry, here and for what follows.
    if mount.sub_path:
        check_relative_path(found, mount.sub_path, f"{path}.subPath")
    if mount.sub_path_expr:
        if mount.sub_path:
            detail = "subPathExpr and subPath are mutually exclusive"
            found.invalid(f"{at}.subPathExpr", mount.sub_path_expr, detail)
        check_relative_path(found, mount.sub_path_expr, f"{path}.subPathExpr")


def _check_propagation(
    found: Findings, mount: VolumeMount, security: SecurityContext | None, path: str
) -> None:
    propagation = mount.mount_propagation
    if propagation is None:
        return
    if propagation not in _PROPAGATIONS:
        found.not_supported(path, propagation, _PROPAGATIONS)
    if propagation == "Bidirectional" and not (security is not None and security.privileged):
        detail = "Bidirectional mount propagation is available only to privileged containers"
        found.forbidden(path, detail)


def _check_recursive_read_only(found: Findings, mount: VolumeMount, path: str) -> None:
    wanted = mount.recursive_read_only
    if wanted is None or wanted == "Disabled":
        return
    if wanted not in _RECURSIVE_READ_ONLY:
        found.not_supported(path, wanted, _RECURSIVE_READ_ONLY)
        return
    if not mount.read_only:
        found.forbidden(path, "may only be specified when readOnly is true")
    if mount.mount_propagation not in (None, "None"):
        detail = "may only be specified when mountPropagation is None or not specified"
        found.forbidden(path, detail)


def _check_options(found: Findings, mount: VolumeMount, volume: Volume | None, path: str) -> None:
    options = mount.bind_mount_options
    for index, option in enumerate(options):
        if option not in _BIND_MOUNT_OPTIONS:
            found.not_supported(f"{path}[{index}]", option, _BIND_MOUNT_OPTIONS)
        if option in options[:index]:
            found.duplicate(f"{path}[{index}]", option)
    if options and volume is not None and volume.image is not None:
        detail = "bindMountOptions may not be used with image volumes"
        found.invalid(path, list(options), detail)


def check_devices(
    found: Findings,
    devices: Sequence[VolumeDevice],
    mounts: Sequence[VolumeMount],
    volumes: Mapping[str, Volume],
    path: str,
) -> None:
    by_mount = {mount.name: mount.mount_path for mount in mounts}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(devices):
        name, where, at = device.name, device.device_path, f"{path}[{index}]"
        if not name:
            found.required(f"{at}.name")
        if name in names:
            found.invalid(f"{at}.name", name, "must be unique")
        volume = volumes.get(name)
        if volume is None:
            found.not_found(f"{at}.name", name)
        elif volume.persistent_volume_claim is None and volume.ephemeral is None:
            found.invalid(
                f"{at}.name",
                name,
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block "
                "mode",
            )
        if not where:
            found.required(f"{at}.devicePath")
        if where in paths:
            found.invalid(f"{at}.devicePath", where, "must be unique")
        if ".." in where.split("/"):
            found.invalid(f"{at}.devicePath", where, "can not contain backsteps ('..')")
        else:
            paths.add(where)
        if name in by_mount:
            found.invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if where in by_mount.values():
            detail = "must not already exist as a path in volumeMounts"
            found.invalid(f"{at}.devicePath", where, detail)
        if name:
            names.add(name)
