"""Values as Go prints them: in path elements, and in messages that clients see.

Path elements of FieldsV1 hold JSON as Go writes it, byte for byte, because two texts of one key
would be two fields. Messages about patches show whole values. Upstream counterparts: json-iterator
in its compatible mode, package fmt.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from dray.errors import quote, shorten

__all__ = ["json_of", "json_string", "printed", "shown"]

# Printable ASCII that Go's JSON leaves alone: most names and values there are.
_PLAIN: Final = re.compile(r"[ !#-%'-;=?-\[\]-~]*").fullmatch
# Python has short forms for these two, the encoder in question has not; <, > and & would be
# unsafe inside a web page, and the two separators inside a script.
_ESCAPED_OTHERWISE: Final = {
    ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"
}


def json_string(text: str) -> str:
    """A JSON string, escaped as Go escapes it."""
    if _PLAIN(text):
        return f'"{text}"'
    escaped = json.dumps(text, ensure_ascii=False).translate(_ESCAPED_OTHERWISE)
    return re.sub(r"\\(.)", _without_short_form, escaped)


def json_of(value: Any) -> str:
    """Compact JSON of any value, keys sorted."""
    if isinstance(value, str):
        return json_string(value)
    if value is None or isinstance(value, (bool, int)):
        return json.dumps(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    if isinstance(value, list):
        return f"[{','.join(map(json_of, value))}]"
    members = (f"{json_string(key)}:{json_of(value[key])}" for key in sorted(value))
    return f"{{{','.join(members)}}}"


def shown(value: Any) -> str:
    """One value inside a printed path: strings quoted, the rest as it is."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return quote(value)
    return printed(value)


def printed(value: Any) -> str:
    """A value as Go's %v prints it, cut where it is too long to repeat."""
    return shorten(_printed(value))


def _printed(value: Any) -> str:
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        members = (f"{key}:{_printed(value[key])}" for key in sorted(value))
        return f"map[{' '.join(members)}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_printed, value))}]"
    return str(value)


def _without_short_form(match: re.Match[str]) -> str:
    return {"b": "\\u0008", "f": "\\u000c"}.get(match[1], match[0])
