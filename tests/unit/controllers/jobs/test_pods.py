"""What pods of jobs say."""

from __future__ import annotations

import pytest

from dray.api.core import Pod
from dray.api.meta import ObjectMeta
from dray.controllers.jobs.pods import (
    COMPLETION_INDEX,
    INDEX_FAILURE_COUNT,
    NO_INDEX,
    completion_index,
    has_valid_index,
    index_failures,
    is_failed,
)
from tests.unit.controllers.jobs.job_parts import make_job, make_pod


@pytest.mark.parametrize(("text", "index"), [("0", 0), ("17", 17), ("-1", -1), ("x", -1), ("", -1)])
def test_an_index_is_a_number_or_none(text: str, index: int) -> None:
    pod = Pod(metadata=ObjectMeta(annotations={COMPLETION_INDEX: text}))
    assert completion_index(pod) == index
    assert completion_index(Pod()) == NO_INDEX


@pytest.mark.parametrize(("text", "count"), [("3", 3), ("-3", 0), ("x", 0), (str(2**31), 0)])
def test_counts_that_make_no_sense_are_none(text: str, count: int) -> None:
    assert (
        index_failures(Pod(metadata=ObjectMeta(annotations={INDEX_FAILURE_COUNT: text}))) == count
    )


@pytest.mark.parametrize(
    ("policy", "pod", "failed"),
    [
        (None, make_pod("a", "Failed"), True),
        (None, make_pod("a", "Running"), False),
        (None, make_pod("a", "Running", going=True), True),
        (None, make_pod("a", "Succeeded", going=True), False),
        ("Failed", make_pod("a", "Running", going=True), False),
        ("Failed", make_pod("a", "Failed", going=True), True),
    ],
)
def test_who_is_deleted_counts_as_failed_unless_only_failures_are_replaced(
    policy: str | None, pod: Pod, failed: bool
) -> None:
    assert is_failed(pod, make_job(pod_replacement_policy=policy)) is failed


def test_an_index_beyond_the_completions_is_not_valid() -> None:
    job = make_job(completions=2, completion_mode="Indexed")
    assert has_valid_index(make_pod("a", index=1), job)
    assert not has_valid_index(make_pod("a", index=2), job)
    assert not has_valid_index(make_pod("a"), job)
    assert has_valid_index(make_pod("a"), make_job())
