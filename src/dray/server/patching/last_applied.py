"""The way from client-side to server-side apply: kubectl's annotation of what it last applied.

Before servers could apply, kubectl did, and kept its last input in an annotation. When kubectl
comes back by server-side apply, fields that still are as it left them are its own, whoever is
listed as their owner, and the annotation is kept up for going back. Upstream counterparts:
apimachinery's lastappliedmanager.go and lastappliedupdater.go.
"""

from __future__ import annotations

import json
from typing import Any, Final

from dray.api.schema import StructOf
from dray.server.patching.comparison import compare
from dray.server.patching.conformity import misfits
from dray.server.patching.field_sets import FieldSet, difference
from dray.server.patching.go_text import json_of
from dray.server.patching.ownership import fields_of

__all__ = ["KUBECTL", "LAST_APPLIED", "fields_last_applied", "with_last_applied"]

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

# Only the manager of this very name is known to have written the annotation.
KUBECTL: Final = "kubectl"

# What an object's annotations may have together; beyond it the annotation is dropped, as the
# object would be refused.
ANNOTATION_BYTES_MAX: Final = 256 * 1024


def fields_last_applied(
    live: dict[str, Any], schema: StructOf, api_version: str
) -> FieldSet | None:
    """Fields of the live object that are as client-side apply left them; None if unknown."""
    text = _annotations(live).get(LAST_APPLIED)
    if not isinstance(text, str) or not text:
        return None
    try:
        applied = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(applied, dict) or applied.get("apiVersion") != api_version:
        return None
    if misfits(applied, schema) or misfits(live, schema):
        return None
    changes = compare(applied, live, schema)
    fields = fields_of(applied, schema)
    for changed in (changes.modified, changes.added, changes.removed):
        fields = difference(fields, changed)
    return fields


def with_last_applied(document: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    """The document with its annotation, if it has one, saying what was applied just now."""
    annotations = _annotations(document)
    if not annotations.get(LAST_APPLIED):
        return document
    updated = {**annotations, LAST_APPLIED: _input(applied)}
    if sum(len(name.encode()) + len(value.encode()) for name, value in updated.items()) > (
        ANNOTATION_BYTES_MAX
    ):
        del updated[LAST_APPLIED]
    return {**document, "metadata": {**document["metadata"], "annotations": updated}}


def _input(applied: dict[str, Any]) -> str:
    """What was applied as kubectl writes it down: without the annotation itself."""
    metadata = applied.get("metadata") or {}
    if isinstance(metadata.get("annotations"), dict):
        others = {
            name: value for name, value in metadata["annotations"].items() if name != LAST_APPLIED
        }
        applied = {**applied, "metadata": {**metadata, "annotations": others}}
    return json_of(applied) + "\n"


def _annotations(document: dict[str, Any]) -> dict[str, Any]:
    metadata = document.get("metadata") or {}
    return metadata.get("annotations") or {}
