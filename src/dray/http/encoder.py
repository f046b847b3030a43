"""From answers to bytes: status line, Date, the handler's header fields, the length of the body."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final
from wsgiref.handlers import format_date_time

from dray.clock import Clock
from dray.errors import InternalError, quote
from dray.http.messages import Header

__all__ = ["CHUNKED", "UNTIL_CLOSED", "HeadEncoder", "without_body"]

# In place of a length: the body comes in chunks, or ends with the connection.
CHUNKED: Final = -1
UNTIL_CLOSED: Final = -2

_LINES: Final = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}


def without_body(status: int) -> bool:
    """Whether answers of this status end with their head, whatever it says."""
    return status < 200 or status in (204, 304)


class HeadEncoder:
    """Writes heads of answers. The Date is made once a second."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._date = ""
        self._date_until = 0.0

    def encode(
        self,
        status: int,
        headers: Sequence[Header],
        length: int,
        *,
        minor_version: int,
        keep_alive: bool,
    ) -> bytes:
        """The head with its empty line. `length` may be CHUNKED or UNTIL_CLOSED."""
        fields = "".join([f"{name}: {value}\r\n" for name, value in headers])
        # A line break in a value would let whoever chose the value write the rest of the answer.
        count = len(headers)
        if fields.count("\n") != count or fields.count("\r") != count or "\0" in fields:
            raise InternalError(f"a header field of an answer holds a line break: {quote(fields)}")
        now = self._clock.monotonic()
        if now >= self._date_until:
            self._renew(now)
        if without_body(status):
            body = ""
        elif length >= 0:
            body = f"Content-Length: {length}\r\n"
        else:
            body = "Transfer-Encoding: chunked\r\n" if length == CHUNKED else ""
        if not keep_alive:
            body += "Connection: close\r\n"
        elif not minor_version:
            body += "Connection: keep-alive\r\n"
        line = _LINES.get(status) or f"{status} Unknown"
        return f"HTTP/1.1 {line}\r\n{self._date}{fields}{body}\r\n".encode()

    def _renew(self, now: float) -> None:
        wall = self._clock.now()
        self._date = f"Date: {format_date_time(int(wall.timestamp()))}\r\n"
        # Until the wall's next second, so that the header is never behind.
        self._date_until = now + 1.0 - wall.microsecond / 1e6
