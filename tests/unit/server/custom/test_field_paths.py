from __future__ import annotations

import pytest

from dray.errors import ParseError
from dray.server.custom.field_paths import field_path
from dray.server.custom.structural import parse

SCHEMA = parse(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "a.b": {"type": "string"},
                    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                },
            }
        },
    }
)


@pytest.mark.parametrize(
    ("path", "place", "type_"),
    [
        (".spec", "spec", "object"),
        (".spec.map.k", "spec.map[k]", "integer"),
        (".spec['a.b']", "spec.a.b", "string"),
        (".spec.map['it\\'s']", "spec.map[it's]", "integer"),
    ],
)
def test_a_path_leads_to_a_field(path: str, place: str, type_: str) -> None:
    found, schema = field_path(path, SCHEMA)
    assert found == place
    assert schema is not None
    assert schema.type == type_


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("spec", "expected [ or . but got: spec"),
        (".", "unexpected end of JSON path"),
        (".nothing", "does not refer to a valid field"),
        (".spec[a]", "expected single quoted string but got a"),
        (".spec['map'", "unexpected end of JSON path"),
        (".spec['map'.", "expected ] but got ."),
        (".spec['\\q']", "invalid string literal: invalid escape char \\q"),
        (".spec.map.k.deeper", "does not refer to a valid field"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path: str, told: str) -> None:
    with pytest.raises(ParseError) as refused:
        field_path(path, SCHEMA)
    assert refused.value.rule == told


def test_keys_may_be_ruled_out() -> None:
    with pytest.raises(ParseError, match="array notation is not allowed"):
        field_path(".spec['a.b']", SCHEMA, allow_keys=False)
