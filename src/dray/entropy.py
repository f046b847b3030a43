"""Randomness, as a dependency: the only module that draws any.

UIDs, the five characters of a generated name, secrets and jitter come from an Entropy that is
passed in, so a seed replays a whole run. SystemEntropy draws from the operating system: UIDs end up
in tokens and preconditions, and must not be guessable.
"""

from __future__ import annotations

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


class SystemEntropy(_RandomEntropy):
    """The operating system's randomness."""

    def __init__(self) -> None:
        super().__init__(random.SystemRandom())


class SeededEntropy(_RandomEntropy):
    """The same draws for the same seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(random.Random(seed))  # noqa: S311 - replayable is the point
