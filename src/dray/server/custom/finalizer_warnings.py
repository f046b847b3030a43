"""Warnings of finalizers whose names may be somebody else's too.

Upstream counterpart: validateKubeFinalizerName in apiextensions-apiserver.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from dray.api import names
from dray.errors import quote

__all__ = ["finalizer_warnings"]

_STANDARD: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})
_PATH: Final = "metadata.finalizers"


def finalizer_warnings(finalizers: Collection[str], before: Collection[str] = ()) -> list[str]:
    """What to tell whoever adds these finalizers to an object that had others."""
    added = sorted(set(finalizers) - set(before))
    return [f"{_PATH}: {quote(name)}: {told}" for name in added for told in _warnings(name)]


def _warnings(name: str) -> Iterator[str]:
    yield from names.label_key(name)
    if "/" in name or name in _STANDARD:
        return
    path = " including a path (/)" if "." in name else ""
    yield (
        f"prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other "
        "finalizer writers"
    )
