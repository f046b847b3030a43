"""Names of slices tell their place."""

from __future__ import annotations

import pytest

from dray.sdk._slice_names import generate_name, index_of


@pytest.mark.parametrize("index", [0, 1, 15, 16, 255, 0xFFFFF, 0x100000])
def test_a_name_tells_the_index_it_was_made_with(index: int) -> None:
    assert index_of(generate_name(index, "gpu.example.com", "node-1") + "abcde") == index


def test_names_sort_by_index() -> None:
    names = [generate_name(index, "d.example.com", "n") for index in range(300)]
    assert names == sorted(names)
    assert names[10] == "0000a-d.example.com-n-"
    assert generate_name(0, "d.example.com", "") == "00000-d.example.com-"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "node-driver-x",
        "0000-d",
        "00000",
        "0000g-d",
        "0000A-d",
        "f" * 17 + "-d",
        chr(0x660) * 5 + "-d",
    ],
)
def test_other_names_tell_none(name: str) -> None:
    assert index_of(name) is None
