from __future__ import annotations

from dray.server.patching.field_sets import FieldSet
from dray.server.patching.reconciliation import reconcile
from tests.unit.server.patching.schemas import THING


def test_parts_of_what_became_atomic_are_owned_as_a_whole() -> None:
    fields: FieldSet = {
        "f:part": {"f:a": {}},
        "f:words": {".": {}, "i:0": {}},
        "f:raw": {"f:x": {}},
        "f:data": {"f:a": {}},
    }
    assert reconcile(fields, THING) == {
        "f:part": {},
        "f:words": {},
        "f:raw": {},
        "f:data": {"f:a": {}},
    }


def test_a_set_that_is_right_is_returned_itself() -> None:
    fields: FieldSet = {
        "f:part": {},
        "f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}}},
        "f:open": {"f:x": {"f:y": {}}},
        "f:gone": {"f:x": {}},
    }
    assert reconcile(fields, THING) is fields
