"""Entries of a CRI log, and what is shown of them.

An entry is `<time> <stream> <tag> <text>`; a tag that begins with P says that the line goes on in
the stream's next entry. What is no entry is shown as it is: logs are read to find what is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dray.agent.kubelet_api.log_options import LogOptions

__all__ = ["Entry", "Presenter", "parse_entry"]

# Digits of a second in what is shown; upstream's.
_NANOSECOND_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the file."""

    time: bytes
    stream: str
    is_partial: bool
    text: bytes


def parse_entry(line: bytes) -> Entry:
    """The entry in a line, which has no newline at its end."""
    parts = line.split(b" ", 3)
    if len(parts) != 4 or parts[1] not in (b"stdout", b"stderr"):
        return Entry(b"", "", False, line)
    time, stream, tag, text = parts
    return Entry(time, stream.decode(), tag.partition(b":")[0] == b"P", text)


class Presenter:
    """Turns entries into what the client sees; says when it has seen enough."""

    def __init__(self, options: LogOptions) -> None:
        self._options = options
        self._left = options.limit_bytes
        self._at_line_start = True
        self._is_old = options.since is not None

    @property
    def is_done(self) -> bool:
        """Whether nothing more will be shown."""
        return self._left == 0

    def show(self, line: bytes) -> bytes:
        """What there is to see of a line of the file."""
        entry = parse_entry(line)
        if self._options.stream and entry.stream not in ("", self._options.stream):
            return b""
        if self._is_old and self._is_before(entry):
            return b""
        shown = entry.text if entry.is_partial else entry.text + b"\n"
        if self._options.timestamps and self._at_line_start and entry.time:
            shown = _nanoseconds(entry.time) + b" " + shown
        self._at_line_start = not entry.is_partial
        if self._left is not None:
            shown = shown[: self._left]
            self._left -= len(shown)
        return shown

    def _is_before(self, entry: Entry) -> bool:
        """Whether it is too old; once one is not, none is any more."""
        since = self._options.since
        if since is not None and entry.time:
            try:
                if datetime.fromisoformat(entry.time.decode("ascii", "replace")) < since:
                    return True
            except (ValueError, TypeError):
                pass
        self._is_old = False
        return False


def _nanoseconds(time: bytes) -> bytes:
    """The time with nine digits of a second, as upstream shows it."""
    head, dot, rest = time.partition(b".")
    if not dot:
        body = time.rstrip(b"Z")
        return body + b".000000000Z" if time.endswith(b"Z") else time
    digits = rest[: len(rest) - len(rest.lstrip(b"0123456789"))]
    zone = rest[len(digits) :]
    return head + b"." + digits[:_NANOSECOND_DIGITS].ljust(_NANOSECOND_DIGITS, b"0") + zone
