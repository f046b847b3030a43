"""Paths of files, in a container or on a node.

Upstream counterpart: validateLocalDescendingPath and its kin in pkg/apis/core/validation.
"""

from __future__ import annotations

from dray.validation.findings import Findings

__all__ = ["check_local_path", "check_no_backsteps", "check_relative_path", "is_local_path"]


def check_no_backsteps(found: Findings, text: str, path: str) -> None:
    if ".." in text.split("/"):
        found.invalid(path, text, "must not contain '..'")


def check_relative_path(found: Findings, text: str, path: str) -> None:
    """A path that stays below where it starts."""
    if text.startswith("/"):
        found.invalid(path, text, "must be a relative path")
    check_no_backsteps(found, text, path)


def check_local_path(found: Findings, text: str, path: str) -> None:
    """A relative path of which no part begins as the cluster's own files do."""
    check_relative_path(found, text, path)
    if text.startswith("..") and not text.startswith("../"):
        found.invalid(path, text, "must not start with '..'")


def is_local_path(text: str) -> bool:
    found = Findings()
    check_local_path(found, text, "")
    return not found
