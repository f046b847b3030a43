"""The scale of a custom object, found where its definition says.

Upstream counterpart: ScaleREST in apiextensions-apiserver pkg/registry/customresource.
"""

from __future__ import annotations

from typing import Any

from dray.api.apiextensions import CustomResourceSubresourceScale
from dray.api.apps import Scale, ScaleSpec, ScaleStatus
from dray.api.meta import ObjectMeta
from dray.api.wire import UnknownFields, replace
from dray.errors import APIError, BadRequest, Cause, InternalError, StatusDetails, quote
from dray.server.custom.model import CustomModel
from dray.server.custom.scale_rules import ABSENT, WrongPlace, integer_at, steps, text_at
from dray.server.custom.unstructured import Unstructured, fresh
from dray.server.models.model import Model

__all__ = ["custom_scale", "with_replicas"]


def _paths(model: Model) -> CustomResourceSubresourceScale:
    if not isinstance(model, CustomModel) or model.version.scale is None:
        raise InternalError("a resource without a scale was asked for it")
    return model.version.scale


def custom_scale(model: Model, obj: Unstructured, *, required: bool = False) -> Scale:
    """The scale of an object; one that says no number of replicas has none, if `required`.

    Raises BadRequest if what is there is no number.
    """
    paths, content, metadata = _paths(model), obj.content, obj.metadata
    try:
        wanted = integer_at(content, paths.spec_replicas_path)
        found = integer_at(content, paths.status_replicas_path)
        selector: Any = ABSENT
        if paths.label_selector_path:
            selector = text_at(content, paths.label_selector_path)
    except WrongPlace as error:
        raise BadRequest(str(error)) from error
    if wanted is ABSENT and required:
        path = quote(paths.spec_replicas_path)
        told = f"the spec replicas field {path} does not exist"
        details = StatusDetails(causes=(Cause(message=told),))
        raise APIError(f"Internal error occurred: {told}", details)
    return Scale(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            creation_timestamp=metadata.creation_timestamp,
        ),
        spec=ScaleSpec(replicas=0 if wanted is ABSENT else wanted),
        status=ScaleStatus(
            replicas=0 if found is ABSENT else found,
            selector="" if selector is ABSENT else selector,
        ),
    )


def with_replicas(model: Model, obj: Unstructured, replicas: int) -> Unstructured:
    """The object with another number of replicas."""
    content = fresh(obj.content)
    *parents, last = steps(_paths(model).spec_replicas_path)
    place: dict[str, Any] = content
    for name in parents:
        place = place.setdefault(name, {})
        if not isinstance(place, dict):
            raise BadRequest(f"{name} of the object is no place for a number of replicas")
    place[last] = replicas
    return replace(obj, unknown_fields=UnknownFields(content))
