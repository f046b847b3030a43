"""Tests that counted pods, brought up to date instead of counted anew.

Counting takes as long as the cluster is large; between two pods of one template only a few pods
moved. A test is told of these as it would be told of moves in thought. When nodes or namespaces
changed, or too many pods moved, there is nothing to bring up to date.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, NamedTuple

from dray.scheduler.filters.filter import CountingTest
from dray.scheduler.snapshot import Snapshot

__all__ = ["CountedTests"]

# Shapes of pods that are tried in turn. Each may hold a number for every node.
REMEMBERED_TESTS_MAX: Final = 32


class _Remembered(NamedTuple):
    test: CountingTest
    layout_version: int
    moves_count: int


class CountedTests:
    """The latest tests of one filter, by the shape of pods they are for.

    A shape is all that the test depends on, beside the snapshot. Whoever recalls a test shares it
    with whoever did before: it is as outdated by a change as any other, and told of moves in
    thought only as a copy.
    """

    def __init__(self) -> None:
        self._tests: OrderedDict[Hashable, _Remembered] = OrderedDict()

    def recall(self, shape: Hashable, snapshot: Snapshot) -> CountingTest | None:
        """The test as if it were counted now; None if it has to be."""
        known = self._tests.get(shape)
        if known is None or known.layout_version != snapshot.layout_version:
            return None
        moves = snapshot.moves_since(known.moves_count)
        if moves is None:
            return None
        test = known.test
        for info, node_name, came in moves:
            node = snapshot.nodes[node_name]
            if came:
                test.add_pod(info, node)
            else:
                test.remove_pod(info, node)
        self.keep(shape, snapshot, test)
        return test

    def keep(self, shape: Hashable, snapshot: Snapshot, test: CountingTest) -> None:
        """Remember a test that is up to date."""
        self._tests[shape] = _Remembered(test, snapshot.layout_version, snapshot.moves_count)
        self._tests.move_to_end(shape)
        if len(self._tests) > REMEMBERED_TESTS_MAX:
            self._tests.popitem(last=False)
