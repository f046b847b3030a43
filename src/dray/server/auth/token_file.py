"""Tokens from a file: one line each, `token,user,uid` and perhaps `"group,group"`.

Tokens are kept by their digests, so that the time of a lookup says nothing about how much of a
guess was right. The file is looked at again when it changed; while it cannot be read or makes no
sense (an editor may be in the middle of it), the tokens it last held stay good.

Upstream counterpart: apiserver pkg/authentication/token/tokenfile, which reads it only once.
"""

from __future__ import annotations

import csv
import hashlib
import logging
from pathlib import Path
from typing import Final

from dray.clock import Clock
from dray.entropy import Entropy
from dray.errors import ConfigurationError
from dray.server.auth.identities import authenticated
from dray.server.auth.private_files import create_private_file, read_private_file
from dray.server.user import User

__all__ = ["TokenFile", "create_token_file"]

# How long a change may go unnoticed: looking at a file's times costs more than looking up a token.
STALE_SECONDS: Final = 1.0

_logger = logging.getLogger(__name__)


class TokenFile:
    """The users of a token file, as it is now."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Read the file; ConfigurationError if it cannot be read or others can read it."""
        self._path = path
        self._clock = clock
        self._stamp = self._look()
        self._users = _read(path)
        self._looked_at = clock.monotonic()

    def user(self, token: str) -> User | None:
        """The user with this token, if there is one."""
        self._refresh()
        return self._users.get(_digest(token))

    def _refresh(self) -> None:
        now = self._clock.monotonic()
        if now - self._looked_at < STALE_SECONDS:
            return
        self._looked_at = now
        stamp = self._look()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._users = _read(self._path)
        except ConfigurationError as error:
            _logger.warning("tokens stay as they were: %s", error)

    def _look(self) -> tuple[int, int, int, int] | None:
        """What tells one version of the file from another."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode


def create_token_file(
    path: Path, entropy: Entropy, *, user: str, groups: tuple[str, ...]
) -> str | None:
    """Make a token file with one new token, and return the token; None if there is a file."""
    # Two UIDs: each has 122 random bits.
    token = f"{entropy.uid()}{entropy.uid()}".replace("-", "")
    line = f'{token},{user},{entropy.uid()},"{",".join(groups)}"\n'
    return token if create_private_file(path, line.encode()) else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def _read(path: Path) -> dict[bytes, User]:
    try:
        text = read_private_file(path).decode()
        records = list(csv.reader(text.splitlines(), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ConfigurationError(f"token file {path} is not CSV: {error}") from error
    users: dict[bytes, User] = {}
    for number, record in enumerate(records, start=1):
        if not record:
            continue
        if len(record) < 3:
            raise ConfigurationError(
                f"token file {path} must have at least 3 columns (token, user name, user uid),"
                f" found {len(record)} in line {number}"
            )
        token, name, uid = record[:3]
        if not token:
            _logger.warning("token file %s: line %d has an empty token", path, number)
            continue
        groups = tuple(record[3].split(",")) if len(record) > 3 and record[3] else ()
        digest = _digest(token)
        if digest in users:
            _logger.warning("token file %s: line %d repeats a token", path, number)
        users[digest] = authenticated(User(name, uid=uid, groups=groups))
    return users
