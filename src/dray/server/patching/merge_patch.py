"""JSON merge patch: objects merge, null deletes, everything else replaces. RFC 7386.

Upstream counterpart: evanphx/json-patch's MergePatch, whose treatment of nulls inside lists is
followed where the RFC says nothing.
"""

from __future__ import annotations

from typing import Any

from dray.errors import BadRequest

__all__ = ["apply_merge_patch"]


def apply_merge_patch(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    """The patched document. Neither argument is changed; the result shares parts with both."""
    if not isinstance(patch, dict):
        raise BadRequest("error decoding patch: a merge patch of an object is a JSON object")
    try:
        return _merge(document, patch)
    except RecursionError as error:
        raise BadRequest("error decoding patch: exceeded max depth") from error


def _merge(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    merged = dict(document)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
            continue
        known = merged.get(name)
        if not isinstance(known, dict):
            merged[name] = _without_nulls(value)
        elif isinstance(value, dict):
            merged[name] = _merge(known, value)
        else:
            merged[name] = value
    return merged


def _without_nulls(value: Any) -> Any:
    """A value with nothing to delete from: nulls mean absence, but items keep their place."""
    if isinstance(value, dict):
        return {name: _without_nulls(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
