"""Daemon sets."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.apps import DaemonSetUpdateStrategy, RollingUpdateDaemonSet
from dray.api.core import PodResourceClaim
from dray.api.meta import LabelSelector, LabelSelectorRequirement
from dray.api.wire import replace
from tests.unit.validation.pod_builders import paths
from tests.unit.validation.workload_builders import (
    LABELS,
    created,
    daemon_set,
    status_updated,
    template,
    updated,
    with_status,
)


def rolling(**fields: Any) -> DaemonSetUpdateStrategy:
    return DaemonSetUpdateStrategy(
        type="RollingUpdate", rolling_update=RollingUpdateDaemonSet(**fields)
    )


def test_a_plain_daemon_set_may_be_created_and_written_back() -> None:
    plain = daemon_set()
    assert created(plain) == []
    assert updated(plain, plain) == []
    assert status_updated(plain, plain) == []


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        pytest.param({"selector": None}, ["spec.template.metadata.labels"], id="no-selector"),
        pytest.param({"selector": LabelSelector()}, ["spec.selector"], id="everything"),
        pytest.param({"min_ready_seconds": -1}, ["spec.minReadySeconds"], id="seconds"),
        pytest.param({"revision_history_limit": -1}, ["spec.revisionHistoryLimit"], id="history"),
        pytest.param(
            {"template": template(resource_claims=(PodResourceClaim(name="gpu"),))},
            ["spec.template.spec.resourceClaims[0]"],
            id="claim-of-nothing",
        ),
    ],
)
def test_what_a_daemon_set_may_not_be(spec: dict[str, Any], where: list[str]) -> None:
    assert paths(created(daemon_set(**spec))) == where


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        pytest.param(
            rolling(max_unavailable=1, max_surge=1),
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: "
            "may not be set when maxUnavailable is non-zero",
            id="two-and-none-at-once",
        ),
        pytest.param(
            rolling(max_unavailable=0, max_surge=0),
            "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: "
            "cannot be 0 when maxSurge is 0",
            id="stands-still",
        ),
        pytest.param(
            rolling(max_unavailable=0, max_surge="200%"),
            'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "200%": '
            "must not be greater than 100%",
            id="more-than-all",
        ),
        pytest.param(
            DaemonSetUpdateStrategy(type="X"),
            'spec.updateStrategy: Unsupported value: {"Type":"X","RollingUpdate":null}: '
            'supported values: "RollingUpdate", "OnDelete"',
            id="unknown",
        ),
    ],
)
def test_strategies_that_lead_nowhere(strategy: DaemonSetUpdateStrategy, told: str) -> None:
    assert created(daemon_set(update_strategy=strategy)) == [told]


def test_on_delete_needs_no_numbers() -> None:
    assert created(daemon_set(update_strategy=DaemonSetUpdateStrategy(type="OnDelete"))) == []


def test_a_strategy_without_its_defaults_is_told_so() -> None:
    plain = daemon_set()
    bare = replace(plain.spec, update_strategy=DaemonSetUpdateStrategy(type="RollingUpdate"))
    assert created(replace(plain, spec=bare)) == [
        "spec.updateStrategy.rollingUpdate: Required value"
    ]


def test_a_stored_selector_keeps_its_odd_values() -> None:
    clause = LabelSelectorRequirement(key="app", operator="NotIn", values=("x!",))
    odd = LabelSelector(match_labels=LABELS, match_expressions=(clause,))
    assert paths(created(daemon_set(selector=odd))) == [
        "spec.selector.matchExpressions[0].values[0]"
    ]
    assert updated(daemon_set(selector=odd), daemon_set(selector=odd)) == []


def test_the_selector_is_for_life() -> None:
    new = daemon_set(
        selector=LabelSelector(match_labels={"app": "b"}), template=template(labels={"app": "b"})
    )
    assert paths(updated(new, daemon_set())) == ["spec.selector"]


def test_a_status_counts_nothing_below_nought_and_never_back() -> None:
    old = with_status(daemon_set(), collision_count=1)
    new = with_status(daemon_set(), number_ready=-1)
    assert status_updated(new, old) == [
        "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
        "status.collisionCount: Invalid value: 0: cannot be decremented",
    ]
