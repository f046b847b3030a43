"""CustomResourceDefinition: names, versions, and what of them is for life.

Not checked is what only matters to somebody who serves custom resources: schemas (beyond being
there), columns, selectable fields, subresources, deprecation warnings, webhooks that convert.
Upstream counterpart: pkg/apis/apiextensions/validation of apiextensions-apiserver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from dray.api import names
from dray.api.apiextensions import (
    CONDITION_ESTABLISHED,
    CONVERSION_NONE,
    CONVERSION_WEBHOOK,
    SCOPE_CLUSTER,
    SCOPE_NAMESPACED,
    CustomResourceDefinition,
    CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec,
    CustomResourceDefinitionVersion,
)
from dray.api.core import CONDITION_TRUE
from dray.api.wire import is_null
from dray.errors import quote
from dray.validation.findings import Findings
from dray.validation.meta import (
    NameRule,
    name_is_dns_subdomain,
    validate_object_meta,
    validate_object_meta_update,
)
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import check_immutable
from dray.validation.shown import as_wire

__all__ = ["RULEBOOK"]

APPROVED_ANNOTATION: Final = "api-approved.kubernetes.io"

_SCOPES: Final = (SCOPE_CLUSTER, SCOPE_NAMESPACED)
_CONVERSIONS: Final = (CONVERSION_NONE, CONVERSION_WEBHOOK)
_PROTECTED: Final = ("k8s.io", "kubernetes.io")
_SEE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"


def _create(new: CustomResourceDefinition, _context: Context) -> Verdict:
    found = Findings()
    found.extend(
        validate_object_meta(
            new.metadata,
            namespaced=False,
            name_rule=_name_rule(new.spec),
            standard_finalizers=False,
        )
    )
    _check_spec(found, new.spec, "spec", schemas_required=True)
    _check_rest(found, new, None)
    return Verdict(found, Findings())


def _update(
    new: CustomResourceDefinition, old: CustomResourceDefinition, _context: Context
) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata, standard_finalizers=False))
    stored = all(map(_has_schema, old.spec.versions or ()))
    _check_spec(found, new.spec, "spec", schemas_required=stored)
    if _is_established(old):
        check_immutable(found, new.spec.scope, old.spec.scope, "spec.scope")
        check_immutable(found, new.spec.names.kind, old.spec.names.kind, "spec.names.kind")
    check_immutable(found, new.spec.group, old.spec.group, "spec.group")
    check_immutable(found, new.spec.names.plural, old.spec.names.plural, "spec.names.plural")
    _check_rest(found, new, old)
    return Verdict(found, Findings())


def _update_status(
    new: CustomResourceDefinition, old: CustomResourceDefinition, _context: Context
) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata, standard_finalizers=False))
    _check_names(found, new.status.accepted_names, "status.acceptedNames")
    return Verdict(found, Findings())


def _name_rule(spec: CustomResourceDefinitionSpec) -> NameRule:
    wanted = f"{spec.names.plural}.{spec.group}"

    def rule(name: str, prefix: bool) -> Sequence[str]:
        messages = list(name_is_dns_subdomain(name, prefix))
        if name != wanted:
            messages.append('must be spec.names.plural+"."+spec.group')
        return messages

    return rule


def _is_established(definition: CustomResourceDefinition) -> bool:
    return any(
        (condition.type, condition.status) == (CONDITION_ESTABLISHED, CONDITION_TRUE)
        for condition in definition.status.conditions or ()
    )


# The spec --------------------------------------------------------------------------------------


def _check_spec(
    found: Findings, spec: CustomResourceDefinitionSpec, path: str, *, schemas_required: bool
) -> None:
    _check_group(found, spec.group, f"{path}.group")
    _check_choice(found, spec.scope, _SCOPES, f"{path}.scope")
    _check_schemas(found, spec, f"{path}.versions", schemas_required=schemas_required)
    _check_versions(found, spec.versions, path)
    for name, value in (
        ("plural", spec.names.plural),
        ("singular", spec.names.singular),
        ("kind", spec.names.kind),
        ("listKind", spec.names.list_kind),
    ):
        if not value:
            found.required(f"{path}.names.{name}")
    _check_names(found, spec.names, f"{path}.names")
    if spec.conversion is not None:
        strategy, at = spec.conversion.strategy, f"{path}.conversion.strategy"
        if strategy != CONVERSION_NONE and spec.preserve_unknown_fields:
            detail = "must be None if spec.preserveUnknownFields is true"
            found.invalid(at, strategy, detail)
        _check_choice(found, strategy, _CONVERSIONS, at)


def _check_group(found: Findings, group: str, path: str) -> None:
    messages = names.dns_subdomain(group)
    if not group:
        found.required(path)
    elif messages:
        found.invalid(path, group, ",".join(messages))
    elif "." not in group:
        found.invalid(path, group, "should be a domain with at least one dot")


def _has_schema(version: CustomResourceDefinitionVersion) -> bool:
    return version.schema is not None and not is_null(version.schema.open_api_v3_schema)


def _check_schemas(
    found: Findings, spec: CustomResourceDefinitionSpec, path: str, *, schemas_required: bool
) -> None:
    # A definition from before schemas were required goes on without, where nothing is served.
    pruned = not schemas_required
    for index, version in enumerate(spec.versions or ()):
        if _has_schema(version) or (pruned and not version.served):
            continue
        if not pruned or not spec.preserve_unknown_fields:
            detail = "because otherwise all fields are pruned" if pruned else ""
            found.required(f"{path}[{index}].schema.openAPIV3Schema", detail)


def _check_versions(
    found: Findings, given: Sequence[CustomResourceDefinitionVersion] | None, path: str
) -> None:
    versions = given or ()
    for index, version in enumerate(versions):
        _check_label(found, version.name, f"{path}.versions[{index}].name")
    shown = None if given is None else _as_internal(versions)
    if len({version.name for version in versions}) < len(versions):
        found.invalid(f"{path}.versions", shown, "must contain unique version names")
    if sum(version.storage for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        found.invalid(f"{path}.versions", shown, detail)
    # Upstream keeps the first version in a field of its own, as it was before there were many.
    if versions and versions[0].name:
        _check_label(found, versions[0].name, f"{path}.version")


def _as_internal(versions: Sequence[CustomResourceDefinitionVersion]) -> list[dict[str, Any]]:
    """Versions as upstream has them inside: what all say alike, it keeps elsewhere."""
    parts: dict[str, list[Any]] = {
        "Schema": [version.schema for version in versions],
        "Subresources": [version.subresources for version in versions],
        "AdditionalPrinterColumns": [version.additional_printer_columns for version in versions],
        "SelectableFields": [version.selectable_fields for version in versions],
    }
    own = {
        name: values for name, values in parts.items() if any(each != values[0] for each in values)
    }
    return [
        {
            "Name": version.name,
            "Served": version.served,
            "Storage": version.storage,
            "Deprecated": version.deprecated,
            "DeprecationWarning": version.deprecation_warning,
            **{name: as_wire(own[name][index]) if name in own else None for name in parts},
        }
        for index, version in enumerate(versions)
    ]


def _check_names(found: Findings, given: CustomResourceDefinitionNames, path: str) -> None:
    for name, value in (("plural", given.plural), ("singular", given.singular)):
        if value:
            _check_label(found, value, f"{path}.{name}")
    mixed = "may have mixed case, but should otherwise match: "
    for name, value in (("kind", given.kind), ("listKind", given.list_kind)):
        messages = names.dns_1035_label(value.lower())
        if value and messages:
            found.invalid(f"{path}.{name}", value, mixed + ",".join(messages))
    for index, short_name in enumerate(given.short_names):
        _check_label(found, short_name, f"{path}.shortNames[{index}]")
    if given.kind and given.kind == given.list_kind:
        detail = "kind and listKind may not be the same"
        found.invalid(f"{path}.listKind", given.list_kind, detail)
    for index, category in enumerate(given.categories):
        _check_label(found, category, f"{path}.categories[{index}]")


def _check_label(found: Findings, value: str, path: str) -> None:
    messages = names.dns_1035_label(value)
    if messages:
        found.invalid(path, value, ",".join(messages))


def _check_choice(found: Findings, value: str, choices: tuple[str, ...], path: str) -> None:
    if not value:
        found.required(path)
    elif value not in choices:
        found.not_supported(path, value, choices)


# The rest --------------------------------------------------------------------------------------


def _check_rest(
    found: Findings, new: CustomResourceDefinition, old: CustomResourceDefinition | None
) -> None:
    _check_names(found, new.status.accepted_names, "status.acceptedNames")
    _check_stored_versions(found, new, "status.storedVersions")
    _check_approval(found, new, old)
    if new.spec.preserve_unknown_fields and not (old and old.spec.preserve_unknown_fields):
        found.invalid(
            "spec.preserveUnknownFields",
            True,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in"
            " spec.versions[*].schema instead",
        )


def _check_stored_versions(
    found: Findings, definition: CustomResourceDefinition, path: str
) -> None:
    """That every version in which objects may lie in the store is still there to read them."""
    stored, versions = definition.status.stored_versions or (), definition.spec.versions or ()
    if not stored:
        found.invalid(path, None, "must have at least one stored version")
        return
    # A name counts for one version only; that a second has it is told elsewhere, and here.
    unseen = set(stored)
    for version in versions:
        if version.storage and version.name not in unseen:
            detail = f"must have the storage version {version.name}"
            found.invalid(path, list(stored), detail)
        unseen.discard(version.name)
    known = {version.name for version in versions}
    for name in sorted(set(stored) - known):
        index = len(stored) - 1 - stored[::-1].index(name)
        found.invalid(
            f"{path}[{index}]",
            name,
            f"missing from spec.versions; {name} was previously a storage version, and must remain"
            " in spec.versions until a storage migration ensures no data remains persisted in"
            f" {name} and removes {name} from status.storedVersions",
        )


def _check_approval(
    found: Findings, new: CustomResourceDefinition, old: CustomResourceDefinition | None
) -> None:
    """Groups of Kubernetes' own are not for everybody."""
    group = new.spec.group
    if not any(group == own or group.endswith(f".{own}") for own in _PROTECTED):
        return
    text = new.metadata.annotations.get(APPROVED_ANNOTATION, "")
    state = _approval(text)
    before = old and _approval(old.metadata.annotations.get(APPROVED_ANNOTATION, ""))
    if state == before or state in ("approved", "bypassed"):
        return
    path = f"metadata.annotations[{APPROVED_ANNOTATION}]"
    rule = f"protected groups must have approval annotation {quote(APPROVED_ANNOTATION)}"
    if state == "missing":
        found.required(path, f"{rule}, {_SEE}")
    else:
        reason = 'with either a URL or a reason starting with "unapproved"'
        found.invalid(path, text, f"{rule} {reason}, {_SEE}")


def _approval(text: str) -> str:
    if not text:
        return "missing"
    if text.startswith("unapproved"):
        return "bypassed"
    try:
        url = urlsplit(text)
    except ValueError:
        return "invalid"
    return "approved" if url.scheme and url.netloc else "invalid"


RULEBOOK: Final = Rulebook(
    namespaced=False, create=_create, update=_update, status_update=_update_status
)
