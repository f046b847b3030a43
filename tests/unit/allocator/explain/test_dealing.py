"""As many needs are met as can be."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.allocator.explain.dealing import most_served


@pytest.mark.parametrize(
    ("needs", "served"),
    [
        pytest.param([], 0, id="nobody"),
        pytest.param([(2, 0b11), (2, 0b110)], 3, id="three-devices"),
        pytest.param([(1, 0b01), (1, 0b11)], 2, id="somebody-moves"),
        pytest.param([(1, 0b001), (1, 0b011), (1, 0b011)], 2, id="two-of-three"),
        pytest.param([(5, 0b1)], 1, id="more-than-there-are"),
    ],
)
def test_as_many_devices_are_dealt_out_as_can_be(needs: list[tuple[int, int]], served: int) -> None:
    assert most_served(needs) == served


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 15)), max_size=3))
def test_no_other_way_to_deal_serves_more(needs: list[tuple[int, int]]) -> None:
    slots = [mask for count, mask in needs for _ in range(count)]
    most = 0
    for choice in itertools.product(*[[None, *range(4)] for _ in slots]):
        taken = [device for device in choice if device is not None]
        allowed = all(
            device is None or mask >> device & 1 for device, mask in zip(choice, slots, strict=True)
        )
        if allowed and len(set(taken)) == len(taken):
            most = max(most, len(taken))
    assert most_served(needs) == most
