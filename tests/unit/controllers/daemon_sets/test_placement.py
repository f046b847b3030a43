"""Which nodes fit."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.apps import LABEL_CONTROLLER_REVISION_HASH
from dray.api.core import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    Taint,
    Toleration,
)
from dray.api.meta import ObjectMeta
from dray.controllers.daemon_sets.placement import (
    LABEL_TEMPLATE_GENERATION,
    Placement,
    target_node,
)
from tests.unit.controllers.daemon_sets.daemon_parts import (
    MARK,
    make_daemon_set,
    make_node,
    make_pod,
)


def taint(effect: str, key: str = "example.com/trouble") -> Taint:
    return Taint(key=key, effect=effect)


def affinity(key: str, *values: str, operator: str = "In") -> Affinity:
    expression = NodeSelectorRequirement(key=key, operator=operator, values=values)
    selector = NodeSelector(
        node_selector_terms=(NodeSelectorTerm(match_expressions=(expression,)),)
    )
    return Affinity(
        node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=selector)
    )


TOLERANT = {"tolerations": (Toleration(key="example.com/trouble", operator="Exists"),)}
ZONE = {"zone": "a"}


@pytest.mark.parametrize(
    ("template", "node", "fit"),
    [
        pytest.param({}, make_node("n1"), (True, True), id="any"),
        pytest.param({"node_name": "n1"}, make_node("n1"), (True, True), id="named"),
        pytest.param({"node_name": "n2"}, make_node("n1"), (False, False), id="another"),
        pytest.param(
            {"node_selector": ZONE}, make_node("n1", labels=ZONE), (True, True), id="selected"
        ),
        pytest.param({"node_selector": ZONE}, make_node("n1"), (False, False), id="not-selected"),
        pytest.param(
            {"affinity": affinity("zone", "a", "b")},
            make_node("n1", labels=ZONE),
            (True, True),
            id="affine",
        ),
        pytest.param(
            {"affinity": affinity("zone", "b")},
            make_node("n1", labels=ZONE),
            (False, False),
            id="not-affine",
        ),
        pytest.param(
            {"affinity": affinity("zone", operator="Nonsense")},
            make_node("n1"),
            (False, False),
            id="unreadable",
        ),
        pytest.param(
            {}, make_node("n1", taints=[taint("NoSchedule")]), (False, True), id="may-stay"
        ),
        pytest.param(
            {}, make_node("n1", taints=[taint("NoExecute")]), (False, False), id="must-go"
        ),
        pytest.param(
            {}, make_node("n1", taints=[taint("PreferNoSchedule")]), (True, True), id="rather-not"
        ),
        pytest.param(
            TOLERANT, make_node("n1", taints=[taint("NoExecute")]), (True, True), id="tolerated"
        ),
        pytest.param(
            {},
            make_node("n1", taints=[taint("NoExecute", "node.kubernetes.io/unreachable")]),
            (True, True),
            id="trouble-that-daemons-sit-out",
        ),
        pytest.param(
            {},
            make_node("n1", taints=[taint("NoSchedule", "node.kubernetes.io/network-unavailable")]),
            (False, True),
            id="no-network",
        ),
        pytest.param(
            {"host_network": True},
            make_node("n1", taints=[taint("NoSchedule", "node.kubernetes.io/network-unavailable")]),
            (True, True),
            id="no-network-needed",
        ),
    ],
)
def test_a_node_fits_by_name_labels_and_taints(
    template: dict[str, Any], node: Node, fit: tuple[bool, bool]
) -> None:
    assert Placement(make_daemon_set(**template)).fit(node) == fit


def test_a_pod_asks_for_its_node_instead_of_what_the_node_was_chosen_by() -> None:
    template = Placement(make_daemon_set(affinity=affinity("zone", "a"))).template_for("n7", MARK)
    assert target_node(Pod(spec=template.spec)) == "n7"
    assert template.spec.affinity is not None
    assert template.spec.affinity.node_affinity is not None
    required = template.spec.affinity.node_affinity
    selector = required.required_during_scheduling_ignored_during_execution
    assert selector is not None
    (term,) = selector.node_selector_terms or ()
    assert term.match_expressions == ()


def test_a_toleration_is_not_said_twice() -> None:
    own = Toleration(
        key="node.kubernetes.io/not-ready",
        operator="Exists",
        effect="NoExecute",
        toleration_seconds=5,
    )
    template = Placement(make_daemon_set(tolerations=(own,))).template_for("n1", MARK)
    found = [each for each in template.spec.tolerations if each.key == own.key]
    assert [each.toleration_seconds for each in found] == [None]


def test_a_pod_is_current_by_its_hash_or_by_the_count_of_templates() -> None:
    annotations = {"deprecated.daemonset.template.generation": "4"}
    placement = Placement(make_daemon_set(annotations=annotations))
    assert placement.is_current(make_pod("a", "n1"), MARK)
    assert not placement.is_current(make_pod("a", "n1", new=False), MARK)
    counted = Pod(metadata=ObjectMeta(labels={LABEL_TEMPLATE_GENERATION: "4"}))
    assert placement.is_current(counted, MARK)
    assert not Placement(make_daemon_set()).is_current(counted, MARK)
    labels = placement.template_for("n1", MARK).metadata.labels
    assert labels[LABEL_CONTROLLER_REVISION_HASH] == MARK
    assert labels[LABEL_TEMPLATE_GENERATION] == "4"


def test_a_pod_that_is_bound_is_for_where_it_is() -> None:
    assert target_node(Pod(spec=PodSpec(node_name="n1"))) == "n1"
    assert target_node(Pod()) == ""
