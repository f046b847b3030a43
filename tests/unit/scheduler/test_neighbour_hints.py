"""Pods and nodes that come, go or change, for pods that other pods keep away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dray.api.core import (
    Affinity,
    Node,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from dray.api.meta import LabelSelector, ObjectMeta
from dray.api.wire import replace
from dray.scheduler.cluster_events import node_event, pod_event
from dray.scheduler.neighbour_hints import (
    affinity_by_node,
    affinity_by_pod,
    affinity_shape,
    spread_by_node,
    spread_by_pod,
    spread_by_self,
    spread_shape,
)
from tests.unit.scheduler.queued import node, pod

WEB, DB = {"app": "web"}, {"app": "db"}


def term(labels: Mapping[str, str], **fields: Any) -> PodAffinityTerm:
    return PodAffinityTerm(
        label_selector=LabelSelector(match_labels=labels), topology_key="zone", **fields
    )


def near(*terms: PodAffinityTerm) -> Pod:
    affinity = PodAffinity(required_during_scheduling_ignored_during_execution=terms)
    return pod("a", affinity=Affinity(pod_affinity=affinity))


def far(*terms: PodAffinityTerm) -> Pod:
    affinity = PodAntiAffinity(required_during_scheduling_ignored_during_execution=terms)
    return pod("a", labels=DB, affinity=Affinity(pod_anti_affinity=affinity))


def other(labels: Mapping[str, str], namespace: str = "default", **spec: Any) -> Pod:
    made = pod("other", labels=labels, node_name="node-1", **spec)
    return replace(
        made, metadata=ObjectMeta(name="other", uid="other", namespace=namespace, labels=labels)
    )


HATER = other(WEB, affinity=far(term(DB)).spec.affinity)


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(near(term(WEB)), None, other(WEB), True, id="wanted-comes"),
        pytest.param(near(term(WEB)), None, other(DB), False, id="another-comes"),
        pytest.param(near(term(WEB)), None, other(WEB, "b"), False, id="in-another-namespace"),
        pytest.param(
            near(term(WEB, namespaces=("b",))), None, other(WEB, "b"), True, id="in-the-namespace"
        ),
        pytest.param(
            near(term(WEB, namespace_selector=LabelSelector(match_labels={"team": "x"}))),
            None,
            other(WEB, "b"),
            True,
            id="in-a-namespace-that-may-be-selected",
        ),
        pytest.param(
            near(term(WEB), term(DB)), None, other(WEB), False, id="meant-by-one-term-of-two"
        ),
        pytest.param(near(term(WEB)), other(DB), other(WEB), True, id="becomes-wanted"),
        pytest.param(near(term(WEB)), other(WEB), other({**WEB, "x": "y"}), False, id="stays"),
        pytest.param(near(term(WEB)), other(WEB), None, False, id="wanted-goes"),
        pytest.param(far(term(WEB)), None, other(WEB), False, id="unwanted-comes"),
        pytest.param(far(term(WEB)), other(WEB), None, True, id="unwanted-goes"),
        pytest.param(far(term(WEB)), other(DB), None, False, id="another-goes"),
        pytest.param(far(term(WEB)), other(WEB), other(DB), True, id="no-longer-unwanted"),
        pytest.param(pod("a", labels=DB), HATER, None, True, id="who-wanted-me-far-goes"),
        pytest.param(pod("a", labels=WEB), HATER, None, False, id="who-wanted-others-far-goes"),
    ],
)
def test_affinity_is_helped_by_pods_as_its_terms_say(
    waiting: Pod, old: Pod | None, new: Pod | None, expected: bool
) -> None:
    event = pod_event(old, new)
    assert event is not None
    assert affinity_by_pod(waiting, event) is expected


A, B, NOWHERE = node("n", labels={"zone": "a"}), node("n", labels={"zone": "b"}), node("n")


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(near(term(WEB)), None, A, True, id="near-new"),
        pytest.param(near(term(WEB)), None, NOWHERE, False, id="near-new-in-no-place"),
        pytest.param(near(term(WEB)), NOWHERE, A, True, id="near-gets-a-place"),
        pytest.param(near(term(WEB)), A, B, True, id="near-moves"),
        pytest.param(near(term(WEB)), A, NOWHERE, False, id="near-loses-its-place"),
        pytest.param(far(term(WEB)), None, NOWHERE, True, id="far-new"),
        pytest.param(far(term(WEB)), A, NOWHERE, True, id="far-loses-its-place"),
        pytest.param(far(term(WEB)), A, B, True, id="far-moves"),
        pytest.param(far(term(WEB)), NOWHERE, A, False, id="far-gets-a-place"),
    ],
)
def test_affinity_is_helped_by_nodes_that_come_or_move(
    waiting: Pod, old: Node | None, new: Node, expected: bool
) -> None:
    event = node_event(old, new)
    assert event is not None
    assert affinity_by_node(waiting, event) is expected


def spread(*, labels: Mapping[str, str] = WEB, hard: bool = True, **fields: Any) -> Pod:
    constraint = TopologySpreadConstraint(
        max_skew=1,
        topology_key="zone",
        when_unsatisfiable="DoNotSchedule" if hard else "ScheduleAnyway",
        label_selector=LabelSelector(match_labels={"app": "web"}),
        **fields,
    )
    return pod("a", labels=labels, topology_spread_constraints=(constraint,))


BY_VERSION = spread(labels={**WEB, "version": "2"}, match_label_keys=("version",))


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(spread(), None, other(WEB), True, id="counted-comes"),
        pytest.param(spread(), other(WEB), None, True, id="counted-goes"),
        pytest.param(spread(), None, other(DB), False, id="another-comes"),
        pytest.param(spread(), None, other(WEB, "b"), False, id="in-another-namespace"),
        pytest.param(spread(), other(DB), other(WEB), True, id="begins-to-count"),
        pytest.param(spread(), other(WEB), other({**WEB, "x": "y"}), False, id="counts-as-before"),
        pytest.param(spread(hard=False), None, other(WEB), False, id="mere-preference"),
        pytest.param(BY_VERSION, None, other({**WEB, "version": "1"}), False, id="of-another-key"),
        pytest.param(BY_VERSION, None, other({**WEB, "version": "2"}), True, id="of-the-same-key"),
    ],
)
def test_spread_is_helped_by_pods_that_it_counts(
    waiting: Pod, old: Pod | None, new: Pod | None, expected: bool
) -> None:
    event = pod_event(old, new)
    assert event is not None
    assert spread_by_pod(waiting, event) is expected


TAINTED = node("n", labels={"zone": "a"}, taints=(Taint(key="x", effect="NoSchedule"),))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, A, True, id="comes"),
        pytest.param(None, NOWHERE, False, id="comes-without-a-place"),
        pytest.param(A, None, True, id="goes"),
        pytest.param(NOWHERE, None, False, id="goes-without-a-place"),
        pytest.param(A, B, True, id="moves"),
        pytest.param(NOWHERE, A, True, id="gets-a-place"),
        pytest.param(TAINTED, A, True, id="taint-goes"),
        pytest.param(A, node("n", labels={"zone": "a", "x": "y"}), False, id="another-label"),
    ],
)
def test_spread_is_helped_by_nodes_that_change_what_counts(
    old: Node | None, new: Node | None, expected: bool
) -> None:
    event = node_event(old, new)
    assert event is not None
    assert spread_by_node(spread(), event) is expected


HONORING = spread(node_taints_policy="Honor")


def tolerating(pod: Pod) -> Pod:
    return replace(pod, spec=replace(pod.spec, tolerations=(Toleration(key="x"),)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(spread(), spread(labels=DB), True, id="no-longer-counted"),
        pytest.param(spread(), spread(labels={**WEB, "x": "y"}), False, id="another-label"),
        pytest.param(
            BY_VERSION,
            spread(labels={**WEB, "version": "3"}, match_label_keys=("version",)),
            True,
            id="a-label-it-selects-by",
        ),
        pytest.param(HONORING, tolerating(HONORING), True, id="tolerates-more-where-that-counts"),
        pytest.param(spread(), tolerating(spread()), False, id="tolerates-more-where-it-does-not"),
    ],
)
def test_spread_is_helped_by_changes_of_the_pod_itself(old: Pod, new: Pod, expected: bool) -> None:
    event = pod_event(old, new)
    assert event is not None
    assert spread_by_self(new, event) is expected


def test_pods_of_one_template_have_one_shape() -> None:
    for shape, alike, different in (
        (spread_shape, spread(), spread(hard=False)),
        (affinity_shape, near(term(WEB)), far(term(WEB))),
    ):
        twin = replace(alike, metadata=replace(alike.metadata, name="twin", uid="twin"))
        assert shape(alike) == shape(twin)
        assert shape(alike) != shape(different)
