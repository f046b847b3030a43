"""What an entry says of itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dray.agent.claims.claim_info import PREPARE, UNPREPARE, ClaimInfo, ClaimName, PreparedDevice

BARE = ClaimInfo(ClaimName("n", "c", "u"), drivers={"d": (), "e": ()})


def test_operations_are_skipped_by_name_or_all() -> None:
    info = replace(BARE, skipped_operations={"d": (PREPARE,), "e": ("*",)})
    assert info.skips("d", PREPARE)
    assert not info.skips("d", UNPREPARE)
    assert info.skips("e", UNPREPARE)
    assert not info.skips("f", PREPARE)


@pytest.mark.parametrize(
    ("info", "answered"),
    [
        pytest.param(BARE, False, id="recorded-only"),
        pytest.param(replace(BARE, prepared=True), True, id="prepared-without-devices"),
        pytest.param(
            replace(BARE, drivers={"d": (PreparedDevice("p", "x"),)}), True, id="before-a-restart"
        ),
        pytest.param(
            replace(BARE, drivers={"d": (PreparedDevice("p", "x"),)}, adopted=True),
            False,
            id="adopted",
        ),
        pytest.param(
            replace(BARE, skipped_operations={"d": ("*",), "e": ("*",)}), True, id="nobody-to-ask"
        ),
    ],
)
def test_devices_are_known_once_drivers_said_so(info: ClaimInfo, answered: bool) -> None:
    assert info.answered is answered
