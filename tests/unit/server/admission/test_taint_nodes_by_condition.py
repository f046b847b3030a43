from __future__ import annotations

from dray.api.core import Taint
from dray.server.admission.request import Operation
from dray.server.admission.taint_nodes_by_condition import TaintNodesByCondition
from tests.unit.server.admission.builders import NODES, create, node

NOT_READY = Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")


def test_a_new_node_is_not_ready_yet() -> None:
    other = Taint(key="a", effect="NoExecute")
    admitted = TaintNodesByCondition().admit(create(NODES, node(taints=(other,))))
    assert admitted.spec.taints == (other, NOT_READY)


def test_the_taint_is_not_added_twice() -> None:
    request = create(NODES, node(taints=(NOT_READY,)))
    assert TaintNodesByCondition().admit(request) is request.object


def test_only_creates_of_nodes_matter() -> None:
    plugin = TaintNodesByCondition()
    assert plugin.concerns(NODES, "", Operation.CREATE)
    assert not plugin.concerns(NODES, "", Operation.UPDATE)
    assert not plugin.concerns(NODES, "status", Operation.CREATE)
