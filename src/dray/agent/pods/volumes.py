"""Volumes of a pod that need no storage driver: directories, and files the cluster writes.

Every volume becomes a path on the node, below the pod's own directory unless it is the node's. What
the kinds here cannot do is refused with a sentence, not left out. Upstream counterpart: pkg/volume
(emptydir, hostpath, configmap, secret, downwardapi, projected).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from dray.agent.pods.collaborators import API
from dray.agent.pods.downward import PodFacts, field_value, resource_value
from dray.agent.pods.environment import ObjectReader
from dray.agent.pods.mounts import mount_memory
from dray.agent.pods.service_tokens import ServiceTokens
from dray.agent.pods.starting import ConfigFailed
from dray.agent.pods.volume_files import VolumeFile, write_payload
from dray.api.carried import read_part
from dray.api.core import ConfigMap, Container, Pod, Secret
from dray.api.core.parts import (
    ConfigMapProjection,
    DownwardAPIVolumeFile,
    EmptyDirVolumeSource,
    HostPathVolumeSource,
    KeyToPath,
    PodSecurityContext,
    ProjectedVolumeSource,
    SecretProjection,
    SecurityContext,
    Volume,
    VolumeProjection,
)

__all__ = ["Volumes", "is_written", "refreshes", "volumes_of"]

FILE_MODE: Final = 0o644
TOKEN_MODE: Final = 0o600
SHARED_DIRECTORY_MODE: Final = 0o777

_WRITTEN: Final = {
    "config_map": "kubernetes.io~configmap",
    "secret": "kubernetes.io~secret",
    "downward_api": "kubernetes.io~downward-api",
    "projected": "kubernetes.io~projected",
}
_MEMORY: Final = "Memory"
_EMPTY_DIR: Final = "kubernetes.io~empty-dir"


def volumes_of(pod: Pod) -> Sequence[Volume]:
    """The volumes a pod has."""
    return read_part(pod.spec.volumes, tuple[Volume, ...]) or ()


def refreshes(pod: Pod) -> bool:
    """Whether any volume shows something that may change."""
    return any(is_written(volume) for volume in volumes_of(pod))


def is_written(volume: Volume) -> bool:
    """Whether the files of a volume are the cluster's; containers only read them."""
    return any(getattr(volume, member) is not None for member in _WRITTEN)


class Volumes:
    """Makes volumes below one directory."""

    def __init__(
        self, api: API, tokens: ServiceTokens, root: Path, *, can_mount: bool = False
    ) -> None:
        """`can_mount`: whether there can be volumes in memory."""
        self._can_mount = can_mount
        self._api = api
        self._tokens = tokens
        self._root = root

    def path_of(self, pod: Pod, volume: Volume) -> Path:
        """Where a volume is."""
        base = self._root / "pods" / pod.metadata.uid / "volumes"
        if volume.host_path is not None:
            return Path(volume.host_path.path)
        for member, folder in _WRITTEN.items():
            if getattr(volume, member) is not None:
                return base / folder / volume.name
        return base / _EMPTY_DIR / volume.name

    async def make(self, pod: Pod, facts: PodFacts) -> None:
        """Have all volumes of a pod as they should be now; raises ConfigFailed."""
        group = _group(pod)
        reader = ObjectReader(self._api, pod.metadata.namespace)
        for volume in volumes_of(pod):
            path = self.path_of(pod, volume)
            try:
                if volume.host_path is not None:
                    await asyncio.to_thread(_check_host_path, path, volume.host_path)
                elif volume.empty_dir is not None:
                    # Not in a thread, which could go on mounting after the pod was cleaned up.
                    self._make_empty(volume.name, path, volume.empty_dir, group)
                else:
                    payload = await self._payload(pod, volume, facts, reader)
                    await asyncio.to_thread(write_payload, path, payload, group=group)
            except OSError as error:
                raise ConfigFailed(f'volume "{volume.name}": {error}') from error

    def _make_empty(
        self, name: str, path: Path, source: EmptyDirVolumeSource, group: int | None
    ) -> None:
        mode = SHARED_DIRECTORY_MODE if source.mode is None else source.mode
        if not source.medium:
            _make_directory(path, mode, group)
            return
        what = f'volume "{name}": emptyDir in {source.medium}'
        if source.medium != _MEMORY:
            raise ConfigFailed(f"{what} is not supported on this node")
        if not self._can_mount:
            raise ConfigFailed(f"{what} needs the right to mount, which this node does not have")
        if not path.is_mount():
            path.mkdir(parents=True, exist_ok=True)
            size = 0 if source.size_limit is None else source.size_limit.value()
            mount_memory(path, mode=mode, group=group, bytes_max=size)

    async def _payload(
        self, pod: Pod, volume: Volume, facts: PodFacts, reader: ObjectReader
    ) -> Mapping[str, VolumeFile]:
        if volume.projected is not None:
            return await self._projected(pod, volume.projected, facts, reader)
        source: VolumeProjection
        mode: int | None
        if volume.config_map is not None:
            config = volume.config_map
            mode = config.default_mode
            source = VolumeProjection(
                config_map=ConfigMapProjection(
                    name=config.name, items=config.items, optional=config.optional
                )
            )
        elif volume.secret is not None:
            secret = volume.secret
            mode = secret.default_mode
            source = VolumeProjection(
                secret=SecretProjection(
                    name=secret.secret_name, items=secret.items, optional=secret.optional
                )
            )
        elif volume.downward_api is not None:
            mode = volume.downward_api.default_mode
            items = volume.downward_api.items
            return _downward(items, pod, facts, _mode(mode))
        else:
            raise ConfigFailed(
                f'volume "{volume.name}": {_kind(volume)} volumes are not supported on this node'
            )
        return await self._project(pod, source, facts, reader, _mode(mode))

    async def _projected(
        self, pod: Pod, projected: ProjectedVolumeSource, facts: PodFacts, reader: ObjectReader
    ) -> Mapping[str, VolumeFile]:
        found: dict[str, VolumeFile] = {}
        for source in projected.sources or ():
            mode = _mode(projected.default_mode)
            found |= await self._project(pod, source, facts, reader, mode)
        return found

    async def _project(
        self,
        pod: Pod,
        source: VolumeProjection,
        facts: PodFacts,
        reader: ObjectReader,
        mode: int,
    ) -> Mapping[str, VolumeFile]:
        if source.config_map is not None:
            projection = source.config_map
            optional = bool(projection.optional)
            config = await reader.config_map(projection.name, optional=optional)
            entries = _config_entries(config) if config is not None else {}
            noun = f"configmap {pod.metadata.namespace}/{projection.name}"
            return _pick(entries, projection.items, noun, mode, optional=optional)
        if source.secret is not None:
            secret_projection = source.secret
            optional = bool(secret_projection.optional)
            secret = await reader.secret(secret_projection.name, optional=optional)
            entries = _secret_entries(secret) if secret is not None else {}
            noun = f"secret {pod.metadata.namespace}/{secret_projection.name}"
            return _pick(entries, secret_projection.items, noun, mode, optional=optional)
        if source.downward_api is not None:
            return _downward(source.downward_api.items, pod, facts, mode)
        if source.service_account_token is not None:
            token = await self._tokens.token(pod, source.service_account_token)
            # Where it is known who reads the token, nobody else does.
            user = _user(pod)
            if user is not None or _group(pod) is not None:
                mode = TOKEN_MODE
            return {source.service_account_token.path: VolumeFile(token.encode(), mode, user)}
        raise ConfigFailed(f"{_kind(source)} projections are not supported on this node")


# What goes into files --------------------------------------------------------------------------


def _config_entries(config: ConfigMap) -> dict[str, bytes]:
    try:
        binary = {key: base64.b64decode(value) for key, value in config.binary_data.items()}
    except binascii.Error as error:
        raise ConfigFailed(f"configmap {config.metadata.name} is not base64") from error
    return {key: value.encode() for key, value in config.data.items()} | binary


def _secret_entries(secret: Secret) -> dict[str, bytes]:
    try:
        return {key: base64.b64decode(value) for key, value in secret.data.items()}
    except binascii.Error as error:
        raise ConfigFailed(f"secret {secret.metadata.name} is not base64") from error


def _pick(
    entries: Mapping[str, bytes],
    items: Sequence[KeyToPath],
    noun: str,
    mode: int,
    *,
    optional: bool,
) -> Mapping[str, VolumeFile]:
    """All entries as files of their names, or the listed ones as the files they are to be."""
    if not items:
        return {key: VolumeFile(data, mode) for key, data in entries.items()}
    found = {}
    for item in items:
        if item.key in entries:
            found[item.path] = VolumeFile(entries[item.key], _mode(item.mode, mode))
        elif not optional:
            raise ConfigFailed(f"{noun} references non-existent config key: {item.key}")
    return found


def _downward(
    items: Sequence[DownwardAPIVolumeFile], pod: Pod, facts: PodFacts, mode: int
) -> Mapping[str, VolumeFile]:
    found = {}
    for item in items:
        if item.field_ref is not None:
            text = field_value(item.field_ref, pod, facts)
        elif item.resource_field_ref is not None:
            nobody = Container(name="")
            text = resource_value(item.resource_field_ref, pod, nobody, facts)
        else:
            raise ConfigFailed(f"file {item.path} of the downward API has no source")
        found[item.path] = VolumeFile(text.encode(), _mode(item.mode, mode))
    return found


def _group(pod: Pod) -> int | None:
    """The group whose the files of a pod are."""
    security = read_part(pod.spec.security_context, PodSecurityContext)
    return None if security is None else security.fs_group


def _user(pod: Pod) -> int | None:
    """Whom all containers of a pod run as, if that is said and is the same for all."""
    of_pod = read_part(pod.spec.security_context, PodSecurityContext) or PodSecurityContext()
    users = set()
    for container in (*pod.spec.init_containers, *(pod.spec.containers or ())):
        own = read_part(container.security_context, SecurityContext) or SecurityContext()
        users.add(of_pod.run_as_user if own.run_as_user is None else own.run_as_user)
    return users.pop() if len(users) == 1 else None


def _mode(mode: int | None, default: int = FILE_MODE) -> int:
    return default if mode is None else mode


def _kind(source: Volume | VolumeProjection) -> str:
    """The name of the member that is set, as manifests write it."""
    for field in msgspec.structs.fields(type(source)):
        if field.name not in ("name", "unknown_fields") and getattr(source, field.name) is not None:
            return field.encode_name
    return "unknown"


# Directories -----------------------------------------------------------------------------------


def _make_directory(path: Path, mode: int, group: int | None) -> None:
    if path.is_dir():
        return
    path.mkdir(parents=True)
    path.chmod(mode)
    if group is not None and os.geteuid() == 0:
        os.chown(path, -1, group)


def _check_host_path(path: Path, source: HostPathVolumeSource) -> None:
    kind = source.type or ""
    if not path.is_absolute():
        # It would be somewhere below wherever the agent was started.
        raise ConfigFailed(f"hostPath {source.path!r} must be an absolute path")
    if "\0" in source.path:
        raise ConfigFailed(f"hostPath {source.path!r} has a NUL character, which no path has")
    if kind == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True, mode=0o755)
    elif kind == "FileOrCreate" and not path.exists():
        path.touch(mode=0o644)
    checks = {
        "Directory": (path.is_dir, "a directory"),
        "DirectoryOrCreate": (path.is_dir, "a directory"),
        "File": (path.is_file, "a file"),
        "FileOrCreate": (path.is_file, "a file"),
        "Socket": (path.is_socket, "a socket file"),
        "CharDevice": (path.is_char_device, "a character device"),
        "BlockDevice": (path.is_block_device, "a block device"),
    }
    if kind in checks:
        is_right, noun = checks[kind]
        if not is_right():
            raise ConfigFailed(f"hostPath type check failed: {path} is not {noun}")
