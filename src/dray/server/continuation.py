"""The token that carries a list from one page to the next.

It names the state the first page was read from and the key the last page ended with, so that the
pages together are one consistent list. Upstream counterpart: apiserver pkg/storage/continue.go.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Final

import msgspec

from dray.errors import BadRequest

__all__ = ["Continuation"]

_VERSION: Final = "meta.k8s.io/v1"

# A list whose state is gone may go on all the same, if its reader does not mind the seam.
ANY_REVISION: Final = -1


class _Token(msgspec.Struct):
    v: str
    rv: int
    start: str


@dataclass(frozen=True, slots=True)
class Continuation:
    """Where a list goes on: after which key, in which state."""

    revision: int  # ANY_REVISION for the present one
    after: str  # relative to the prefix of the list

    def encode(self) -> str:
        data = msgspec.json.encode(_Token(_VERSION, self.revision, self.after + "\0"))
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    @staticmethod
    def decode(text: str) -> Continuation:
        """The place a token names. Raises BadRequest."""
        try:
            data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            token = msgspec.json.decode(data, type=_Token)
        except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
            raise BadRequest(f"continue key is not valid: {error}") from error
        if token.v != _VERSION:
            raise BadRequest("continue key is not valid: server does not recognize this version")
        if token.rv == 0 or token.rv < ANY_REVISION:
            raise BadRequest("continue key is not valid: incorrect encoded start resourceVersion")
        after = token.start.removesuffix("\0")
        if not after or ".." in after.split("/"):
            raise BadRequest("continue key is not valid: incorrect encoded start key")
        return Continuation(token.rv, after)
