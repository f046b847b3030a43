"""Recent objects: found by what they were stored as, and forgotten in time."""

from __future__ import annotations

from dray.server.models.recent import OBJECTS_MAX, VALUE_BYTES_MAX, Recent


def test_an_object_is_found_by_its_revision_and_value() -> None:
    recent = Recent()
    recent.add(b"value", 7, "object")
    assert recent.find(b"value", 7) == "object"
    assert recent.find(b"value", 8) is None


def test_another_store_has_other_values() -> None:
    recent = Recent()
    recent.add(b"value", 7, "object")
    assert recent.find(b"other", 7) is None


def test_the_oldest_makes_room() -> None:
    recent = Recent()
    for revision in range(OBJECTS_MAX + 1):
        recent.add(b"value", revision, "object")
    assert recent.find(b"value", 0) is None
    assert recent.find(b"value", 1) == recent.find(b"value", OBJECTS_MAX) == "object"


def test_what_is_large_is_not_kept() -> None:
    recent = Recent()
    recent.add(b"x" * (VALUE_BYTES_MAX + 1), 7, "object")
    assert recent.find(b"x" * (VALUE_BYTES_MAX + 1), 7) is None
