"""What is counted."""

from __future__ import annotations

from dray.agent.claims.claim_info import ClaimInfo, ClaimName
from dray.agent.claims.metrics import SilentObserver, claims_in_use


def test_prepared_claims_count_once_and_for_each_driver() -> None:
    def info(*drivers: str, prepared: bool = True) -> ClaimInfo:
        name = ClaimName("n", "c", "u")
        return ClaimInfo(name, drivers=dict.fromkeys(drivers, ()), prepared=prepared)

    assert claims_in_use([info("a", "b"), info("a"), info("c", prepared=False)]) == {
        "<any>": 2,
        "a": 2,
        "b": 1,
    }
    assert claims_in_use([]) == {"<any>": 0}


def test_silence_is_an_observer_too() -> None:
    observer = SilentObserver()
    observer.operation("PrepareResources", 1.0, is_error=False)
    observer.skipped("NodePrepareResources", "a")
