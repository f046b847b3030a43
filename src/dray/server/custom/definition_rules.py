"""What a definition must be for its kind to be served: schemas, subresources, columns, selectors.

What all versions say alike upstream keeps, and finds fault with, in one place for all of them; so
are the paths here. Names, groups and versions are judged with the kinds of the API
(dray.validation.custom_resource_definition). Upstream counterpart: apiextensions-apiserver
pkg/apis/apiextensions/validation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from dray.api.apiextensions import (
    CONVERSION_NONE,
    CONVERSION_WEBHOOK,
    CustomResourceColumnDefinition,
    CustomResourceDefinition,
    CustomResourceDefinitionVersion,
    CustomResourceSubresources,
    SelectableField,
)
from dray.api.wire import is_null
from dray.errors import FieldError, FieldErrorType, ParseError
from dray.server.custom.default_rules import default_errors
from dray.server.custom.field_paths import field_path
from dray.server.custom.formats import is_recognized
from dray.server.custom.keyword_rules import keyword_errors
from dray.server.custom.kind import schema_document
from dray.server.custom.rule_costs import RuleCosts
from dray.server.custom.structural import Structural, parse, walk
from dray.server.custom.structure_rules import structure_errors

__all__ = ["definition_errors", "definition_warnings"]

SELECTABLE_FIELDS_MAX: Final = 8
DEPRECATION_CHARACTERS_MAX: Final = 256

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = (
    "binary", "byte", "date", "date-time", "double", "float", "int32", "int64", "password",
)  # fmt: skip
_SELECTABLE_TYPES: Final = ("string", "boolean", "integer")


def _required(path: str, told: str = "") -> FieldError:
    return FieldError(FieldErrorType.REQUIRED, path, "", told)


def _invalid(path: str, value: Any, told: str) -> FieldError:
    return FieldError(FieldErrorType.INVALID, path, value, told)


def definition_errors(
    new: CustomResourceDefinition, old: CustomResourceDefinition | None
) -> list[FieldError]:
    """All that keeps a definition from being served; `old` is what it replaces."""
    versions = new.spec.versions or ()
    before = {} if old is None else {each.name: each for each in old.spec.versions or ()}
    known = _expressions(before.values())
    errors: list[FieldError] = []
    for index, version in enumerate(versions):
        errors += _deprecation_errors(version, f"spec.versions[{index}]")
    for path, group in _places(versions, _schema_of, "spec.validation", "schema"):
        version = group[0]
        earlier = before.get(version.name)
        unchanged = earlier is not None and _schema_of(earlier) == _schema_of(version)
        has_status = any(_has_status(each) for each in group)
        costs = RuleCosts(known, unchanged=unchanged)
        errors += _schema_errors(version, f"{path}.openAPIV3Schema", costs, has_status=has_status)
    for path, group in _places(versions, _subresources_of, "spec.subresources", "subresources"):
        errors += _subresource_errors(group[0].subresources, path)
    name = "additionalPrinterColumns"
    for path, group in _places(versions, _columns_of, f"spec.{name}", name):
        for index, column in enumerate(group[0].additional_printer_columns):
            errors += _column_errors(column, f"{path}[{index}]")
    name = "selectableFields"
    for path, group in _places(versions, _selectable_of, f"spec.{name}", name):
        errors += _selectable_errors(group[0], group[0].selectable_fields, path)
    errors += _conversion_errors(new)
    return errors


def definition_warnings(
    new: CustomResourceDefinition, old: CustomResourceDefinition | None
) -> list[str]:
    """What the author of a definition should hear that was not there before."""
    before = set() if old is None else set(_warnings(old))
    return [warning for warning in dict.fromkeys(_warnings(new)) if warning not in before]


def _warnings(definition: CustomResourceDefinition) -> Iterator[str]:
    for version in definition.spec.versions or ():
        document = _schema_of(version)
        for schema in walk(parse(document)) if document else ():
            types = (schema.type,) if schema.type else ()
            if schema.format and not is_recognized(schema.format, types):
                yield f'unrecognized format "{schema.format}"'
            if schema.list_type == "set" and schema.items is not None:
                type_ = schema.items.type
                if type_ in ("object", "array"):
                    yield (
                        f'x-kubernetes-list-type: set for items of type "{type_}" is not supported '
                        "by server-side apply or CEL validation rules"
                    )


# Where upstream looks ---------------------------------------------------------------------------


def _schema_of(version: CustomResourceDefinitionVersion) -> Mapping[str, Any] | None:
    return schema_document(version)


def _subresources_of(version: CustomResourceDefinitionVersion) -> Any:
    return version.subresources


def _columns_of(version: CustomResourceDefinitionVersion) -> Any:
    return version.additional_printer_columns or None


def _selectable_of(version: CustomResourceDefinitionVersion) -> Any:
    return version.selectable_fields or None


def _places(
    versions: Sequence[CustomResourceDefinitionVersion], part: Any, shared: str, own: str
) -> Iterator[tuple[str, list[CustomResourceDefinitionVersion]]]:
    """Where a part is looked at, and of which versions: once, if all have the same."""
    parts = [part(version) for version in versions]
    if parts and all(each == parts[0] for each in parts):
        if parts[0] is not None:
            yield shared, list(versions)
        return
    for index, version in enumerate(versions):
        if parts[index] is not None:
            yield f"spec.versions[{index}].{own}", [version]


def _has_status(version: CustomResourceDefinitionVersion) -> bool:
    return version.subresources is not None and version.subresources.status is not None


def _expressions(versions: Collection[CustomResourceDefinitionVersion]) -> frozenset[str]:
    found = set()
    for version in versions:
        document = _schema_of(version)
        for schema in walk(parse(document)) if document else ():
            for rule in schema.rules:
                found |= {rule.rule, rule.message_expression}
    return frozenset(found - {""})


# Schemas ----------------------------------------------------------------------------------------

# What a schema may say at its root if the status is judged apart, as upstream lists it.
_ROOT: Final[Mapping[str, str]] = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}


def _schema_errors(
    version: CustomResourceDefinitionVersion, path: str, costs: RuleCosts, *, has_status: bool
) -> list[FieldError]:
    document = _schema_of(version)
    if document is None:
        return []
    errors = list(_root_errors(document, path, has_status=has_status))
    keywords = keyword_errors(document, path)
    schema: Structural = parse(document)
    # What is not supported at all is no structure either, and told once.
    structural = [] if _is_unsupported(keywords) else structure_errors(document, path)
    if not structural:
        structural = list(default_errors(schema, path))
    errors += [*structural, *keywords]
    if not errors:
        errors += costs.errors(schema, path)
    return errors


def _is_unsupported(errors: Sequence[FieldError]) -> bool:
    return any(error.detail.endswith(" is not supported") for error in errors)


def _root_errors(
    document: Mapping[str, Any], path: str, *, has_status: bool
) -> Iterator[FieldError]:
    if has_status:
        if document.get("type") not in (None, "", "object"):
            told = (
                'only "object" is allowed as the type at the root of the schema if the status '
                "subresource is enabled"
            )
            yield _invalid(f"{path}.type", document["type"], told)
        if any(name not in _ROOT for name, value in document.items() if value not in (None, False)):
            told = (
                f"only [{' '.join(_ROOT.values())}] fields are allowed at the root of the schema "
                "if the status subresource is enabled"
            )
            yield _invalid(path, document, told)
    if document.get("nullable"):
        told = "nullable cannot be true at the root"
        yield FieldError(FieldErrorType.FORBIDDEN, f"{path}.nullable", "", told)


# The rest ---------------------------------------------------------------------------------------


def _deprecation_errors(
    version: CustomResourceDefinitionVersion, path: str
) -> Iterator[FieldError]:
    warning, where = version.deprecation_warning, f"{path}.deprecationWarning"
    if warning is None:
        return
    if not version.deprecated:
        yield _invalid(where, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > DEPRECATION_CHARACTERS_MAX:
        yield _invalid(where, warning, f"must be <= {DEPRECATION_CHARACTERS_MAX} characters long")
    if not warning:
        yield _invalid(where, warning, "must not be an empty string")
    for index, character in enumerate(warning):
        if not character.isprintable():
            told = (
                "must only contain printable UTF-8 characters; non-printable character found at "
                f"index {index}"
            )
            yield _invalid(where, warning, told)
            return


def _simple_path_errors(path: str, where: str) -> Iterator[FieldError]:
    if not path.startswith("."):
        yield _invalid(where, path, "must be a simple json path starting with .")


def _subresource_errors(
    subresources: CustomResourceSubresources | None, path: str
) -> Iterator[FieldError]:
    if subresources is None or subresources.scale is None:
        return
    scale = subresources.scale
    for name, given, start in (
        ("specReplicasPath", scale.spec_replicas_path, ".spec."),
        ("statusReplicasPath", scale.status_replicas_path, ".status."),
    ):
        where = f"{path}.scale.{name}"
        if not given:
            yield _required(where)
        elif not given.startswith("."):
            yield from _simple_path_errors(given, where)
        elif not given.startswith(start):
            yield _invalid(where, given, f"should be a json path under {start[:-1]}")
    selector = scale.label_selector_path
    if selector:
        where = f"{path}.scale.labelSelectorPath"
        if not selector.startswith("."):
            yield from _simple_path_errors(selector, where)
        elif not selector.startswith((".spec.", ".status.")):
            yield _invalid(where, selector, "should be a json path under either .spec or .status")


def _column_errors(column: CustomResourceColumnDefinition, path: str) -> Iterator[FieldError]:
    if not column.name:
        yield _required(f"{path}.name")
    told = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not column.type:
        yield _required(f"{path}.type", told)
    elif column.type not in _COLUMN_TYPES:
        yield _invalid(f"{path}.type", column.type, told)
    if column.format and column.format not in _COLUMN_FORMATS:
        told = f"must be one of {','.join(_COLUMN_FORMATS)}"
        yield _invalid(f"{path}.format", column.format, told)
    if not column.json_path:
        yield _required(f"{path}.JSONPath")
    else:
        yield from _simple_path_errors(column.json_path, f"{path}.JSONPath")


def _selectable_errors(
    version: CustomResourceDefinitionVersion, fields: Sequence[SelectableField], path: str
) -> Iterator[FieldError]:
    document = _schema_of(version)
    if document is None:
        told = "may only be set when `version.schema.openAPIV3Schema` is not included"
        yield _invalid(path, "", told)
        return
    schema = parse(document)
    seen: set[str] = set()
    for index, field in enumerate(fields):
        where, given = f"{path}[{index}].jsonPath", field.json_path
        if not given:
            yield _required(where)
            continue
        try:
            place, found = field_path(given, schema, allow_keys=False)
        except ParseError as error:
            yield _invalid(where, given, f"is an invalid path: {error.rule}")
            continue
        if place.partition(".")[0] == "metadata":
            yield _invalid(where, given, "must not point to fields in metadata")
        if found is None or found.type not in _SELECTABLE_TYPES:
            told = (
                "must point to a field of type string, boolean or integer. Enum string fields and "
                "strings with formats are allowed."
            )
            yield _invalid(where, given, told)
        if place in seen:
            yield FieldError(FieldErrorType.DUPLICATE, where, given)
        seen.add(place)
    if len(seen) > SELECTABLE_FIELDS_MAX:
        told = f"must have at most {SELECTABLE_FIELDS_MAX} items"
        yield FieldError(FieldErrorType.TOO_MANY, path, len(seen), told)


def _conversion_errors(definition: CustomResourceDefinition) -> Iterator[FieldError]:
    conversion = definition.spec.conversion
    if conversion is None:
        return
    webhook: Mapping[str, Any] = {}
    if not is_null(conversion.webhook):
        webhook = msgspec.json.decode(bytes(conversion.webhook or b"{}"))
    path = "spec.conversion"
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions")
    if conversion.strategy == CONVERSION_WEBHOOK:
        if client is None:
            told = "required when strategy is set to Webhook"
            yield _required(f"{path}.webhookClientConfig", told)
        if not reviews:
            yield _required(f"{path}.conversionReviewVersions")
    elif conversion.strategy == CONVERSION_NONE:
        told = "should not be set when strategy is not set to Webhook"
        if client is not None:
            where = f"{path}.webhookClientConfig"
            yield FieldError(FieldErrorType.FORBIDDEN, where, "", told)
        if reviews:
            where = f"{path}.conversionReviewVersions"
            yield FieldError(FieldErrorType.FORBIDDEN, where, "", told)
