"""What the parts that pods carry may leave out: volumes, probes, hooks.

A part with its defaults is also written as Go would write it: without empty lists, amounts in
their canonical spelling. So two pods that mean the same carry the same. Upstream counterpart:
pkg/apis/core/v1/defaults.go and the defaults that struct tags declare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from msgspec import Raw

from dray.api._edit import edit, edit_items
from dray.api.carried import (
    REMEMBERED_BYTES_MAX,
    REMEMBERED_PARTS_MAX,
    held_by,
    read_part,
    write_part,
)
from dray.api.core import Container, ObjectFieldSelector, PodSpec
from dray.api.core.parts import (
    AzureDiskVolumeSource,
    ConfigMapVolumeSource,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    EphemeralVolumeSource,
    GRPCAction,
    HostPathVolumeSource,
    HTTPGetAction,
    ImageVolumeSource,
    ISCSIVolumeSource,
    Lifecycle,
    LifecycleHandler,
    Probe,
    ProjectedVolumeSource,
    RBDVolumeSource,
    ScaleIOVolumeSource,
    SecretVolumeSource,
    Volume,
    VolumeProjection,
)
from dray.api.images import pull_policy_for
from dray.api.resource_lists import rounded_up
from dray.api.wire import Carried

__all__ = ["default_field_ref", "default_parts"]

FILE_MODE_DEFAULT: Final = 0o644
TOKEN_SECONDS_DEFAULT: Final = 3600
POD_VERSION_DEFAULT: Final = "v1"
VOLUME_MODE_DEFAULT: Final = "Filesystem"

PROBE_TIMEOUT_SECONDS_DEFAULT: Final = 1
PROBE_PERIOD_SECONDS_DEFAULT: Final = 10
PROBE_SUCCESS_THRESHOLD_DEFAULT: Final = 1
PROBE_FAILURE_THRESHOLD_DEFAULT: Final = 3


def default_parts(owner: PodSpec | Container) -> dict[str, Carried]:
    """The fields that carry a part, each with its defaults; a complete one comes back itself."""
    parts: dict[str, Carried] = {}
    for name, kind in held_by(type(owner)).items():
        carried: Carried = getattr(owner, name)
        if carried is not None:
            data = bytes(carried)
            settle = _settle if len(data) <= REMEMBERED_BYTES_MAX else _settle_anew
            settled = settle(kind, data)
            if settled is None or bytes(settled) != data:
                carried = settled
        parts[name] = carried
    return parts


def default_field_ref(reference: ObjectFieldSelector) -> ObjectFieldSelector:
    """The reference with the version of pods it speaks of."""
    return edit(reference, api_version=reference.api_version or POD_VERSION_DEFAULT)


def _settle_anew(kind: Any, data: bytes) -> Carried:
    part = read_part(Raw(data), kind)
    change = _BY_KIND.get(kind)
    return write_part(part if change is None or part is None else change(part))


_settle = lru_cache(maxsize=REMEMBERED_PARTS_MAX)(_settle_anew)


# Volumes ---------------------------------------------------------------------------------------


def _volume(volume: Volume) -> Volume:
    changes = {}
    empty = True
    for name in _SOURCES:
        source = getattr(volume, name)
        if source is None:
            continue
        empty = False
        change = _BY_SOURCE.get(name)
        if change is not None:
            changes[name] = change(source)
    if empty:
        changes["empty_dir"] = EmptyDirVolumeSource()
    return edit(volume, **changes)


def _moded(
    source: SecretVolumeSource | ConfigMapVolumeSource,
) -> SecretVolumeSource | ConfigMapVolumeSource:
    return edit(source, default_mode=_or(source.default_mode, FILE_MODE_DEFAULT))


def _downward(source: DownwardAPIVolumeSource) -> DownwardAPIVolumeSource:
    return edit(
        source,
        default_mode=_or(source.default_mode, FILE_MODE_DEFAULT),
        items=edit_items(source.items, _downward_file),
    )


def _downward_file(file: DownwardAPIVolumeFile) -> DownwardAPIVolumeFile:
    return edit(file, field_ref=file.field_ref and default_field_ref(file.field_ref))


def _projected(source: ProjectedVolumeSource) -> ProjectedVolumeSource:
    return edit(
        source,
        default_mode=_or(source.default_mode, FILE_MODE_DEFAULT),
        sources=source.sources and edit_items(source.sources, _projection),
    )


def _projection(projection: VolumeProjection) -> VolumeProjection:
    facts, token = projection.downward_api, projection.service_account_token
    return edit(
        projection,
        downward_api=facts and edit(facts, items=edit_items(facts.items, _downward_file)),
        service_account_token=token
        and edit(token, expiration_seconds=_or(token.expiration_seconds, TOKEN_SECONDS_DEFAULT)),
    )


def _host_path(source: HostPathVolumeSource) -> HostPathVolumeSource:
    return edit(source, type=_or(source.type, ""))


def _iscsi(source: ISCSIVolumeSource) -> ISCSIVolumeSource:
    return edit(source, iscsi_interface=source.iscsi_interface or "default")


def _rbd(source: RBDVolumeSource) -> RBDVolumeSource:
    return edit(
        source,
        pool=source.pool or "rbd",
        user=source.user or "admin",
        keyring=source.keyring or "/etc/ceph/keyring",
    )


def _azure_disk(source: AzureDiskVolumeSource) -> AzureDiskVolumeSource:
    return edit(
        source,
        caching_mode=_or(source.caching_mode, "ReadWrite"),
        fs_type=_or(source.fs_type, "ext4"),
        read_only=_or(source.read_only, False),
        kind=_or(source.kind, "Shared"),
    )


def _scale_io(source: ScaleIOVolumeSource) -> ScaleIOVolumeSource:
    return edit(
        source,
        storage_mode=source.storage_mode or "ThinProvisioned",
        fs_type=source.fs_type or "xfs",
    )


def _image(source: ImageVolumeSource) -> ImageVolumeSource:
    return edit(source, pull_policy=source.pull_policy or pull_policy_for(source.reference))


def _ephemeral(source: EphemeralVolumeSource) -> EphemeralVolumeSource:
    template = source.volume_claim_template
    if template is None:
        return source
    spec = template.spec
    resources = edit(
        spec.resources,
        limits=rounded_up(spec.resources.limits),
        requests=rounded_up(spec.resources.requests),
    )
    mode = _or(spec.volume_mode, VOLUME_MODE_DEFAULT)
    spec = edit(spec, volume_mode=mode, resources=resources)
    return edit(source, volume_claim_template=edit(template, spec=spec))


_SOURCES: Final = tuple(
    name for name in Volume.__struct_fields__ if name not in ("name", "unknown_fields")
)

_BY_SOURCE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "host_path": _host_path,
    "secret": _moded,
    "config_map": _moded,
    "downward_api": _downward,
    "projected": _projected,
    "iscsi": _iscsi,
    "rbd": _rbd,
    "azure_disk": _azure_disk,
    "scale_io": _scale_io,
    "ephemeral": _ephemeral,
    "image": _image,
}


# Probes and hooks ------------------------------------------------------------------------------


def _probe(probe: Probe) -> Probe:
    return edit(
        probe,
        timeout_seconds=probe.timeout_seconds or PROBE_TIMEOUT_SECONDS_DEFAULT,
        period_seconds=probe.period_seconds or PROBE_PERIOD_SECONDS_DEFAULT,
        success_threshold=probe.success_threshold or PROBE_SUCCESS_THRESHOLD_DEFAULT,
        failure_threshold=probe.failure_threshold or PROBE_FAILURE_THRESHOLD_DEFAULT,
        http_get=probe.http_get and _http_get(probe.http_get),
        grpc=probe.grpc and _grpc(probe.grpc),
    )


def _http_get(action: HTTPGetAction) -> HTTPGetAction:
    return edit(action, path=action.path or "/", scheme=action.scheme or "HTTP")


def _grpc(action: GRPCAction) -> GRPCAction:
    return edit(action, service=_or(action.service, ""))


def _lifecycle(lifecycle: Lifecycle) -> Lifecycle:
    def handler(handler: LifecycleHandler) -> LifecycleHandler:
        return edit(handler, http_get=handler.http_get and _http_get(handler.http_get))

    return edit(
        lifecycle,
        post_start=lifecycle.post_start and handler(lifecycle.post_start),
        pre_stop=lifecycle.pre_stop and handler(lifecycle.pre_stop),
    )


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _volumes(volumes: tuple[Volume, ...]) -> tuple[Volume, ...]:
    return edit_items(volumes, _volume)


_BY_KIND: Final[Mapping[Any, Callable[[Any], Any]]] = {
    tuple[Volume, ...]: _volumes,
    Probe: _probe,
    Lifecycle: _lifecycle,
}
