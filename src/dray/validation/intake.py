"""A new object on its way in: from a document to a verdict, as a server would have it.

`receive` is the whole way in one call: decode by what the document says it is, fill in defaults,
convert to the hub version, put it into a namespace, remove what is off, and apply the rules.
`validate_create` is only the last of these steps. An object that comes from a live cluster has a
status, which creating it ignores; it is checked as the status update that would write it.

Not here: reading files, authorization, anything that depends on other objects. Upstream
counterpart: what apiserver's create handler does before it stores anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from dray.api import scheme
from dray.api.apps import DaemonSet, Deployment, ReplicaSet
from dray.api.batch import Job
from dray.api.codec import parse_json
from dray.api.core import Pod
from dray.api.defaults import default
from dray.api.features import DEFAULT_GATES, FeatureGates
from dray.api.meta import Object
from dray.api.pod_strategy import prepare_pod_for_create
from dray.api.scheme import Kind, Version
from dray.api.strategy import (
    STRATEGIES,
    prepare_for_create,
    prepare_for_status_update,
    warnings_on_create,
)
from dray.api.wire import Time, replace
from dray.api.workload_strategy import prepare_workload_for_create
from dray.errors import FieldError
from dray.validation import validate_create, validate_status_update
from dray.validation.pod_warnings import warnings_on_write

__all__ = ["DEFAULT_NAMESPACE", "Received", "receive"]

# Where an object without a namespace of its own ends up.
DEFAULT_NAMESPACE: Final = "default"

RESOURCE_GROUP: Final = "resource.k8s.io"

# A server completes `generateName` with five characters, and cuts it so that the whole keeps
# within 63, before it looks at the name.
_GENERATED_SUFFIX: Final = "xxxxx"
_GENERATED_BASE_MAX: Final = 58

# A server has given a job its uid before it prepares it. Which one does not matter to any rule.
_SOME_UID: Final = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class Received:
    """A document that could be decoded, and all there is to say about it."""

    kind: Kind
    version: Version  # of the document
    decoded: Any  # as written, in that version
    object: Any  # at the hub version, defaults filled in, in its namespace
    errors: tuple[FieldError, ...]
    unknown: tuple[str, ...]  # JSON paths of fields no type declares
    duplicate: tuple[str, ...]  # JSON paths of fields written more than once
    warnings: tuple[str, ...]  # as a server would send along with its answer

    @property
    def valid(self) -> bool:
        """Whether a server that validates fields strictly, as kubectl asks for, would take it."""
        return not (self.errors or self.unknown or self.duplicate)


def receive(
    document: bytes | dict[str, Any],
    *,
    now: Time,
    gates: FeatureGates = DEFAULT_GATES,
    namespace: str = DEFAULT_NAMESPACE,
) -> Received:
    """What a server would say to creating this object. Raises DecodeError if it is none.

    The document is JSON, or what a parser made of JSON or YAML. `now` is what defaults that are
    times become.
    """
    value = parse_json(document) if isinstance(document, bytes) else document
    kind, version, decoded = scheme.decode_any(value)
    hub = scheme.to_hub(default(decoded.value, now=now))
    obj = _placed(kind, hub, namespace)
    requested = None if version is kind.hub else version.name
    return Received(
        kind=kind,
        version=version,
        decoded=decoded.value,
        object=obj,
        errors=tuple(_rule(kind, obj, requested, now=now, gates=gates)),
        unknown=decoded.unknown,
        duplicate=decoded.duplicate,
        warnings=tuple(_warnings(kind, hub)),
    )


def _placed(kind: Kind, obj: Object, namespace: str) -> Object:
    """The object where a request would put it: its namespace, and its name."""
    metadata = obj.metadata
    if not kind.namespaced:
        metadata = replace(metadata, namespace="")
    elif not metadata.namespace:
        metadata = replace(metadata, namespace=namespace)
    if metadata.generate_name and not metadata.name:
        name = metadata.generate_name[:_GENERATED_BASE_MAX] + _GENERATED_SUFFIX
        metadata = replace(metadata, name=name)
    return replace(obj, metadata=metadata)


def _rule(
    kind: Kind, obj: Object, version: str | None, *, now: Time, gates: FeatureGates
) -> Iterator[FieldError]:
    created = _created(kind, obj, now=now, gates=gates)
    errors = validate_create(created, gates=gates, version=version)
    yield from errors
    if kind.group == RESOURCE_GROUP and STRATEGIES[kind.name].has_status:
        told = {str(error) for error in errors}
        for error in _rule_on_status(obj, created, version, gates=gates):
            # A status update looks at the metadata again.
            if str(error) not in told:
                yield error


def _created(kind: Kind, obj: Any, *, now: Time, gates: FeatureGates) -> Object:
    """The object as it would be created."""
    if kind.group == RESOURCE_GROUP:
        prepared: Object = prepare_for_create(obj, gates=gates)
        return prepared
    if isinstance(obj, Pod):
        return prepare_pod_for_create(obj, gates=gates, now=now)
    if isinstance(obj, Job):
        metadata = replace(obj.metadata, uid=obj.metadata.uid or _SOME_UID)
        return prepare_workload_for_create(replace(obj, metadata=metadata), gates=gates)
    workload: Any = obj if isinstance(obj, (Deployment, ReplicaSet, DaemonSet)) else None
    other: Object = obj if workload is None else prepare_workload_for_create(workload, gates=gates)
    return other


def _rule_on_status(
    obj: Any, created: Any, version: str | None, *, gates: FeatureGates
) -> list[FieldError]:
    if obj.status == created.status:
        return []
    # What is being deleted may lose consumers but not gain any, and here it gains them all.
    metadata = replace(
        obj.metadata,
        resource_version=obj.metadata.resource_version or "1",
        deletion_timestamp=None,
    )
    new = replace(obj, metadata=metadata)
    old = replace(new, status=created.status)
    prepared = prepare_for_status_update(new, old, gates=gates)
    return validate_status_update(prepared, old, gates=gates, version=version)


def _warnings(kind: Kind, hub: Object) -> Iterator[str]:
    if not kind.namespaced and hub.metadata.namespace:
        yield f"metadata.namespace: ignored: a {kind.name} is in no namespace"
    yield from warnings_on_create(hub)
    yield from warnings_on_write(hub, None)
