"""What probes make of a container."""

from __future__ import annotations

import pytest

from dray.agent.pods.probe_results import ProbeResults, is_ready, is_started
from dray.api.carried import write_part
from dray.api.core import Container
from dray.api.core.parts import Probe

PROBE = write_part(Probe(period_seconds=1))


@pytest.mark.parametrize(
    ("startup", "readiness", "results", "started", "ready"),
    [
        (None, None, ProbeResults(), True, True),
        (PROBE, None, ProbeResults(), False, False),
        (PROBE, None, ProbeResults(startup=True), True, True),
        (PROBE, None, ProbeResults(startup=False), False, False),
        (None, PROBE, ProbeResults(), True, False),
        (None, PROBE, ProbeResults(readiness=True), True, True),
        (PROBE, PROBE, ProbeResults(readiness=True), False, False),
    ],
)
def test_a_probe_without_an_answer_is_not_yet(
    startup: object, readiness: object, results: ProbeResults, started: bool, ready: bool
) -> None:
    container = Container(name="main", startup_probe=startup, readiness_probe=readiness)  # type: ignore[arg-type] # carried
    known = {"id": results}
    assert is_started(container, "id", known) is started
    assert is_ready(container, "id", known) is ready
