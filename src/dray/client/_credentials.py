"""Who a client is, as a server is told with every request.

Credentials may change while a client lives: tokens in files are renewed by somebody else, plugins
say when theirs run out. Whoever holds an Identity uses it for one request and asks again. Client
certificates belong to connections, not to requests: an identity with another certificate needs
another connection.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from dray.errors import TransportError
from dray.http.messages import Header

__all__ = ["ANONYMOUS", "Credentials", "FixedCredentials", "Identity", "TokenFile", "bearer"]

_log = logging.getLogger(__name__)

# Tokens with many groups and bound objects have a few kilobytes.
TOKEN_BYTES_MAX: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Identity:
    """What is shown: headers, and on new connections a certificate with its key (PEM)."""

    headers: tuple[Header, ...] = field(default=(), repr=False)
    certificate: tuple[bytes, bytes] | None = field(default=None, repr=False)


ANONYMOUS: Final = Identity()


class Credentials(Protocol):
    """Where identities come from."""

    async def identity(self) -> Identity:
        """Who to be now. Raises TransportError when that cannot be found out."""
        ...

    async def refused(self, identity: Identity) -> bool:
        """A server does not know this identity; whether there may be another one now."""
        ...


def bearer(token: str) -> Identity:
    """Whoever has this token."""
    if not token.isprintable() or not token.isascii() or " " in token:
        raise TransportError("the token has characters that no header can carry")
    return Identity(headers=(("authorization", f"Bearer {token}"),))


class FixedCredentials:
    """Always the same."""

    def __init__(self, identity: Identity = ANONYMOUS) -> None:
        self._identity = identity

    async def identity(self) -> Identity:
        return self._identity

    async def refused(self, identity: Identity) -> bool:  # noqa: ARG002 - a protocol's
        return False


class TokenFile:
    """A token in a file, read again whenever the file has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at: tuple[int, ...] = ()
        self._identity: Identity | None = None

    async def identity(self) -> Identity:
        try:
            # A stat is microseconds; what mounts tokens replaces files, so one of these differs.
            status = os.stat(self._path)
            stamp = (status.st_mtime_ns, status.st_ino, status.st_size, status.st_dev)
            if stamp != self._read_at or self._identity is None:
                with self._path.open("rb") as file:
                    token = file.read(TOKEN_BYTES_MAX).decode("ascii").strip()
                if not token:
                    raise ValueError("it is empty")
                self._identity = bearer(token)
                self._read_at = stamp
        except (OSError, ValueError) as error:
            if self._identity is None:
                raise TransportError(f"token file {self._path}: {error}") from error
            # It is being replaced: the old token is good for a while.
            _log.warning(
                "token file %s cannot be read, its last token is used: %s", self._path, error
            )
        return self._identity

    async def refused(self, identity: Identity) -> bool:
        self._read_at = ()
        return await self.identity() != identity
