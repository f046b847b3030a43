"""Pods by the node that they are assigned to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from dray.api.core import Pod
from dray.client import Informers

__all__ = ["AssignedPods"]

_INDEX: Final = "spec.nodeName"


class AssignedPods:
    """An index of the view that all controllers share."""

    def __init__(self, informers: Informers) -> None:
        self._pods = informers.of(Pod)
        self._pods.add_index(_INDEX, _node_name)

    def on(self, node: str) -> Sequence[Pod]:
        """The pods of a node."""
        return self._pods.by_index(_INDEX, node)


def _node_name(pod: Pod) -> Iterable[str]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()
