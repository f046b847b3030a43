"""Objects without the fields nobody declared.

The decoder keeps unknown fields so that a reader loses nothing. A server drops them: it stores only
what it understands. Upstream counterpart: what decoding into Go structs does by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from dray.api._edit import edit
from dray.api.carried import held_by, read_part, write_part
from dray.api.wire import Struct

__all__ = ["drop_unknown"]

S = TypeVar("S", bound=Struct)


def drop_unknown(struct: S) -> S:
    """The struct without unknown fields anywhere in it, or itself if there are none."""
    changes = {name: _prune(getattr(struct, name)) for name in struct.__struct_fields__}
    for name, kind in held_by(type(struct)).items():
        part = read_part(changes[name], kind)
        pruned = _prune(part)
        if pruned is not part:
            changes[name] = write_part(pruned)
    changes["unknown_fields"] = msgspec.UNSET
    return edit(struct, **changes)


def _prune(value: Any) -> Any:
    if isinstance(value, Struct):
        return drop_unknown(value)
    if isinstance(value, tuple):
        items = tuple(_prune(item) for item in value)
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if isinstance(value, Mapping):
        members = {key: _prune(item) for key, item in value.items()}
        return value if all(members[key] is value[key] for key in members) else members
    return value
