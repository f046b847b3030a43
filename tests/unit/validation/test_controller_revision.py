"""Revisions of controllers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from dray.api.apps import ControllerRevision
from dray.api.wire import replace
from tests.unit.validation.workload_builders import created, metadata, updated


def revision(data: bytes | None = b'{"a":1}', **fields: Any) -> ControllerRevision:
    carried = None if data is None else Raw(data)
    return ControllerRevision(metadata=metadata(), data=carried, **fields)


def test_a_plain_revision_may_be_created_and_written_back() -> None:
    assert created(revision()) == []
    assert updated(revision(), revision()) == []


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        pytest.param(revision(b"null"), ["data: Required value: data is mandatory"], id="null"),
        pytest.param(revision(None), ["data: Required value: data is mandatory"], id="nothing"),
        pytest.param(
            revision(b"[1]"),
            ["data: Required value: data must be a valid JSON object"],
            id="a-list",
        ),
        pytest.param(
            revision(revision=-1),
            ["revision: Invalid value: -1: must be greater than or equal to 0"],
            id="below-zero",
        ),
    ],
)
def test_what_a_revision_may_not_be(broken: ControllerRevision, said: list[str]) -> None:
    assert created(broken) == said


def test_a_revision_gets_other_numbers_but_never_other_data() -> None:
    stored = revision(revision=3)
    assert updated(replace(stored, revision=1), stored) == []
    assert updated(revision(b'{"a":2}'), stored) == [
        'data: Invalid value: {"a":2}: field is immutable'
    ]
    assert updated(revision(b"null"), stored) == ["data: Invalid value: null: field is immutable"]
