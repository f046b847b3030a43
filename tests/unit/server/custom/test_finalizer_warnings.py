from __future__ import annotations

from dray.server.custom.finalizer_warnings import finalizer_warnings

TAIL = "to avoid accidental conflicts with other finalizer writers"


def test_a_finalizer_without_a_domain_is_warned_of() -> None:
    assert finalizer_warnings(["mine"]) == [
        f'metadata.finalizers: "mine": prefer a domain-qualified finalizer name {TAIL}'
    ]


def test_a_domain_without_a_path_is_warned_of() -> None:
    (warning,) = finalizer_warnings(["mine.example.com"])
    assert "including a path (/)" in warning


def test_what_was_there_and_what_is_proper_is_not() -> None:
    assert finalizer_warnings(["mine"], ["mine"]) == []
    assert finalizer_warnings(["example.com/mine", "foregroundDeletion"]) == []


def test_a_name_that_is_none_is_told() -> None:
    assert len(finalizer_warnings(["no name"])) == 2
