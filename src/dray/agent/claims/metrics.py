"""What the handling of claims tells whoever measures it.

Names of metrics are upstream's: dra_operations_duration_seconds, dra_resource_claims_in_use,
dra_node_prepare_skips_total and dra_node_unprepare_skips_total.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from dray.agent.claims.claim_info import ClaimInfo

__all__ = [
    "ANY_DRIVER",
    "PREPARE_OPERATION",
    "UNPREPARE_OPERATION",
    "Observer",
    "SilentObserver",
    "claims_in_use",
]

# The values of the label operation_name.
PREPARE_OPERATION: Final = "PrepareResources"
UNPREPARE_OPERATION: Final = "UnprepareResources"

# The value of the label driver_name where each claim counts once, whoever its drivers are.
ANY_DRIVER: Final = "<any>"


class Observer(Protocol):
    """Counts and measures. Must not wait."""

    def operation(self, name: str, seconds: float, *, is_error: bool) -> None:
        """Preparing, or unpreparing, the claims of one pod took so long."""
        ...

    def skipped(self, operation: str, driver: str) -> None:
        """A driver was not called for a claim, as its slice says: NodePrepareResources or so."""
        ...


class SilentObserver:
    """Measures nothing."""

    def operation(self, name: str, seconds: float, *, is_error: bool) -> None:
        pass

    def skipped(self, operation: str, driver: str) -> None:
        pass


def claims_in_use(claims: Iterable[ClaimInfo]) -> Mapping[str, int]:
    """How many claims are prepared, by driver and in all, for the gauge when it is read."""
    counts = Counter({ANY_DRIVER: 0})
    for info in claims:
        if info.prepared:
            counts.update([ANY_DRIVER, *info.drivers])
    return dict(counts)
