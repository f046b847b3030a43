"""Objects by the namespace that they are in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from dray.api.meta import Object
from dray.client import Informer

__all__ = ["in_namespace", "index_by_namespace"]

_INDEX: Final = "metadata.namespace"

T = TypeVar("T", bound=Object)


def index_by_namespace(informer: Informer[T]) -> None:
    """Have objects of a view found by their namespace."""
    informer.add_index(_INDEX, _namespace)


def in_namespace(informer: Informer[T], namespace: str) -> Sequence[T]:
    """The objects of a namespace, of a view that has the index."""
    return informer.by_index(_INDEX, namespace)


def _namespace(obj: Object) -> Iterable[str]:
    return (obj.metadata.namespace,)
