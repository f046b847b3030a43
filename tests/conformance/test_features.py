"""Feature gates against upstream: every gate dray has stands as a 1.37 server's does."""

from __future__ import annotations

from typing import Any

from dray.api.features import FEATURES
from tests.conformance.recordings import read_recording

STAGES = {"": "GA", "BETA": "Beta", "ALPHA": "Alpha"}


def upstream() -> dict[str, Any]:
    ((_, answer),) = read_recording("gates")
    return {gate["name"]: gate for gate in answer}


def test_gates_have_upstreams_stage_default_and_lock() -> None:
    found = upstream()
    ours = {f.name: (f.stage.value, f.default, f.locked) for f in FEATURES.values()}
    theirs = {
        name: (
            STAGES[found[name].get("stage", "")],
            found[name]["default"],
            found[name].get("locked", False),
        )
        for name in ours
    }
    assert ours == theirs


def test_no_gate_of_dynamic_resource_allocation_is_missing() -> None:
    assert not {name for name in upstream() if name.startswith("DRA") and name not in FEATURES}
