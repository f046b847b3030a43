"""Every row of the fault matrix that concerns a node has its scenario and its documentation."""

from __future__ import annotations

import pytest

from dray.drivers.simulated import FaultKind
from dray.drivers.simulated.faults import ErrorClass
from tests.sim import test_claims, test_devices, test_node, test_plugins
from tests.sim.matrix import COVERED, ROWS, Promise, promises
from tests.sim.quiet import play
from tests.sim.stage import Stage
from tests.sim.timeline import Timeline


def test_every_row_has_a_scenario() -> None:
    assert {test_claims, test_devices, test_node, test_plugins}, "they are imported"
    assert set(COVERED) == ROWS


def test_every_row_is_documented_once_and_no_other_is() -> None:
    assert set(promises()) == ROWS


@pytest.mark.slow
def test_a_scenario_played_again_is_seen_in_the_same_way() -> None:
    seen: list[str] = []

    async def scenario() -> None:
        async with Stage() as stage:
            await stage.run_pod("one")
            stage.troupe.fail(FaultKind.FLAPPING, seconds=3.0)
            stage.troupe.fail(FaultKind.FAILING, "gpu-1", error_class=ErrorClass.UNKNOWN)
            await stage.add_claim("two", ["gpu-1"])
            await stage.add_pod("two", "two")
            await stage.after(120)
            await stage.delete_pod("one")
            await stage.after(30)
            seen.append(str(stage.seen))

    play(scenario())
    play(scenario())
    assert seen[0] == seen[1]


class _Stage:
    """What a promise looks at."""

    def __init__(self, words: str, *times: float) -> None:
        self.seen = _Seen(words)
        self.times = list(times)


class _Seen(Timeline):
    def __init__(self, words: str) -> None:
        self._words = frozenset(words.split())
        self.entries = []

    def words(self) -> frozenset[str]:
        return self._words


PROMISE = Promise("it fails", "it is told", "after 5, or 2.5 to 3", "`Unhealthy`, `<driver>/bad`")


def test_a_promise_that_was_kept_holds() -> None:
    PROMISE.check(_Stage("Unhealthy nic.example.com/bad Running", 3, 2.5, 5, 7))  # type: ignore[arg-type] # enough of a stage


@pytest.mark.parametrize(
    ("words", "times", "complaint"),
    [
        ("Unhealthy", (5, 2.5, 3), "never seen: .*driver>/bad"),
        ("Unhealthy gpu.simulated.dev/bad", (5, 3), "never measured: .*2.5"),
    ],
    ids=["a-word-nobody-saw", "a-time-nobody-measured"],
)
def test_a_promise_that_was_not_kept_is_found_out(
    words: str, times: tuple[float, ...], complaint: str
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        PROMISE.check(_Stage(words, *times))  # type: ignore[arg-type] # enough of a stage
