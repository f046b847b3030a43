"""Names that devices have, close to one that none of them has: what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from dray.allocator.devices import PlacedDevice

__all__ = ["attribute_names", "did_you_mean", "near"]

CLOSE: Final = 0.6
"""How alike names have to be: `numaNode` and `numa` are by two thirds."""

CLOSE_DOMAINS: Final = 0.8
"""The same for names with their domains, which are longer."""


def near(name: str, names: Iterable[str]) -> str:
    """The name that is closest; nothing if none is close, or if it is this one."""
    there = {*names}
    if name in there:
        return ""
    domain, slash, own = name.rpartition("/")
    prefix = f"{domain}{slash}"
    beside = {one.removeprefix(prefix): one for one in sorted(there) if one.startswith(prefix)}
    folded: dict[str, str] = {}
    for short, one in beside.items():
        folded.setdefault(short.lower(), one)
    for found in get_close_matches(own.lower(), folded, n=1, cutoff=CLOSE):
        return folded[found]
    # The same name in another domain; with another name it would be a matter of chance.
    elsewhere = sorted(one for one in there if slash and one.endswith(f"/{own}"))
    return next(iter(get_close_matches(name, elsewhere, n=1, cutoff=CLOSE_DOMAINS)), "")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """What to put after a name that nothing has: ` (did you mean memory?)`, or nothing."""
    found = near(name, names)
    return f" (did you mean {found}?)" if found else ""


def attribute_names(devices: Iterable[PlacedDevice]) -> set[str]:
    """The attributes of devices in full, as constraints name them."""
    return {
        name if "/" in name else f"{placed.id.driver}/{name}"
        for placed in devices
        for name in placed.device.attributes
    }
