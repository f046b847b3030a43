"""Field labels against recordings of upstream: what a kind may be asked by, and what it says."""

from __future__ import annotations

from typing import Any

from dray.api.fields import escape_value
from dray.api.schema import StructOf
from dray.errors import BadRequest
from dray.server.field_labels import field_matcher
from dray.server.resources import Resource
from tests.conformance.recordings import read_recording


def describe(request: dict[str, Any]) -> dict[str, Any]:
    group, _, version = request["apiVersion"].rpartition("/")
    kind = request["kind"]
    schema = StructOf(name="", load=dict)
    resource = Resource(group, version, f"{kind.lower()}s", kind.lower(), kind, True, schema)
    text = f"{request['label']}={escape_value(request['value'])}"
    try:
        [requirement] = field_matcher(resource, text).selector.requirements
    except BadRequest as error:
        return {"error": error.message}
    return {"label": requirement.field, "value": requirement.value}


def test_every_recorded_label_is_known_or_refused_as_upstream_does() -> None:
    differences = []
    cases = 0
    for request, answer in read_recording("field-labels"):
        if not request["label"] and not request["value"]:
            continue  # no text asks for this: a term without field and value is dropped
        cases += 1
        if (got := describe(request)) != answer:
            differences.append((request, got, answer))
    assert differences == []
    assert cases >= 140
