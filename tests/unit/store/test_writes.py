from __future__ import annotations

import asyncio

import pytest

from dray.errors import StoreError
from dray.store.rows import delete_row
from dray.store.writes import KEY_CHARACTERS_MAX, VALUE_BYTES_MAX, Write, check_write


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("/a", bytes(VALUE_BYTES_MAX + 1), '"/a": a value of 16777217 bytes, at most 16777216 fit'),
        ("", b"", "a key has 1 to 4096 characters, not 0"),
        ("x" * (KEY_CHARACTERS_MAX + 1), b"", "a key has 1 to 4096 characters, not 4097"),
        ("/\udc80", b"", "a key is Unicode text"),
    ],
    ids=["huge-value", "no-key", "long-key", "no-text"],
)
def test_a_refusal_names_key_value_and_rule(key: str, value: bytes, rule: str) -> None:
    with pytest.raises(StoreError) as caught:
        check_write(key, value)
    assert rule in str(caught.value)


def test_the_largest_of_everything_is_taken() -> None:
    check_write("ü" * KEY_CHARACTERS_MAX, bytes(VALUE_BYTES_MAX))


def test_a_write_knows_its_key_and_revision_by_its_row() -> None:
    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        write = Write(delete_row(7, "/a", 1, 3), None, future, 0)
        assert (write.revision, write.key) == (7, "/a")

    asyncio.run(main())
