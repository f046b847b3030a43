"""How values look in messages: quoted as Go quotes them, cut where they are too long to repeat.

Below everything else, because every message is made of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["quote", "shorten", "show"]

# A message that repeats a hostile value must not become the attack.
SHOWN_CHARACTERS_MAX: Final = 256

_ESCAPES: Final[Mapping[str, str]] = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


# Go's JSON is made to be safe inside a web page.
_HTML_ESCAPES: Final = {
    ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"
}


def quote(text: str) -> str:
    """The text in double quotes with escapes, the way Go's %q prints it."""
    return '"' + "".join(_escape(character) for character in text) + '"'


def shorten(text: str, *, characters_max: int = SHOWN_CHARACTERS_MAX) -> str:
    """The text, with its middle left out when it is too long to repeat in a message."""
    if len(text) <= characters_max:
        return text
    half = (characters_max - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def show(value: Any) -> str:
    """A value of a field the way upstream's errors show it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (list, tuple, dict)):
        text = json.dumps(value, separators=(",", ":"), default=str, ensure_ascii=False)
        return text.translate(_HTML_ESCAPES)
    return quote(str(value))
