"""Disruption budgets and evictions, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

from dray.api.codec import decode, to_builtins
from dray.api.policy import (
    Eviction,
    PodDisruptionBudget,
    PodDisruptionBudgetList,
    PodDisruptionBudgetStatus,
)
from tests.unit.api.core.golden import METADATA, SELECTOR, Document, KindSuite

NO_COUNTS = {
    "disruptionsAllowed": 0,
    "currentHealthy": 0,
    "desiredHealthy": 0,
    "expectedPods": 0,
}


class TestPodDisruptionBudget(KindSuite):
    kind = PodDisruptionBudget
    list_kind = PodDisruptionBudgetList
    document: ClassVar[Document] = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": METADATA,
        "spec": {
            "minAvailable": "50%",
            "selector": SELECTOR,
            "maxUnavailable": 0,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
        "status": {
            "observedGeneration": 3,
            "disruptedPods": {"training-0": "2026-01-31T12:00:00Z"},
            "disruptionsAllowed": 1,
            "currentHealthy": 3,
            "desiredHealthy": 2,
            "expectedPods": 4,
            "conditions": [
                {
                    "type": "DisruptionAllowed",
                    "status": "True",
                    "observedGeneration": 3,
                    "lastTransitionTime": "2026-01-31T12:00:00Z",
                    "reason": "SufficientPods",
                    "message": "one may go",
                }
            ],
        },
    }
    empty: ClassVar[Document] = {"spec": {}, "status": NO_COUNTS}


class TestEviction(KindSuite):
    kind = Eviction
    document: ClassVar[Document] = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": METADATA,
        "deleteOptions": {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": "uid-1", "resourceVersion": "4711"},
            "orphanDependents": False,
            "propagationPolicy": "Background",
            "dryRun": ["All"],
            "ignoreStoreReadErrorWithClusterBreakingPotential": False,
        },
    }


def test_a_disrupted_pod_may_have_no_time() -> None:
    status = decode(b'{"disruptedPods": {"a": null}}', PodDisruptionBudgetStatus)
    assert to_builtins(status) == NO_COUNTS | {"disruptedPods": {"a": None}}
