"""Lines of the log: text for people, JSON for what collects them.

A record may carry `fields`; they follow the message, each under its name. It may also carry
`details`, which the message says already: only JSON has them. Whatever a client chose is quoted, so
nobody can write a line of their own into the log.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

__all__ = ["FORMATS", "LogFormatter", "configure_logging"]

FORMATS: Final = ("text", "json")

# What needs no quotes in `name=value`.
_PLAIN: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/:@%+,*~?&"
)


class LogFormatter(logging.Formatter):
    """One line for each record."""

    def __init__(self, style: str) -> None:
        super().__init__()
        self._json = style == "json"

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        time = time.replace("+00:00", "Z")
        message = record.getMessage()
        fields: Mapping[str, Any] = getattr(record, "fields", {})
        failure = self.formatException(record.exc_info) if record.exc_info else ""
        if self._json:
            line = {
                "time": time,
                "level": record.levelname.lower(),
                "logger": record.name,
                "message": message,
                **fields,
                **getattr(record, "details", {}),
            }
            if failure:
                line["exception"] = failure
            return msgspec.json.encode(line).decode()
        told = "".join(f" {name}={_value(value)}" for name, value in fields.items())
        text = f"{time} {record.levelname} {record.name}: {_one_line(message)}{told}"
        return f"{text}\n{failure}" if failure else text


def configure_logging(style: str, level: int = logging.INFO) -> None:
    """Send the program's log to standard error, in this format."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter(style))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if text and _PLAIN.issuperset(text):
        return text
    return msgspec.json.encode(text).decode()


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)
