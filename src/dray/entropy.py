"""Randomness, as a dependency: the only module that draws any.

UIDs, the five characters of a generated name, secrets and jitter come from an Entropy that is
passed in, so a seed replays a whole run. SystemEntropy draws from the operating system: UIDs end up
in tokens and preconditions, and must not be guessable.
"""

from __future__ import annotations

import os
import random
import uuid
from typing import Final, Protocol

__all__ = ["Entropy", "SeededEntropy", "SystemEntropy"]

# No vowels and nothing easily misread, so that a generated name spells no words.
NAME_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
NAME_SUFFIX_LENGTH: Final = 5


class Entropy(Protocol):
    """What a component may know of chance."""

    def uid(self) -> str:
        """A new UID: a random UUID, lower case."""
        ...

    def name_suffix(self) -> str:
        """The characters that make a generateName unique."""
        ...

    def token_bytes(self, count: int) -> bytes:
        """So many bytes, for serial numbers and secrets."""
        ...

    def uniform(self, low: float, high: float) -> float:
        """A number between the two, for jitter."""
        ...


class _RandomEntropy:
    def __init__(self, source: random.Random) -> None:
        self._source = source

    def uid(self) -> str:
        return str(uuid.UUID(int=self._source.getrandbits(128), version=4))

    def name_suffix(self) -> str:
        return "".join(self._source.choice(NAME_ALPHABET) for _ in range(NAME_SUFFIX_LENGTH))

    def token_bytes(self, count: int) -> bytes:
        return self._source.randbytes(count)

    def uniform(self, low: float, high: float) -> float:
        return self._source.uniform(low, high)


# Asking the system takes longer than all else about a UID, whether for one or for this many.
_DRAWS_AT_ONCE: Final = 256
_DRAW_BYTES: Final = 16


class SystemEntropy(_RandomEntropy):
    """The operating system's randomness. What UIDs and names are made of is drawn ahead."""

    def __init__(self) -> None:
        super().__init__(random.SystemRandom())
        self._drawn: list[bytes] = []
        # A process and its child must not have the same ahead of them.
        os.register_at_fork(after_in_child=self._drawn.clear)

    def uid(self) -> str:
        text = self._draw().hex()
        # A version 4 UUID: of the seventeenth digit, two bits are fixed.
        variant = _VARIANTS[text[16]]
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"

    def name_suffix(self) -> str:
        # Of 128 bits, that they are no multiple of the alphabet's size does not show.
        number = int.from_bytes(self._draw(), "big")
        suffix = ""
        for _ in range(NAME_SUFFIX_LENGTH):
            number, index = divmod(number, len(NAME_ALPHABET))
            suffix += NAME_ALPHABET[index]
        return suffix

    def _draw(self) -> bytes:
        while True:
            try:
                return self._drawn.pop()  # one step, whichever thread asks
            except IndexError:
                drawn = os.urandom(_DRAW_BYTES * _DRAWS_AT_ONCE)
                self._drawn += [
                    drawn[start : start + _DRAW_BYTES]
                    for start in range(0, len(drawn), _DRAW_BYTES)
                ]


_VARIANTS: Final = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


class SeededEntropy(_RandomEntropy):
    """The same draws for the same seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(random.Random(seed))  # noqa: S311 - replayable is the point
