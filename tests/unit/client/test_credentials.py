"""Who a client says it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.client._credentials import ANONYMOUS, FixedCredentials, TokenFile, bearer
from dray.errors import TransportError


def test_a_token_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    async def main() -> None:
        file = tmp_path / "token"
        file.write_text("one\n")
        credentials = TokenFile(file)
        assert await credentials.identity() == bearer("one")
        # As what mounts tokens does: another file takes the place.
        (tmp_path / "new").write_text("two\n")
        (tmp_path / "new").replace(file)
        assert await credentials.identity() == bearer("two")

    asyncio.run(main())


def test_while_a_token_file_is_missing_or_empty_its_last_token_is_used(tmp_path: Path) -> None:
    async def main() -> None:
        file = tmp_path / "token"
        with pytest.raises(TransportError, match=r"token file .*token: .*No such file"):
            await TokenFile(file).identity()
        file.write_text("")
        with pytest.raises(TransportError, match="it is empty"):
            await TokenFile(file).identity()
        file.write_text("one")
        credentials = TokenFile(file)
        assert await credentials.identity() == bearer("one")
        file.write_text("")
        assert await credentials.identity() == bearer("one")
        file.unlink()
        assert await credentials.identity() == bearer("one")

    asyncio.run(main())


def test_a_refused_token_is_worth_another_try_only_if_it_changed(tmp_path: Path) -> None:
    async def main() -> None:
        file = tmp_path / "token"
        file.write_text("one")
        credentials = TokenFile(file)
        identity = await credentials.identity()
        assert not await credentials.refused(identity)
        file.write_text("two")
        assert await credentials.refused(identity)
        fixed = FixedCredentials()
        assert await fixed.identity() == ANONYMOUS
        assert not await fixed.refused(ANONYMOUS)

    asyncio.run(main())


@pytest.mark.parametrize("token", ["a\nb", "a b", "ü", "a\x00"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(TransportError, match="characters that no header can carry"):
        bearer(token)
