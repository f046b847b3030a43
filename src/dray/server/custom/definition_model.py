"""CustomResourceDefinitions, with what only who serves their kinds has to say about them.

Upstream counterpart: apiextensions-apiserver pkg/registry/customresourcedefinition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dray.api.apiextensions import CustomResourceDefinition
from dray.api.wire import Time, is_null, replace
from dray.errors import BadRequest, DecodeError, FieldError, quote
from dray.server.custom.definition_rules import definition_errors, definition_warnings
from dray.server.custom.keywords import cleaned
from dray.server.models.model import Circumstances, Reading
from dray.server.models.typed import TypedModel
from dray.server.resources import Resource

__all__ = ["DefinitionModel"]


class DefinitionModel(TypedModel):
    """Definitions whose schemas are looked into."""

    def read(
        self,
        body: bytes | Mapping[str, Any],
        resource: Resource,
        now: Time,
        *,
        encoded: bool = False,
    ) -> Reading:
        reading = super().read(body, resource, now, encoded=encoded)
        definition: CustomResourceDefinition = reading.object
        unknown: list[str] = []
        try:
            definition = _cleaned(definition, unknown)
        except DecodeError as error:
            kind = resource.kind
            told = f"{kind} in version {quote(resource.version)} cannot be handled as a {kind}"
            raise BadRequest(f"{told}: {error}") from error
        if definition is reading.object:
            return reading
        problems = [f'unknown field "{path}"' for path in unknown]
        return Reading(definition, (*reading.problems, *problems))

    def validate_create(self, new: Any, circumstances: Circumstances) -> Sequence[FieldError]:
        return _in_order(super().validate_create(new, circumstances), definition_errors(new, None))

    def validate_update(
        self, new: Any, old: Any, circumstances: Circumstances, *, subresource: str = ""
    ) -> Sequence[FieldError]:
        errors = super().validate_update(new, old, circumstances, subresource=subresource)
        # What is served already need not be judged again because its state is written down.
        if subresource or new.spec == old.spec:
            return errors
        return _in_order(errors, definition_errors(new, old))

    def warnings(self, new: Any, old: Any | None) -> Sequence[str]:
        return definition_warnings(new, old)


def _in_order(general: Sequence[FieldError], own: Sequence[FieldError]) -> list[FieldError]:
    """Errors of the spec before those of the status, as upstream finds them."""
    late = [error for error in general if error.field.startswith(("status", "metadata.annot"))]
    early = [error for error in general if error not in late]
    return [*early, *own, *late]


def _cleaned(definition: CustomResourceDefinition, unknown: list[str]) -> CustomResourceDefinition:
    """The definition with schemas of known keywords only; itself if they are so already."""
    versions = []
    changed = False
    for index, version in enumerate(definition.spec.versions or ()):
        schema = version.schema
        if schema is None or is_null(schema.open_api_v3_schema):
            versions.append(version)
            continue
        document = msgspec.json.decode(bytes(schema.open_api_v3_schema or b"{}"))
        path = f"spec.versions[{index}].schema.openAPIV3Schema"
        clean = cleaned(document, path, unknown)
        if clean != document:
            changed = True
            raw = msgspec.Raw(msgspec.json.encode(clean))
            version = replace(version, schema=replace(schema, open_api_v3_schema=raw))
        versions.append(version)
    if not changed:
        return definition
    return replace(definition, spec=replace(definition.spec, versions=tuple(versions)))
