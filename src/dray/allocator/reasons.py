"""Why claims do not fit on a node, counted from what the search itself looked at."""

from __future__ import annotations

from dray.allocator.answers import NodeReport
from dray.allocator.faces import FaceMaker
from dray.allocator.features import Features
from dray.allocator.inventory import Inventory
from dray.allocator.layout import Layout
from dray.allocator.preparation import Preparation
from dray.allocator.search import Outcome, Undecided
from dray.allocator.selection import Selectors

__all__ = ["Explainer"]


class Explainer:
    """Writes the reports of one set of claims."""

    def __init__(
        self,
        preparation: Preparation,
        faces: FaceMaker,
        selectors: Selectors,
        inventory: Inventory,
        features: Features,
    ) -> None:
        self._preparation = preparation
        self._faces = faces
        self._selectors = selectors
        self._inventory = inventory
        self._features = features

    def report(self, layout: Layout, outcome: Outcome) -> NodeReport:
        """Why the claims do not fit on the node of the layout."""
        return NodeReport(layout.node.metadata.name, undecided=isinstance(outcome, Undecided))
