"""What somebody wants of a container's log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dray.clock import Clock
from dray.errors import BadRequest, quote

__all__ = ["LogOptions", "parse_options"]

_STREAMS: Final = ("All", "Stdout", "Stderr")
_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")
_FALSE: Final = ("", "0", "f", "F", "false", "FALSE", "False")


@dataclass(frozen=True, slots=True)
class LogOptions:
    """All of it, unless said otherwise."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since: datetime | None = None
    stream: str = ""  # stdout or stderr, or both


def parse_options(query: Mapping[str, Sequence[str]], clock: Clock) -> LogOptions:
    """The options in a query. Raises BadRequest."""
    seconds = _number(query, "sinceSeconds", least=1)
    since = _time(_first(query, "sinceTime"))
    if since is not None and seconds is not None:
        raise BadRequest("at most one of `sinceTime` or `sinceSeconds` may be specified")
    if seconds is not None:
        since = clock.now() - timedelta(seconds=seconds)
    stream = _first(query, "stream") or "All"
    if stream not in _STREAMS:
        raise BadRequest(f"stream: {quote(stream)}: must be one of {', '.join(_STREAMS)}")
    return LogOptions(
        follow=_flag(query, "follow"),
        previous=_flag(query, "previous"),
        timestamps=_flag(query, "timestamps"),
        tail_lines=_number(query, "tailLines", least=0),
        limit_bytes=_number(query, "limitBytes", least=1),
        since=since,
        stream="" if stream == "All" else stream.lower(),
    )


def _first(query: Mapping[str, Sequence[str]], name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _flag(query: Mapping[str, Sequence[str]], name: str) -> bool:
    text = _first(query, name)
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise BadRequest(f"{name}: {quote(text)}: must be true or false")


def _number(query: Mapping[str, Sequence[str]], name: str, *, least: int) -> int | None:
    text = _first(query, name)
    if not text:
        return None
    try:
        number = int(text)
    except ValueError:
        raise BadRequest(f"{name}: {quote(text)}: must be a whole number") from None
    if number < least:
        raise BadRequest(f"{name}: {number}: must be greater than or equal to {least}")
    # Python reads any number of digits; dates end long before.
    return min(number, 10**10)


def _time(text: str) -> datetime | None:
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise BadRequest(f"sinceTime: {quote(text)}: must be a time as in RFC 3339")
    return time
