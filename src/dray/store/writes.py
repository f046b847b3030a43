"""What a store takes at all, and a write on its way to disk."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from dray.errors import StoreError, quote, shorten
from dray.store.rows import Row
from dray.store.store import Record

__all__ = ["Write", "check_write"]

# Far more than a server reads from a client (3 MiB), and little enough for any row and batch: one
# write must not be able to fail those that share its commit.
VALUE_BYTES_MAX: Final = 16 * 1024 * 1024
KEY_CHARACTERS_MAX: Final = 4096  # paths of names that have at most 253 characters each


class Write(msgspec.Struct):
    """A change that was accepted: its revision is taken, its writer waits."""

    row: Row
    record: Record | None  # None removes the key
    future: asyncio.Future[None]
    epoch: int  # how many failures there were when it was accepted

    @property
    def revision(self) -> int:
        return self.row[0]

    @property
    def key(self) -> str:
        return self.row[2]


def check_write(key: str, value: bytes) -> None:
    """Refuse what no store takes. The server's own limits are lower, so this is for its bugs."""
    if len(value) > VALUE_BYTES_MAX:
        raise StoreError(
            f"{quote(shorten(key))}: a value of {len(value)} bytes, at most {VALUE_BYTES_MAX} fit"
        )
    if not 0 < len(key) <= KEY_CHARACTERS_MAX:
        raise StoreError(
            f"{quote(shorten(key))}: a key has 1 to {KEY_CHARACTERS_MAX} characters, not {len(key)}"
        )
    if not key.isascii():
        try:
            key.encode()
        except UnicodeEncodeError as error:
            raise StoreError(f"{quote(shorten(key))}: a key is Unicode text: {error}") from error
