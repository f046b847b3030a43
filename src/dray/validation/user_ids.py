"""Users and groups of processes and files, by number.

Upstream counterpart: IsValidUserID and IsValidGroupID in apimachinery's pkg/util/validation.
"""

from __future__ import annotations

from typing import Final

from dray.validation.findings import Findings

__all__ = ["check_user_id"]

USER_ID_MAX: Final = 2**31 - 1


def check_user_id(found: Findings, number: int | None, path: str) -> None:
    """Groups have the same rule."""
    if number is not None and not 0 <= number <= USER_ID_MAX:
        found.invalid(path, number, f"must be between 0 and {USER_ID_MAX}, inclusive")
