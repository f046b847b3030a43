from __future__ import annotations

from dray.errors import Cause
from dray.server.patching.conflicts import ApplyConflicts
from dray.server.patching.field_sets import field_set
from dray.server.patching.managers import APPLY, UPDATE, Identity

APPLIER = Identity("m1", APPLY, "", "")
UPDATER = Identity("u1", UPDATE, "v1", "status")


def test_one_conflict_is_told_in_one_line() -> None:
    refused = ApplyConflicts({APPLIER: field_set(("data", "a"))})
    assert refused.code == 409
    assert refused.message == ('Apply failed with 1 conflict: conflict with "m1": .data.a')
    assert refused.details.causes == (
        Cause("FieldManagerConflict", 'conflict with "m1"', ".data.a"),
    )


def test_several_are_grouped_by_owner() -> None:
    refused = ApplyConflicts(
        {UPDATER: field_set(("status", "x")), APPLIER: field_set(("data", "b"), ("data", "a"))}
    )
    assert refused.message == (
        'Apply failed with 3 conflicts: conflicts with "m1":\n- .data.a\n- .data.b\n'
        'conflicts with "u1" with subresource "status" using v1:\n- .status.x'
    )
    assert len(refused.details.causes) == 3


def test_what_is_allowed_is_no_conflict() -> None:
    refused = ApplyConflicts({APPLIER: field_set(("data", "a"), ("data", "b"))})
    left = refused.without(field_set(("data", "a")))
    assert left is not None
    assert left.owners == {APPLIER: field_set(("data", "b"))}
    assert refused.without(field_set(("data", "a"), ("data", "b"))) is None
