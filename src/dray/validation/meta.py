"""Rules over the metadata every object carries.

Upstream checks metadata twice: each kind with its own rule for names, and the registry once more
for all kinds with the loosest one, path segments. On create the second round runs only if the
kind found nothing; on update both always run, so that one mistake may be reported twice.
`validate_object_meta` and `validate_object_meta_update` are what kinds call;
`validate_common_create` and `validate_common_update` are the registry's round.

A name generated from generateName is there before validation. Not here: what a client may not
choose at all (uid, creation time) is overwritten by the server, not refused. Upstream
counterparts: apimachinery pkg/api/validation/objectmeta.go, pkg/apis/meta/v1/validation,
ValidateObjectMeta in pkg/apis/core/validation, and pkg/registry/rest of apiserver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dray.api import names
from dray.api.meta import (
    LabelSelector,
    LabelSelectorRequirement,
    ManagedFieldsEntry,
    ObjectMeta,
    OwnerReference,
)
from dray.errors import FieldError, quote
from dray.validation.findings import Findings
from dray.validation.rules import byte_length, check_immutable
from dray.validation.shown import as_wire

__all__ = [
    "ANNOTATIONS_BYTES_MAX",
    "NOT_NEGATIVE",
    "NameRule",
    "name_is_dns_label",
    "name_is_dns_subdomain",
    "name_is_path_segment",
    "validate_annotations",
    "validate_common_create",
    "validate_common_update",
    "validate_label_selector",
    "validate_labels",
    "validate_object_meta",
    "validate_object_meta_update",
]

# Enough for every honest use, and it keeps one object from filling the store.
ANNOTATIONS_BYTES_MAX: Final = 256 * 1024
FIELD_MANAGER_BYTES_MAX: Final = 128
SUBRESOURCE_BYTES_MAX: Final = 256

NOT_NEGATIVE: Final = "must be greater than or equal to 0"

FINALIZER_ORPHAN: Final = "orphan"
FINALIZER_FOREGROUND: Final = "foregroundDeletion"
STANDARD_FINALIZERS: Final = frozenset({"kubernetes", FINALIZER_ORPHAN, FINALIZER_FOREGROUND})

_MANAGED_FIELDS_OPERATIONS: Final = ("Apply", "Update")
_FIELDS_V1: Final = "FieldsV1"

# Why a text is no name of its kind. The flag says that more will be appended to the text.
NameRule = Callable[[str, bool], Sequence[str]]


def name_is_dns_subdomain(name: str, prefix: bool) -> Sequence[str]:
    """The rule of most kinds: pods, claims, templates, slices, nodes."""
    return names.dns_subdomain(names.mask_trailing_dash(name) if prefix else name)


def name_is_dns_label(name: str, prefix: bool) -> Sequence[str]:
    """The rule of namespaces."""
    return names.dns_label(names.mask_trailing_dash(name) if prefix else name)


def name_is_path_segment(name: str, prefix: bool) -> Sequence[str]:
    """What any kind's name must at least be: one segment of a URL."""
    return names.path_segment_prefix(name) if prefix else names.path_segment(name)


# What kinds call -------------------------------------------------------------------------------


def validate_object_meta(
    meta: ObjectMeta,
    *,
    namespaced: bool,
    path: str = "metadata",
    name_rule: NameRule = name_is_dns_subdomain,
    generate_name_rule: bool = True,
    standard_finalizers: bool = True,
) -> list[FieldError]:
    """What is wrong with the metadata of an object, old or new.

    Kinds whose names upstream checks declaratively leave generateName alone
    (`generate_name_rule=False`): the name that was made of it is checked anyway. Kinds that
    upstream checks outside of its core take any finalizer (`standard_finalizers=False`).
    """
    found = Findings()
    if generate_name_rule:
        _check_generate_name(found, meta, path, name_rule)
    elif meta.generate_name and not meta.name:
        found.internal(
            f"{path}.name",
            f"generateName was specified ({quote(meta.generate_name)}), but no name was generated",
        )
    _check_name(found, meta, path, name_rule)
    _check_rest(found, meta, path, namespaced=namespaced)
    if standard_finalizers:
        _check_finalizers_standard(found, meta.finalizers, f"{path}.finalizers")
    return found.errors()


def validate_object_meta_update(
    new: ObjectMeta,
    old: ObjectMeta,
    path: str = "metadata",
    *,
    standard_finalizers: bool = True,
) -> list[FieldError]:
    """What is wrong with a change of metadata; the new metadata is checked by itself as well."""
    found = Findings()
    _check_update(found, new, old, path)
    if standard_finalizers:
        _check_finalizers_standard(found, new.finalizers, f"{path}.finalizers")
    return found.errors()


# The registry's round --------------------------------------------------------------------------


def validate_common_create(meta: ObjectMeta, *, namespaced: bool) -> list[FieldError]:
    """What the registry holds against a new object, if its kind holds nothing against it."""
    found = Findings()
    _check_generate_name(found, meta, "metadata", name_is_path_segment)
    _check_name(found, meta, "metadata", name_is_path_segment)
    _check_rest(found, meta, "metadata", namespaced=namespaced)
    return found.errors()


def validate_common_update(
    new: ObjectMeta, old: ObjectMeta, *, namespaced: bool
) -> list[FieldError]:
    """What the registry holds against an update, ahead of what its kind does."""
    found = Findings()
    found.extend(validate_common_create(new, namespaced=namespaced))
    _check_update(found, new, old, "metadata")
    return found.errors()


# Parts that other objects have too -------------------------------------------------------------


def validate_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    """Labels, node selectors and the like. Errors name the whole map, as upstream's do."""
    if not labels:
        return []
    found = Findings()
    for key, value in labels.items():
        for message in names.label_key(key):
            found.invalid(path, key, message)
        for message in names.label_value(value):
            found.invalid(path, value, message)
    return found.errors()


def validate_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    """Keys are label keys in any case; values are free; all together are bounded."""
    if not annotations:
        return []
    found = Findings()
    for key in annotations:
        for message in names.label_key(key.lower()):
            found.invalid(path, key, message)
    size = sum(byte_length(text) for pair in annotations.items() for text in pair)
    if size > ANNOTATIONS_BYTES_MAX:
        found.too_long(path, ANNOTATIONS_BYTES_MAX)
    return found.errors()


def validate_label_selector(
    selector: LabelSelector | None, path: str, *, any_value: bool = False
) -> list[FieldError]:
    """A query over labels. `any_value` lets values through that no label could have."""
    if selector is None:
        return []
    found = Findings()
    found.extend(validate_labels(selector.match_labels, f"{path}.matchLabels"))
    for index, clause in enumerate(selector.match_expressions):
        _check_clause(found, clause, f"{path}.matchExpressions[{index}]", any_value=any_value)
    return found.errors()


def _check_clause(
    found: Findings, clause: LabelSelectorRequirement, path: str, *, any_value: bool
) -> None:
    if clause.operator in {"In", "NotIn"}:
        if not clause.values:
            found.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif clause.operator in {"Exists", "DoesNotExist"}:
        if clause.values:
            found.forbidden(
                f"{path}.values",
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )
    else:
        found.invalid(f"{path}.operator", clause.operator, "not a valid selector operator")
    for message in names.label_key(clause.key):
        found.invalid(f"{path}.key", clause.key, message)
    if any_value:
        return
    for index, value in enumerate(clause.values):
        for message in names.label_value(value):
            found.invalid(f"{path}.values[{index}]", value, message)


# Rules in the order upstream runs them ---------------------------------------------------------


class _Sound:
    """The metadata whose labels, annotations, owners and managers were last found to be right.

    A kind, the registry and the rules of either for updates judge the same one in turn.
    """

    meta: ObjectMeta | None = None


_sound: Final = _Sound()


def _check_generate_name(found: Findings, meta: ObjectMeta, path: str, name_rule: NameRule) -> None:
    if not meta.generate_name:
        return
    for message in name_rule(meta.generate_name, True):
        found.invalid(f"{path}.generateName", meta.generate_name, message)


def _check_name(found: Findings, meta: ObjectMeta, path: str, name_rule: NameRule) -> None:
    if not meta.name:
        found.required(f"{path}.name", "name or generateName is required")
        return
    for message in name_rule(meta.name, False):
        found.invalid(f"{path}.name", meta.name, message)


def _check_rest(found: Findings, meta: ObjectMeta, path: str, *, namespaced: bool) -> None:
    if namespaced and not meta.namespace:
        found.required(f"{path}.namespace")
    elif namespaced:
        for message in name_is_dns_label(meta.namespace, False):
            found.invalid(f"{path}.namespace", meta.namespace, message)
    elif meta.namespace:
        found.forbidden(f"{path}.namespace", "not allowed on this type")
    _check_generation(found, meta, path)
    if meta is _sound.meta:
        _check_finalizers(found, meta.finalizers, f"{path}.finalizers")
        return
    before = len(found)
    found.extend(validate_labels(meta.labels, f"{path}.labels"))
    found.extend(validate_annotations(meta.annotations, f"{path}.annotations"))
    _check_owner_references(found, meta.owner_references, f"{path}.ownerReferences")
    _check_finalizers(found, meta.finalizers, f"{path}.finalizers")
    _check_managed_fields(found, meta.managed_fields, f"{path}.managedFields")
    if len(found) == before:
        _sound.meta = meta


def _check_update(found: Findings, new: ObjectMeta, old: ObjectMeta, path: str) -> None:
    if old.deletion_timestamp is not None:
        _check_no_new_finalizers(found, new.finalizers, old.finalizers, f"{path}.finalizers")
    if not new.resource_version:
        found.invalid(
            f"{path}.resourceVersion", new.resource_version, "must be specified for an update"
        )
    _check_generation(found, new, path)
    if new.generation < old.generation:
        found.invalid(f"{path}.generation", new.generation, "must not be decremented")
    for name, ours, theirs in (
        ("name", new.name, old.name),
        ("namespace", new.namespace, old.namespace),
        ("uid", new.uid, old.uid),
        ("creationTimestamp", new.creation_timestamp, old.creation_timestamp),
        ("deletionTimestamp", new.deletion_timestamp, old.deletion_timestamp),
        (
            "deletionGracePeriodSeconds",
            new.deletion_grace_period_seconds,
            old.deletion_grace_period_seconds,
        ),
    ):
        if ours != theirs:
            check_immutable(found, ours, theirs, f"{path}.{name}")
    if new is _sound.meta:
        return
    before = len(found)
    found.extend(validate_labels(new.labels, f"{path}.labels"))
    found.extend(validate_annotations(new.annotations, f"{path}.annotations"))
    _check_owner_references(found, new.owner_references, f"{path}.ownerReferences")
    _check_managed_fields(found, new.managed_fields, f"{path}.managedFields")
    if len(found) == before:
        _sound.meta = new


def _check_generation(found: Findings, meta: ObjectMeta, path: str) -> None:
    if meta.generation < 0:
        found.invalid(f"{path}.generation", meta.generation, NOT_NEGATIVE)


# Owners ----------------------------------------------------------------------------------------


# Further controllers that are named. Each of these errors shows the whole list, so an answer that
# named them all, as upstream's does, would grow with the square of the request.
_CONTROLLERS_TOLD_MAX: Final = 16


def _check_owner_references(
    found: Findings, references: Sequence[OwnerReference], path: str
) -> None:
    controller = ""
    told: set[str] = set()
    shown: Any = None
    for index, reference in enumerate(references):
        _check_owner_reference(found, reference, f"{path}[{index}]")
        if not reference.controller:
            continue
        name = f"{reference.kind}/{reference.name}"
        if not controller:
            controller = name
        elif name not in told and len(told) < _CONTROLLERS_TOLD_MAX:
            told.add(name)
            shown = shown or as_wire(tuple(references))
            found.invalid(
                path,
                shown,
                "Only one reference can have Controller set to true. "
                f'Found "true" in references for {controller} and {name}',
            )


def _check_owner_reference(found: Findings, reference: OwnerReference, path: str) -> None:
    version = reference.api_version
    if not version:
        found.required(f"{path}.apiVersion", "must not be empty")
    elif version.count("/") > 1 or version.endswith("/"):
        found.invalid(f"{path}.apiVersion", version, "must be <group>/<version> or <version>")
    for name, value in (
        ("kind", reference.kind),
        ("name", reference.name),
        ("uid", reference.uid),
    ):
        if not value:
            found.required(f"{path}.{name}", "must not be empty")
    # Events come and go in masses: collecting by them would delete at random.
    if reference.kind == "Event" and version in {"v1", "/v1"}:
        detail = "/v1, Kind=Event is disallowed from being an owner"
        found.invalid(path, as_wire(reference), detail)


# Finalizers ------------------------------------------------------------------------------------


def _check_finalizers(found: Findings, finalizers: Sequence[str], path: str) -> None:
    for finalizer in finalizers:
        for message in names.label_key(finalizer):
            found.invalid(path, finalizer, message)
    if FINALIZER_ORPHAN in finalizers and FINALIZER_FOREGROUND in finalizers:
        found.invalid(
            path,
            list(finalizers),
            f"finalizer {FINALIZER_ORPHAN} and {FINALIZER_FOREGROUND} cannot be both set",
        )


def _check_finalizers_standard(found: Findings, finalizers: Sequence[str], path: str) -> None:
    for index, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            found.invalid(f"{path}[{index}]", finalizer, detail)


def _check_no_new_finalizers(
    found: Findings, new: Sequence[str], old: Sequence[str], path: str
) -> None:
    added = sorted(set(new) - set(old))
    if added:
        listed = ", ".join(map(quote, added))
        found.forbidden(
            path,
            "no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{listed}}}",
        )


# Managed fields --------------------------------------------------------------------------------


def _check_managed_fields(
    found: Findings, entries: Sequence[ManagedFieldsEntry], path: str
) -> None:
    for index, entry in enumerate(entries):
        at = f"{path}[{index}]"
        if not entry.operation:
            found.required(f"{at}.operation", "must not be empty")
        elif entry.operation not in _MANAGED_FIELDS_OPERATIONS:
            found.not_supported(f"{at}.operation", entry.operation, _MANAGED_FIELDS_OPERATIONS)
        if entry.fields_type and entry.fields_type != _FIELDS_V1:
            found.invalid(f"{at}.fieldsType", entry.fields_type, "must be `FieldsV1`")
        _check_field_manager(found, entry.manager, f"{at}.manager")
        if byte_length(entry.subresource) > SUBRESOURCE_BYTES_MAX:
            found.too_long(f"{at}.subresource", SUBRESOURCE_BYTES_MAX)


def _check_field_manager(found: Findings, manager: str, path: str) -> None:
    if manager.isprintable() and byte_length(manager) <= FIELD_MANAGER_BYTES_MAX:
        return
    if byte_length(manager) > FIELD_MANAGER_BYTES_MAX:
        found.too_long(path, FIELD_MANAGER_BYTES_MAX)
    position = 0
    for character in manager:
        if not character.isprintable():
            found.invalid(
                path,
                manager,
                f"invalid character U+{ord(character):04X} (at position {position})",
            )
        position += byte_length(character)
