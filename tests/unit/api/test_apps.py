"""Deployments, replica sets, daemon sets, revisions and scales, on the wire and back."""

from __future__ import annotations

from typing import ClassVar

import pytest

from dray.api.apps import (
    ControllerRevision,
    ControllerRevisionList,
    DaemonSet,
    DaemonSetList,
    Deployment,
    DeploymentList,
    ReplicaSet,
    ReplicaSetList,
    RollingUpdateDeployment,
    Scale,
)
from dray.api.codec import decode, encode
from dray.errors import DecodeError
from tests.unit.api.core.golden import METADATA, SELECTOR, Document, KindSuite
from tests.unit.api.core.pods import POD_TEMPLATE

NO_TEMPLATE: Document = {"metadata": {}, "spec": {"containers": None}}

CONDITION: Document = {
    "type": "ReplicaFailure",
    "status": "True",
    "lastTransitionTime": "2026-01-31T12:00:00Z",
    "reason": "FailedCreate",
    "message": "quota exceeded",
}


class TestDeployment(KindSuite):
    kind = Deployment
    list_kind = DeploymentList
    document: ClassVar[Document] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": METADATA,
        "spec": {
            "replicas": 3,
            "selector": SELECTOR,
            "template": POD_TEMPLATE,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": 1, "maxSurge": "25%"},
            },
            "minReadySeconds": 5,
            "revisionHistoryLimit": 10,
            "paused": True,
            "progressDeadlineSeconds": 600,
        },
        "status": {
            "observedGeneration": 3,
            "replicas": 3,
            "updatedReplicas": 2,
            "readyReplicas": 2,
            "availableReplicas": 2,
            "unavailableReplicas": 1,
            "terminatingReplicas": 1,
            "conditions": [CONDITION | {"lastUpdateTime": "2026-01-31T12:00:01Z"}],
            "collisionCount": 1,
        },
    }
    empty: ClassVar[Document] = {
        "spec": {"selector": None, "template": NO_TEMPLATE, "strategy": {}},
        "status": {},
    }


class TestReplicaSet(KindSuite):
    kind = ReplicaSet
    list_kind = ReplicaSetList
    document: ClassVar[Document] = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": METADATA,
        "spec": {
            "replicas": 0,
            "minReadySeconds": 5,
            "selector": SELECTOR,
            "template": POD_TEMPLATE,
        },
        "status": {
            "replicas": 3,
            "fullyLabeledReplicas": 3,
            "readyReplicas": 2,
            "availableReplicas": 2,
            "terminatingReplicas": 0,
            "observedGeneration": 3,
            "conditions": [CONDITION],
        },
    }
    empty: ClassVar[Document] = {
        "spec": {"selector": None, "template": NO_TEMPLATE},
        "status": {"replicas": 0},
    }


class TestDaemonSet(KindSuite):
    kind = DaemonSet
    list_kind = DaemonSetList
    document: ClassVar[Document] = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": METADATA,
        "spec": {
            "selector": SELECTOR,
            "template": POD_TEMPLATE,
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": "10%", "maxSurge": 0},
            },
            "minReadySeconds": 5,
            "revisionHistoryLimit": 10,
        },
        "status": {
            "currentNumberScheduled": 3,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 3,
            "numberReady": 2,
            "observedGeneration": 3,
            "updatedNumberScheduled": 3,
            "numberAvailable": 2,
            "numberUnavailable": 1,
            "collisionCount": 1,
            "conditions": [CONDITION],
        },
    }
    empty: ClassVar[Document] = {
        "spec": {"selector": None, "template": NO_TEMPLATE, "updateStrategy": {}},
        "status": {
            "currentNumberScheduled": 0,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 0,
            "numberReady": 0,
        },
    }


class TestControllerRevision(KindSuite):
    kind = ControllerRevision
    list_kind = ControllerRevisionList
    document: ClassVar[Document] = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": METADATA,
        "data": {"spec": {"template": {"$patch": "replace", **POD_TEMPLATE}}},
        "revision": 3,
    }
    empty: ClassVar[Document] = {"data": None, "revision": 0}


class TestScale(KindSuite):
    kind = Scale
    document: ClassVar[Document] = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": METADATA,
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "team=vision"},
    }
    empty: ClassVar[Document] = {"spec": {}, "status": {"replicas": 0}}


@pytest.mark.parametrize("amount", ["0", "1", '"25%"', '""', "-2147483648"])
def test_a_count_or_percentage_stays_what_it_was(amount: str) -> None:
    document = f'{{"maxSurge":{amount}}}'
    assert encode(decode(document.encode(), RollingUpdateDeployment)).decode() == document


@pytest.mark.parametrize("amount", ["2147483648", "0.5", "true", "[]"])
def test_a_count_is_a_whole_number_of_32_bits(amount: str) -> None:
    with pytest.raises(DecodeError, match="maxSurge"):
        decode(f'{{"maxSurge":{amount}}}'.encode(), RollingUpdateDeployment)
