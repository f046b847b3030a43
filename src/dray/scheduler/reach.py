"""Where the devices are that a pod's claims have already: nowhere else can the pod run.

Upstream counterpart: the first half of Filter of the DynamicResources plugin.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dray.api.core import NODE_SELECTOR_OPERATOR_IN, NodeSelector
from dray.api.node_matching import node_matches
from dray.api.resource import ResourceClaim
from dray.scheduler.binding_conditions import ReadinessState, readiness
from dray.scheduler.node_info import NodeInfo

__all__ = ["Reach"]

_GIVEN_UP = (ReadinessState.FAILED, ReadinessState.TIMED_OUT)


class Reach:
    """The nodes from which all allocated claims of a pod can be used."""

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        now: datetime | None = None,
        binding_timeout_seconds: float | None = None,
    ) -> None:
        """Without a timeout nobody asks for binding conditions. Claims all have their devices."""
        self._claims = claims
        self._lost: tuple[ResourceClaim, ...] = ()
        if now is not None and binding_timeout_seconds is not None:
            self._lost = tuple(
                claim
                for claim in claims
                if readiness(claim, now, binding_timeout_seconds).state in _GIVEN_UP
            )
        self._selectors = [
            (claim, claim.status.allocation.node_selector)
            for claim in claims
            if claim.status.allocation is not None
            and claim.status.allocation.node_selector is not None
        ]
        self._missed: dict[str, ResourceClaim] = {}

    @property
    def restricts(self) -> bool:
        """Whether there are nodes from which they cannot."""
        return bool(self._selectors or self._lost)

    @property
    def only(self) -> str | None:
        """The one node that is left, if that can be read off a claim."""
        for _, selector in self._selectors:
            if (name := _single(selector)) is not None:
                return name
        return None

    def includes(self, node: NodeInfo) -> bool:
        """Whether a pod on the node can use them; AllocationError if a selector is unreadable."""
        if self._lost:
            return False
        for claim, selector in self._selectors:
            if not node_matches(node.node, None, None, selector):
                self._missed[claim.metadata.uid] = claim
                return False
        return True

    @property
    def misplaced(self) -> tuple[ResourceClaim, ...]:
        """The claims that kept nodes that were asked about from being chosen."""
        return (*self._lost, *self._missed.values())


def _single(selector: NodeSelector) -> str | None:
    terms = selector.node_selector_terms or ()
    if len(terms) != 1:
        return None
    for field in terms[0].match_fields:
        if field.operator == NODE_SELECTOR_OPERATOR_IN and len(field.values) == 1:
            return field.values[0]
    return None
