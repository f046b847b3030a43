"""Paths of files."""

from __future__ import annotations

import pytest

from dray.validation.file_paths import (
    check_local_path,
    check_no_backsteps,
    check_relative_path,
    is_local_path,
)
from tests.unit.validation.builders import told


@pytest.mark.parametrize(("path", "fine"), [("a/b", True), ("a/../b", False), ("a..b", True)])
def test_a_path_does_not_step_back(path: str, fine: bool) -> None:
    assert (told(check_no_backsteps, path, "x") == []) is fine


def test_one_step_back_is_told_once() -> None:
    assert told(check_no_backsteps, "../../a", "x") == [
        "x: Invalid value: \"../../a\": must not contain '..'"
    ]


def test_a_relative_path_starts_nowhere() -> None:
    assert told(check_relative_path, "/a", "x") == [
        'x: Invalid value: "/a": must be a relative path'
    ]


@pytest.mark.parametrize(
    ("path", "fine"),
    [("a", True), ("", True), ("..a", False), ("a/..b", True), ("../a", False), ("/a", False)],
)
def test_a_local_path_is_not_one_of_the_clusters_own(path: str, fine: bool) -> None:
    assert is_local_path(path) is fine
    assert (told(check_local_path, path, "x") == []) is fine
