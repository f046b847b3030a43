"""What a question about access must look like to be answered.

Upstream counterpart: pkg/apis/authorization/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dray.api import names
from dray.api.authorization import (
    FieldSelectorAttributes,
    FieldSelectorRequirement,
    LabelSelectorAttributes,
    NonResourceAttributes,
    ResourceAttributes,
    SelfSubjectAccessReviewSpec,
    SubjectAccessReviewSpec,
)
from dray.api.codec import to_builtins
from dray.api.meta import LabelSelectorRequirement, ObjectMeta
from dray.api.wire import replace
from dray.errors import FieldError, FieldErrorType

__all__ = ["check_access_review", "check_local_access_review", "check_self_access_review"]

_RESOURCE: Final = "spec.resourceAttributes"
_INVALID, _REQUIRED = FieldErrorType.INVALID, FieldErrorType.REQUIRED
_LISTS: Final = ("In", "NotIn")
_UNARY: Final = ("Exists", "DoesNotExist")


def check_access_review(metadata: ObjectMeta, spec: SubjectAccessReviewSpec) -> list[FieldError]:
    """What is wrong with a question about anybody."""
    return [*_check_spec(spec), *_check_metadata(metadata, metadata, "must be empty")]


def check_self_access_review(
    metadata: ObjectMeta, spec: SelfSubjectAccessReviewSpec
) -> list[FieldError]:
    """What is wrong with a question about the asker."""
    return [
        *_check_union(spec.resource_attributes, spec.non_resource_attributes),
        *_check_resource(spec.resource_attributes),
        *_check_metadata(metadata, metadata, "must be empty"),
    ]


def check_local_access_review(
    metadata: ObjectMeta, spec: SubjectAccessReviewSpec
) -> list[FieldError]:
    """What is wrong with a question about anybody in one namespace."""
    errors = list(_check_spec(spec))
    anywhere = replace(metadata, namespace="")
    errors += _check_metadata(metadata, anywhere, "must be empty except for namespace")
    resource, path = spec.resource_attributes, spec.non_resource_attributes
    if resource is not None and resource.namespace != metadata.namespace:
        field, rule = f"{_RESOURCE}.namespace", "must match metadata.namespace"
        errors.append(FieldError(_INVALID, field, resource.namespace, rule))
    if path is not None:
        rule = "disallowed on this kind of request"
        errors.append(FieldError(_INVALID, "spec.nonResourceAttributes", _show(path), rule))
    return errors


def _check_spec(spec: SubjectAccessReviewSpec) -> Iterator[FieldError]:
    yield from _check_union(spec.resource_attributes, spec.non_resource_attributes)
    if not spec.user and not spec.groups:
        rule = "at least one of user or group must be specified"
        yield FieldError(_INVALID, "spec.user", spec.user, rule)
    yield from _check_resource(spec.resource_attributes)


def _check_union(
    resource: ResourceAttributes | None, path: NonResourceAttributes | None
) -> Iterator[FieldError]:
    if (resource is None) == (path is None):
        rule = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield FieldError(_INVALID, "spec", None if path is None else _show(path), rule)


def _check_metadata(said: ObjectMeta, counted: ObjectMeta, rule: str) -> Iterator[FieldError]:
    if replace(counted, managed_fields=()) != ObjectMeta():
        yield FieldError(_INVALID, "metadata", to_builtins(said), rule)


def _show(path: NonResourceAttributes) -> dict[str, Any]:
    # Upstream shows its internal type, whose members have no wire names.
    return {"Path": path.path, "Verb": path.verb}


def _check_resource(resource: ResourceAttributes | None) -> Iterator[FieldError]:
    if resource is None:
        return
    fields, labels = resource.field_selector, resource.label_selector
    if fields is not None:
        yield from _check_selector(fields, f"{_RESOURCE}.fieldSelector")
        for index, wanted in enumerate(fields.requirements):
            path = f"{_RESOURCE}.fieldSelector.requirements[{index}]"
            if not wanted.key:
                yield FieldError(_REQUIRED, f"{path}.key", detail="must be specified")
            yield from _check_operator(wanted, path)
    if labels is not None:
        yield from _check_selector(labels, f"{_RESOURCE}.labelSelector")
        for index, label in enumerate(labels.requirements):
            path = f"{_RESOURCE}.labelSelector.requirements[{index}]"
            yield from _check_operator(label, path)
            yield from _check_label(label, path)


def _check_selector(
    selector: FieldSelectorAttributes | LabelSelectorAttributes, path: str
) -> Iterator[FieldError]:
    raw, requirements = selector.raw_selector, selector.requirements
    if raw and requirements:
        rule = "may not specified at the same time as requirements"
        yield FieldError(_INVALID, f"{path}.rawSelector", raw, rule)
    if not raw and not requirements:
        rule = f"when {path} is specified, requirements or rawSelector is required"
        yield FieldError(_REQUIRED, f"{path}.requirements", detail=rule)


def _check_operator(
    wanted: FieldSelectorRequirement | LabelSelectorRequirement, path: str
) -> Iterator[FieldError]:
    if wanted.operator in _LISTS and not wanted.values:
        rule = "must be specified when `operator` is 'In' or 'NotIn'"
        yield FieldError(_REQUIRED, f"{path}.values", detail=rule)
    if wanted.operator in _UNARY and wanted.values:
        rule = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield FieldError(FieldErrorType.FORBIDDEN, f"{path}.values", detail=rule)


def _check_label(wanted: LabelSelectorRequirement, path: str) -> Iterator[FieldError]:
    for message in names.label_key(wanted.key):
        yield FieldError(_INVALID, f"{path}.key", wanted.key, message)
    for index, value in enumerate(wanted.values):
        for message in names.label_value(value):
            yield FieldError(_INVALID, f"{path}.values[{index}]", value, message)
