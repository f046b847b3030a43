"""Devices that draw from one counter set."""

from __future__ import annotations

import pytest

from dray.allocator.rules.compatibility import Compatibility

NONE: frozenset[str] = frozenset()


def groups(text: str) -> frozenset[str]:
    return frozenset(text)


def after(*devices: str) -> Compatibility:
    """With devices of these groups, a letter each."""
    state = Compatibility()
    for one in devices:
        state = state.joined(groups(one))
    return state


@pytest.mark.parametrize("first", ["", "x", "xy"])
def test_the_first_device_may_be_of_any_groups(first: str) -> None:
    assert Compatibility().admits(groups(first))


@pytest.mark.parametrize(
    ("before", "candidate", "admitted"),
    [
        pytest.param(["x"], "x", True, id="the-same-group"),
        pytest.param(["x"], "y", False, id="another-group"),
        pytest.param(["xy"], "yz", True, id="one-in-common"),
        pytest.param(["xy", "yz"], "y", True, id="common-to-all"),
        pytest.param(["xy", "yz"], "x", False, id="common-to-one-only"),
        pytest.param([""], "", True, id="none-with-none"),
        pytest.param([""], "x", False, id="some-with-none"),
        pytest.param(["x"], "", False, id="none-with-some"),
    ],
)
def test_all_have_a_group_in_common_or_name_none(
    before: list[str], candidate: str, admitted: bool
) -> None:
    assert after(*before).admits(groups(candidate)) is admitted


@pytest.mark.parametrize("candidate", ["", "x", "y"])
def test_devices_that_should_not_be_together_admit_nobody(candidate: str) -> None:
    assert not after("x", "y").admits(groups(candidate))


def test_joining_changes_only_the_new_state() -> None:
    before = after("xy")
    before.joined(groups("y"))
    assert before == after("xy")
