"""Where the objects of a snapshot are from, which decides what it means that one is missing.

A dump may lack what nobody asked kubectl for; a running cluster does not have it.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["Origin"]


class Origin(Enum):
    """The enum's values are the words for it in messages."""

    DUMP = "dump"
    CLUSTER = "cluster"

    def __str__(self) -> str:
        return self.value

    def lacks(self, what: str, command: str) -> str:
        """That there is none of something; of a dump also which command would get it."""
        told = f"the {self} has {what}"
        return f"{told}: {command}" if self is Origin.DUMP else told
