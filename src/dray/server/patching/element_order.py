"""The order of a merged list: what the patch names in the patch's order, the rest where it was.

Items that only the server has keep their order too, and each goes before the first item of the
patch that used to come after it. Upstream counterpart: strategicpatch's normalizeElementOrder.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from dray.errors import BadRequest
from dray.server.patching.go_text import printed

__all__ = ["Token", "in_element_order", "key_of", "order_left_by", "token_of"]

# A value and its type: true is not 1, and 1 is not 1.0.
Token: TypeAlias = tuple[type, Any]

_GONE: Final = object()
_SCALARS: Final = (str, int, float, bool, type(None))


def key_of(item: Any, key: str) -> Any:
    """What tells an item from others: the value of its merge key, or itself without one."""
    if not key:
        return item
    if not isinstance(item, dict):
        raise BadRequest(f"expected a map with the merge key {key}, but received {printed(item)}")
    if key not in item:
        raise BadRequest(f"map: {printed(item)} does not contain declared merge key: {key}")
    return item[key]


def token_of(value: Any) -> Token:
    if not isinstance(value, _SCALARS):
        raise BadRequest(f"{printed(value)} cannot tell items of a list apart")
    return type(value), value


def in_element_order(items: list[Any], wanted: list[Any], before: list[Any], key: str) -> list[Any]:
    """Items put in order, given the order wanted and the one there was."""
    tokens = [token_of(key_of(item, key)) for item in items]
    wanted_at = _positions(wanted, key)
    before_at = _positions(before, key)
    pairs = list(zip(tokens, items, strict=True))
    named = _sorted([pair for pair in pairs if pair[0] in wanted_at], wanted_at)
    others = _sorted([pair for pair in pairs if pair[0] not in wanted_at], before_at)
    result: list[Any] = []
    i = 0
    for token, item in named:
        place = before_at.get(token)
        while place is not None and i < len(others):
            other_place = before_at.get(others[i][0])
            if other_place is None or other_place >= place:
                break
            result.append(others[i][1])
            i += 1
        result.append(item)
    result.extend(item for _, item in others[i:])
    return result


def order_left_by(known: list[Any], deleted: list[Token], added: list[Any], key: str) -> list[Any]:
    """The old order as upstream sees it after it deleted and added items in place.

    Each deletion frees the last place, which goes on showing the item that stood there, until an
    added one comes to stand in it. That decides between which neighbours items stay, so clients
    see it.
    """
    alive = list(known)
    places: dict[Token, list[int]] = {}
    for place, item in enumerate(known):
        places.setdefault(token_of(key_of(item, key)), []).append(place)
    last, shown = len(known) - 1, []
    for token in deleted:
        for place in places.pop(token, ()):
            while alive[last] is _GONE:
                last -= 1
            shown.append(alive[last])
            alive[place] = _GONE
    rest = [item for item in alive if item is not _GONE]
    shown.reverse()
    freed = [*added, *shown[len(added) :]]
    return rest + freed[: len(shown)]


def _positions(items: list[Any], key: str) -> dict[Token, int]:
    found: dict[Token, int] = {}
    for position, item in enumerate(items):
        found.setdefault(token_of(key_of(item, key)), position)
    return found


def _sorted(pairs: list[tuple[Token, Any]], positions: dict[Token, int]) -> list[tuple[Token, Any]]:
    known = [pair for pair in pairs if pair[0] in positions]
    known.sort(key=lambda pair: positions[pair[0]])
    if len(known) == len(pairs):
        return known
    # An item without a place goes, for upstream, before every other, and the last one first.
    return [pair for pair in reversed(pairs) if pair[0] not in positions] + known
