"""Replica sets."""

from __future__ import annotations

import pytest

from dray.api.apps import ReplicaSet
from dray.api.core import PodResourceClaim
from dray.api.meta import LabelSelector
from tests.unit.validation.pod_builders import paths
from tests.unit.validation.workload_builders import (
    created,
    replica_set,
    status_updated,
    template,
    updated,
    with_status,
)

UNREADABLE = LabelSelector(match_labels={"A!": ""})


def test_a_plain_replica_set_may_be_created_and_written_back() -> None:
    plain = replica_set()
    assert created(plain) == []
    assert updated(plain, plain) == []
    assert status_updated(plain, plain) == []


@pytest.mark.parametrize(
    ("broken", "where"),
    [
        pytest.param(replica_set(replicas=-1), ["spec.replicas"], id="fewer-than-none"),
        pytest.param(replica_set(min_ready_seconds=-1), ["spec.minReadySeconds"], id="seconds"),
        pytest.param(
            replica_set(selector=None),
            ["spec.selector", "spec.template.metadata.labels"],
            id="no-selector",
        ),
        pytest.param(replica_set(selector=LabelSelector()), ["spec.selector"], id="everything"),
        pytest.param(
            replica_set(selector=UNREADABLE),
            ["spec.selector.matchLabels", "spec.selector"],
            id="unreadable-selector",
        ),
        pytest.param(
            replica_set(template=template(resource_claims=(PodResourceClaim(name="gpu"),))),
            ["spec.template.spec.resourceClaims[0]"],
            id="claim-of-nothing",
        ),
        pytest.param(
            replica_set(template=template(restart_policy="Never")),
            ["spec.template.spec.restartPolicy"],
            id="pods-that-end",
        ),
    ],
)
def test_what_a_replica_set_may_not_be(broken: ReplicaSet, where: list[str]) -> None:
    assert paths(created(broken)) == where


def test_upstream_calls_it_a_deployment() -> None:
    assert created(replica_set(selector=LabelSelector())) == [
        "spec.selector: Invalid value: {}: empty selector is invalid for deployment"
    ]


def test_the_selector_is_for_life() -> None:
    other = LabelSelector(match_labels={"app": "other"})
    new = replica_set(selector=other, template=template(labels={"app": "other"}))
    assert updated(new, replica_set()) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"other"}}: field is immutable'
    ]


def test_a_status_counts_no_more_than_there_are() -> None:
    old = replica_set()
    new = with_status(
        old, replicas=1, fully_labeled_replicas=2, ready_replicas=2, available_replicas=3
    )
    assert status_updated(new, old) == [
        "status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
    ]


def test_a_status_counts_nothing_below_nought() -> None:
    old = replica_set()
    new = with_status(old, terminating_replicas=-1, observed_generation=-1)
    assert paths(status_updated(new, old)) == [
        "status.observedGeneration",
        "status.terminatingReplicas",
    ]
