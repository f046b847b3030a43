"""A short name for a pod template, the same for equal templates, and names made with it.

Not the one that upstream computes: it prints the Go value of a template, which nobody else can.
Nothing depends on its value but the names of what is made from it: templates are compared, not
their hashes, when it matters.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from dray.api.codec import encode
from dray.api.core import PodTemplateSpec

__all__ = ["hashed_name", "template_hash"]

# Upstream's, as long as its longest: no vowels, nothing easily misread.
ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
CHARACTERS: Final = 10

# Of the name of an object; upstream's.
NAME_CHARACTERS_MAX: Final = 253


def template_hash(template: PodTemplateSpec, collision_count: int | None = None) -> str:
    """The hash; a count of collisions makes it another one."""
    text = encode(template, ordered=True)
    if collision_count is not None:
        text += b"%d" % collision_count
    digest = sha256(text, usedforsecurity=False).digest()
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:CHARACTERS])


def hashed_name(name: str, mark: str) -> str:
    """What the owner of a name calls what it makes for a template; a long name is cut."""
    return f"{name[: NAME_CHARACTERS_MAX - len(mark) - 1]}-{mark}"
