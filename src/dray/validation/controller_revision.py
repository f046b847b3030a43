"""ControllerRevision: what a controller was once, which nobody changes afterwards.

Its number is not part of that: a revision that is returned to gets a new one. Upstream
counterparts: ValidateControllerRevisionCreate and its Update in pkg/apis/apps/validation.
"""

from __future__ import annotations

from typing import Final

from dray.api.apps import ControllerRevision
from dray.api.codec import parse_json
from dray.api.wire import is_null
from dray.validation.counts import check_not_negative
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta, validate_object_meta_update
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import check_immutable

__all__ = ["RULEBOOK"]


def _create(new: ControllerRevision, _context: Context) -> Verdict:
    found = Findings()
    _check(found, new)
    data = new.data
    if data is None or is_null(data):
        found.required("data", "data is mandatory")
    elif not isinstance(parse_json(bytes(data)), dict):
        found.required("data", "data must be a valid JSON object")
    return Verdict(found, Findings())


def _update(new: ControllerRevision, old: ControllerRevision, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    _check(found, new)
    check_immutable(found, new.data, old.data, "data")
    return Verdict(found, Findings())


def _check(found: Findings, revision: ControllerRevision) -> None:
    found.extend(validate_object_meta(revision.metadata, namespaced=True))
    check_not_negative(found, revision.revision, "revision")


RULEBOOK: Final = Rulebook(namespaced=True, create=_create, update=_update)
