"""Reads recorded validations and answers them with dray, the way a server would.

A case is a write as it would reach the server: decode, convert to the hub, default, carry over
what a client cannot change, validate. The recordings say what upstream answered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dray.api.codec import parse_json
from dray.api.defaults import default
from dray.api.features import FEATURES, FeatureGates
from dray.api.meta import Object
from dray.api.scheme import decode_any, to_hub
from dray.api.strategy import (
    carry_metadata,
    prepare_for_create,
    prepare_for_status_update,
    prepare_for_update,
)
from dray.api.wire import Time, replace
from dray.errors import FieldError
from dray.validation import validate_create, validate_status_update, validate_update
from tests.conformance.recordings import read_recording

# Recorded cases give times where they matter; this one only has to be some time.
NOW = Time.parse("2025-06-01T00:00:00Z")

# The store says this before any rule of validation is asked.
UNCONDITIONAL = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"


@dataclass(frozen=True)
class Case:
    """One recorded write and what upstream said of it."""

    name: str
    request: dict[str, Any]
    answer: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        return [error["text"] for error in self.answer["errors"]]

    @property
    def ordered(self) -> bool:
        """Whether upstream has one order for these errors; it walks maps at random."""
        return not self.answer.get("unordered")


def read_cases(*names: str) -> Iterator[Case]:
    """The cases of these recordings that reached validation, in their order."""
    for name in names:
        for number, (request, answer) in enumerate(read_recording(f"validate-{name}")):
            if "errors" not in answer:
                continue
            # Gates of upstream's own machinery (which rules count) are no gates of dray's.
            if not FEATURES.keys() >= (request.get("gates") or {}).keys():
                continue
            found = Case(f"{name}-{number}: {request['name']}", request, answer)
            if found.texts != [UNCONDITIONAL]:
                yield found


def answer(request: dict[str, Any]) -> list[FieldError]:
    """What dray says of a recorded write."""
    gates = FeatureGates(request.get("gates") or {})
    new, version = _read(request["object"])
    if request["operation"] == "create":
        if request.get("prepare"):
            new = prepare_for_create(new, gates=gates)
        return validate_create(new, gates=gates, version=version)
    old, _ = _read(request["old"])
    metadata = carry_metadata(new.metadata, old.metadata)
    if not metadata.resource_version:
        metadata = replace(metadata, resource_version=old.metadata.resource_version)
    new = replace(new, metadata=metadata)
    if request["operation"] == "update":
        if request.get("prepare"):
            new = prepare_for_update(new, old, gates=gates, now=NOW)
        return validate_update(new, old, gates=gates, version=version)
    if request.get("prepare"):
        new = prepare_for_status_update(new, old, gates=gates)
    return validate_status_update(new, old, gates=gates, version=version)


# An empty list or map means what an absent one does, and most types do not keep the difference;
# upstream shows it where it prints a whole value.
_EMPTY = re.compile(r"(?<=[: ])(\[\]|\{\})")


def comparable(texts: list[str], *, ordered: bool) -> list[str]:
    """Texts without the differences that are nobody's concern."""
    texts = [_EMPTY.sub("null", text) for text in texts]
    return texts if ordered else sorted(texts)


def difference(case: Case) -> tuple[str, list[str], list[str]] | None:
    """Where dray answers otherwise: the case, our texts, upstream's."""
    ours = comparable([str(error) for error in answer(case.request)], ordered=case.ordered)
    theirs = comparable(case.texts, ordered=case.ordered)
    return None if ours == theirs else (case.name, ours, theirs)


def _read(value: dict[str, Any]) -> tuple[Object, str]:
    # As bytes once more: fractions keep their digits only on the way through our own parser.
    kind, version, decoded = decode_any(parse_json(json.dumps(value).encode()))
    obj: Object = to_hub(default(decoded.value, now=NOW))
    if not kind.namespaced:
        obj = replace(obj, metadata=replace(obj.metadata, namespace=""))
    return obj, version.name
