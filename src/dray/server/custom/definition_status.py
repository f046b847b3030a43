"""The status of a definition: which of the names it asks for it gets, and what becomes of it.

Within a group no two definitions share a name: neither in paths (plural, singular, short names) nor
as a kind. Who comes first keeps what it has. Upstream counterpart: apiextensions-apiserver
pkg/controller/status.
"""

from __future__ import annotations

from collections.abc import Iterable

from dray.api.apiextensions import (
    CONDITION_ESTABLISHED,
    CONDITION_NAMES_ACCEPTED,
    CONDITION_TERMINATING,
    CUSTOM_RESOURCE_CLEANUP_FINALIZER,
    CustomResourceDefinition,
    CustomResourceDefinitionCondition,
    CustomResourceDefinitionNames,
    CustomResourceDefinitionStatus,
)
from dray.api.core import CONDITION_FALSE, CONDITION_TRUE
from dray.api.wire import Time, replace
from dray.errors import quote

__all__ = [
    "condition_of",
    "ending_definition",
    "is_accepted",
    "is_established",
    "with_condition",
    "with_names",
]


def condition_of(
    definition: CustomResourceDefinition, type_: str
) -> CustomResourceDefinitionCondition | None:
    conditions = definition.status.conditions or ()
    return next((each for each in conditions if each.type == type_), None)


def _is_true(definition: CustomResourceDefinition, type_: str) -> bool:
    found = condition_of(definition, type_)
    return found is not None and found.status == CONDITION_TRUE


def is_accepted(definition: CustomResourceDefinition) -> bool:
    return _is_true(definition, CONDITION_NAMES_ACCEPTED)


def is_established(definition: CustomResourceDefinition) -> bool:
    return _is_true(definition, CONDITION_ESTABLISHED)


def with_condition(
    definition: CustomResourceDefinition,
    type_: str,
    status: str,
    reason: str,
    message: str,
    now: Time,
) -> CustomResourceDefinition:
    """The definition with this condition, in the place of an older one of its type."""
    before = condition_of(definition, type_)
    changed = before is None or before.status != status
    condition = CustomResourceDefinitionCondition(
        type=type_,
        status=status,
        last_transition_time=now if changed or before is None else before.last_transition_time,
        reason=reason,
        message=message,
    )
    conditions = definition.status.conditions or ()
    if before is None:
        conditions = (*conditions, condition)
    else:
        conditions = tuple(condition if each.type == type_ else each for each in conditions)
    return replace(definition, status=replace(definition.status, conditions=conditions))


def with_names(
    definition: CustomResourceDefinition, others: Iterable[CustomResourceDefinition], now: Time
) -> CustomResourceDefinition:
    """The definition with the names it gets besides `others`, and with the conditions that follow.

    One that was established stays so, under its old names if need be.
    """
    status = definition.status
    if definition.spec.names == status.accepted_names and is_established(definition):
        return definition
    resources, kinds = _taken(definition, others)
    names, reason, message = _accept(definition.spec.names, status.accepted_names, resources, kinds)
    new = replace(definition, status=_with_accepted(status, names))
    accepted = not reason
    new = with_condition(
        new,
        CONDITION_NAMES_ACCEPTED,
        CONDITION_TRUE if accepted else CONDITION_FALSE,
        reason or "NoConflicts",
        message or "no conflicts found",
        now,
    )
    if is_established(definition):
        return new
    if accepted:
        told = "the initial names have been accepted"
        return with_condition(
            new, CONDITION_ESTABLISHED, CONDITION_TRUE, "InitialNamesAccepted", told, now
        )
    told = "not all names are accepted"
    return with_condition(new, CONDITION_ESTABLISHED, CONDITION_FALSE, "NotAccepted", told, now)


def _with_accepted(
    status: CustomResourceDefinitionStatus, names: CustomResourceDefinitionNames
) -> CustomResourceDefinitionStatus:
    return status if names == status.accepted_names else replace(status, accepted_names=names)


def _taken(
    definition: CustomResourceDefinition, others: Iterable[CustomResourceDefinition]
) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        is_other = other.metadata.name != definition.metadata.name
        if is_other and other.spec.group == definition.spec.group:
            names = other.status.accepted_names
            resources |= {names.plural, names.singular, *names.short_names}
            kinds |= {names.kind, names.list_kind}
    return resources, kinds


def _accept(
    wanted: CustomResourceDefinitionNames,
    current: CustomResourceDefinitionNames,
    resources: set[str],
    kinds: set[str],
) -> tuple[CustomResourceDefinitionNames, str, str]:
    """The names it gets, and the last conflict there was: its reason and its message."""
    reason = message = ""
    names = current
    for field, title, taken in (
        ("plural", "Plural", resources),
        ("singular", "Singular", resources),
        ("short_names", "ShortNames", resources),
        ("kind", "Kind", kinds),
        ("list_kind", "ListKind", kinds),
    ):
        asked, has = getattr(wanted, field), getattr(current, field)
        conflicts = _conflicts(asked, has, taken)
        if conflicts:
            reason, message = f"{title}Conflict", _listed(conflicts)
        else:
            names = replace(names, **{field: asked})
    return replace(names, categories=wanted.categories), reason, message


def _conflicts(
    asked: str | tuple[str, ...], has: str | tuple[str, ...], taken: set[str]
) -> list[str]:
    fresh = [asked] if isinstance(asked, str) else list(asked)
    owned = [has] if isinstance(has, str) else list(has)
    return [f"{quote(name)} is already in use" for name in fresh if name in taken - set(owned)]


def _listed(conflicts: list[str]) -> str:
    return conflicts[0] if len(conflicts) == 1 else f"[{', '.join(conflicts)}]"


def ending_definition(
    definition: CustomResourceDefinition, finalizers: tuple[str, ...], now: Time
) -> CustomResourceDefinition | None:
    """A definition whose deletion begins: it waits for its objects to go. None if it need not."""
    metadata = definition.metadata
    if metadata.deletion_timestamp is not None:
        kept = replace(definition, metadata=replace(metadata, finalizers=finalizers))
        return kept if finalizers else None
    if CUSTOM_RESOURCE_CLEANUP_FINALIZER not in finalizers:
        finalizers = (*finalizers, CUSTOM_RESOURCE_CLEANUP_FINALIZER)
    metadata = replace(metadata, deletion_timestamp=now, finalizers=finalizers)
    told = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    return with_condition(
        replace(definition, metadata=metadata),
        CONDITION_TERMINATING,
        CONDITION_TRUE,
        "InstanceDeletionPending",
        told,
        now,
    )
