"""Scale: how many replicas a workload has, whatever kind of workload it is.

Upstream counterpart: ScaleREST in pkg/registry/apps/<kind>/storage.
"""

from __future__ import annotations

from typing import Any

from dray.api.apps import Scale, ScaleSpec, ScaleStatus
from dray.api.codec import decode_builtins, encode, parse_plain, to_builtins
from dray.api.labels import Selector
from dray.api.meta import ObjectMeta
from dray.api.wire import Time, replace
from dray.errors import BadRequest, DecodeError, FieldError, FieldErrorType, Invalid
from dray.http.messages import Answer
from dray.server.answers import document
from dray.server.call import Call
from dray.server.custom.scale import custom_scale, with_replicas
from dray.server.field_managers import applied_document
from dray.server.negotiation import PatchType, patch_type
from dray.server.options import WriteOptions, write_options
from dray.server.patching.json_patch import apply_json_patch
from dray.server.patching.merge_patch import apply_merge_patch
from dray.server.refusals import not_found
from dray.server.subresources.body import read_action
from dray.server.writing import Written, replace_object
from dray.server.yaml_bodies import parse_yaml, plain

__all__ = ["get_scale", "patch_scale", "scale_of", "update_scale"]


def scale_of(workload: Any) -> Scale:
    """The scale of a Deployment or a ReplicaSet."""
    metadata = workload.metadata
    selector = workload.spec.selector
    text = ""
    if selector is not None:
        clauses = [(each.key, each.operator, each.values) for each in selector.match_expressions]
        text = str(Selector.from_label_selector(selector.match_labels, clauses))
    return Scale(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            creation_timestamp=metadata.creation_timestamp,
        ),
        spec=ScaleSpec(replicas=workload.spec.replicas or 0),
        status=ScaleStatus(replicas=workload.status.replicas, selector=text),
    )


async def get_scale(call: Call) -> Answer:
    """The scale of a stored workload."""
    record = call.services.store.get(call.key())
    if record is None:
        raise not_found(call.resource, call.route.name)
    workload = call.model.load(record.value, record.revision)
    if call.resource.custom:
        return document(call, 200, encode(custom_scale(call.model, workload, required=True)))
    return document(call, 200, encode(scale_of(workload)))


async def update_scale(call: Call) -> Answer:
    """Set the number of replicas."""
    return await _write(call, "UpdateOptions", lambda _old: read_action(call, Scale))


async def patch_scale(call: Call) -> Answer:
    """Change the number of replicas by a patch of the scale."""
    kind = patch_type(call.request.headers.get("content-type", ""))

    def patched(old: Scale) -> Scale:
        base = to_builtins(old)
        patch = _patch(call, kind)
        if kind is PatchType.JSON:
            result = apply_json_patch(base, patch)
        else:
            # A scale has no lists that merge, so all ways of merging are one.
            result = apply_merge_patch(base, patch)
        try:
            return decode_builtins(result, Scale).value
        except DecodeError as error:
            raise BadRequest(f"Scale cannot be read: {error}") from error

    return await _write(call, "PatchOptions", patched)


def _patch(call: Call, kind: PatchType) -> Any:
    if kind is PatchType.APPLY:
        return plain(parse_yaml(call.request.body))
    try:
        return parse_plain(call.request.body)
    except DecodeError as error:
        raise BadRequest(f"error decoding patch: {error}") from error


async def _write(call: Call, options_kind: str, change: Any) -> Answer:
    applies = call.request.headers.get("content-type", "").startswith(PatchType.APPLY.value)
    options = write_options(
        call.request.query, options_kind, user_agent=call.user_agent, is_apply=applies
    )
    record = call.services.store.head(call.key())
    if record is None:
        raise not_found(call.resource, call.route.name)
    old = call.model.load(record.value, record.revision)
    wanted: Scale = change(_scale(call, old))
    if wanted.metadata.name != old.metadata.name:
        raise BadRequest(
            f"the name of the object ({wanted.metadata.name}) does not match the name on the URL "
            f"({old.metadata.name})"
        )
    replicas = wanted.spec.replicas
    if replicas < 0 and not call.resource.custom:
        told = "must be greater than or equal to 0"
        error = FieldError(FieldErrorType.INVALID, "spec.replicas", replicas, told)
        raise Invalid("autoscaling", "Scale", old.metadata.name, [error])

    now = call.now()

    def scaled(stored: Any) -> Any:
        if applies and not call.resource.custom:
            return _applied(call, stored, replicas, options, now)
        version = wanted.metadata.resource_version or stored.metadata.resource_version
        metadata = replace(stored.metadata, resource_version=version)
        if call.resource.custom:
            return with_replicas(call.model, replace(stored, metadata=metadata), replicas)
        return replace(stored, metadata=metadata, spec=replace(stored.spec, replicas=replicas))

    written: Written = await replace_object(
        call,
        record,
        scaled,
        options,
        now,
        subresource="scale",
        tracked=not applies or call.resource.custom,
    )
    revision = str(written.revision)
    shown = replace(
        written.object, metadata=replace(written.object.metadata, resource_version=revision)
    )
    return document(call, 200, encode(_scale(call, shown)))


def _applied(call: Call, stored: Any, replicas: int, options: WriteOptions, now: Time) -> Any:
    """The workload after its number of replicas, and nothing else, was applied to it."""
    resource = call.resource
    wanted = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": stored.metadata.name},
        "spec": {"replicas": replicas},
    }
    merged = applied_document(call, stored, wanted, options, now)
    return call.model.read(encode(merged), resource, now, encoded=True).object


def _scale(call: Call, workload: Any) -> Scale:
    return custom_scale(call.model, workload) if call.resource.custom else scale_of(workload)
