"""XIDs are said in words."""

from __future__ import annotations

from dray.drivers.nvml.xids import APPLICATION_XIDS, RESET_XIDS, describe_xid


def test_an_xid_is_said_in_words() -> None:
    assert describe_xid(79) == "XID 79: GPU has fallen off the bus"
    assert describe_xid(12345) == "XID 12345: not one that is known here"


def test_what_applications_do_needs_no_reset() -> None:
    assert not APPLICATION_XIDS & RESET_XIDS
