"""Fields inside carried parts whose features are off: removed, unless the stored pod has them.

Each feature is an alpha of Kubernetes 1.37 that dray does not build, so its gate is always off. A
feature is in use where removing it would change something. Upstream counterpart:
dropDisabledFields in pkg/api/pod/util.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import Any, Final, TypeVar

from msgspec import Raw

from dray.api._edit import edit, edit_items
from dray.api.carried import (
    REMEMBERED_BYTES_MAX,
    REMEMBERED_PARTS_MAX,
    held_by,
    read_part,
    write_part,
)
from dray.api.core import Container, PodSpec
from dray.api.core.parts import (
    HTTPGetAction,
    Lifecycle,
    LifecycleHandler,
    Probe,
    Volume,
    VolumeMount,
    VolumeProjection,
)
from dray.api.wire import Struct

__all__ = ["PartFeature", "drop_disabled_parts"]

C = TypeVar("C", bound=Container)
S = TypeVar("S", bound=Struct)


class PartFeature(Enum):
    """What is off, by upstream's names."""

    ATOMIC_WRITE_VOLUME_USER_FIELDS = auto()
    CONTAINER_STOP_SIGNALS = auto()
    EMPTY_DIR_VOLUME_MODE = auto()
    GRPC_CONTAINER_PROBE_TLS = auto()
    H2C_CONTAINER_PROBE = auto()
    VOLUME_BIND_MOUNT_OPTIONS = auto()


Features = frozenset[PartFeature]

_ALL: Final = frozenset(PartFeature)


def drop_disabled_parts(new: PodSpec, old: PodSpec | None) -> PodSpec:
    """The spec, of a pod or of a template, without what is off."""
    stripped = _strip(new, _ALL)
    if stripped is new or old is None:
        return stripped
    unused = frozenset(
        feature for feature in PartFeature if _strip(old, frozenset({feature})) is old
    )
    return stripped if unused == _ALL else _strip(new, unused)


def _strip(spec: PodSpec, off: Features) -> PodSpec:
    def container(container: C) -> C:
        return _strip_parts(container, off)

    spec = _strip_parts(spec, off)
    return edit(
        spec,
        containers=spec.containers and edit_items(spec.containers, container),
        init_containers=edit_items(spec.init_containers, container),
        ephemeral_containers=edit_items(spec.ephemeral_containers, container),
    )


def _strip_parts(owner: S, off: Features) -> S:
    changes = {}
    for name, kind in held_by(type(owner)).items():
        strip = _BY_KIND.get(kind)
        carried = getattr(owner, name)
        if strip is None or carried is None or not _may_change(kind, bytes(carried)):
            continue
        part = read_part(carried, kind)
        stripped = None if part is None else strip(part, off)
        if stripped is not part:
            changes[name] = write_part(stripped)
    return edit(owner, **changes) if changes else owner


def _may_change(kind: Any, data: bytes) -> bool:
    return len(data) > REMEMBERED_BYTES_MAX or _changes(kind, data)


# Hardly any part has what is off, and pods of one template carry the same parts.
@lru_cache(maxsize=REMEMBERED_PARTS_MAX)
def _changes(kind: Any, data: bytes) -> bool:
    part = read_part(Raw(data), kind)
    return part is not None and _BY_KIND[kind](part, _ALL) is not part


# Volumes ---------------------------------------------------------------------------------------


def _volumes(volumes: tuple[Volume, ...], off: Features) -> tuple[Volume, ...]:
    def strip(volume: Volume) -> Volume:
        if PartFeature.EMPTY_DIR_VOLUME_MODE in off and volume.empty_dir is not None:
            volume = edit(volume, empty_dir=edit(volume.empty_dir, mode=None))
        return _without_users(volume) if _USERS in off else volume

    return edit_items(volumes, strip)


_USERS: Final = PartFeature.ATOMIC_WRITE_VOLUME_USER_FIELDS


def _without_users(volume: Volume) -> Volume:
    for name in ("secret", "config_map", "downward_api"):
        source = getattr(volume, name)
        if source is not None:
            source = edit(source, default_user=None, items=edit_items(source.items, _userless))
            return edit(volume, **{name: source})
    projected = volume.projected
    if projected is None:
        return volume
    sources = projected.sources and edit_items(projected.sources, _projection)
    return edit(volume, projected=edit(projected, default_user=None, sources=sources))


def _projection(projection: VolumeProjection) -> VolumeProjection:
    changes = {}
    for name in ("secret", "config_map", "downward_api"):
        source = getattr(projection, name)
        if source is not None:
            changes[name] = edit(source, items=edit_items(source.items, _userless))
    for name in ("service_account_token", "cluster_trust_bundle", "pod_certificate"):
        source = getattr(projection, name)
        if source is not None:
            changes[name] = _userless(source)
    return edit(projection, **changes)


def _userless(item: S) -> S:
    return edit(item, user=None)


def _mounts(mounts: tuple[VolumeMount, ...], off: Features) -> tuple[VolumeMount, ...]:
    if PartFeature.VOLUME_BIND_MOUNT_OPTIONS not in off:
        return mounts
    return edit_items(mounts, lambda mount: edit(mount, bind_mount_options=()))


# Probes and hooks ------------------------------------------------------------------------------


def _probe(probe: Probe, off: Features) -> Probe:
    if PartFeature.GRPC_CONTAINER_PROBE_TLS in off and probe.grpc is not None:
        probe = edit(probe, grpc=edit(probe.grpc, mode=None))
    return edit(probe, http_get=_http_get(probe.http_get, off))


def _http_get(action: HTTPGetAction | None, off: Features) -> HTTPGetAction | None:
    if action is None or PartFeature.H2C_CONTAINER_PROBE not in off:
        return action
    return edit(action, protocol=None)


def _lifecycle(lifecycle: Lifecycle, off: Features) -> Lifecycle | None:
    def handler(handler: LifecycleHandler | None) -> LifecycleHandler | None:
        return handler and edit(handler, http_get=_http_get(handler.http_get, off))

    if PartFeature.CONTAINER_STOP_SIGNALS in off and lifecycle.stop_signal is not None:
        lifecycle = edit(lifecycle, stop_signal=None)
        if lifecycle == Lifecycle():
            return None
    return edit(
        lifecycle, post_start=handler(lifecycle.post_start), pre_stop=handler(lifecycle.pre_stop)
    )


_BY_KIND: Final[Mapping[Any, Callable[[Any, Features], Any]]] = {
    tuple[Volume, ...]: _volumes,
    tuple[VolumeMount, ...]: _mounts,
    Probe: _probe,
    Lifecycle: _lifecycle,
}
