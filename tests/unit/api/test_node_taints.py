"""Which taints a pod withstands."""

from __future__ import annotations

import pytest

from dray.api.core import Node, NodeSpec, Taint, Toleration
from dray.api.node_taints import evicting_taints, matching_tolerations, tolerates

TAINT = Taint(key="rack", value="7", effect="NoExecute")


@pytest.mark.parametrize(
    ("toleration", "holds"),
    [
        pytest.param(Toleration(operator="Exists"), True, id="everything"),
        pytest.param(Toleration(key="rack", operator="Exists"), True, id="the-key"),
        pytest.param(Toleration(key="row", operator="Exists"), False, id="another-key"),
        pytest.param(Toleration(key="rack", value="7"), True, id="equal-by-default"),
        pytest.param(Toleration(key="rack", operator="Equal", value="8"), False, id="not-equal"),
        pytest.param(Toleration(key="rack", value="7", effect="NoExecute"), True, id="effect"),
        pytest.param(
            Toleration(key="rack", value="7", effect="NoSchedule"), False, id="another-effect"
        ),
        pytest.param(Toleration(key="rack", operator="Lt", value="8"), True, id="less"),
        pytest.param(Toleration(key="rack", operator="Lt", value="7"), False, id="not-less"),
        pytest.param(Toleration(key="rack", operator="Gt", value="6"), True, id="greater"),
        pytest.param(Toleration(key="rack", operator="Gt", value="7"), False, id="not-greater"),
        pytest.param(Toleration(key="rack", operator="Gt", value="06"), False, id="no-number"),
        pytest.param(Toleration(key="rack", operator="Near", value="7"), False, id="no-operator"),
    ],
)
def test_a_toleration_is_about_taints_that_it_matches(toleration: Toleration, holds: bool) -> None:
    assert tolerates(toleration, TAINT) is holds


def test_every_taint_has_its_first_toleration_or_there_is_no_answer() -> None:
    brief = Toleration(key="rack", operator="Exists", toleration_seconds=5)
    lasting = Toleration(operator="Exists")
    other = Taint(key="row", effect="NoExecute")
    assert matching_tolerations((brief, lasting), (TAINT, other)) == (brief, lasting)
    assert matching_tolerations((brief,), (TAINT, other)) is None
    assert matching_tolerations((), ()) == ()


def test_only_taints_with_no_execute_make_pods_leave() -> None:
    gentle = Taint(key="rack", effect="NoSchedule")
    assert evicting_taints(Node(spec=NodeSpec(taints=(gentle, TAINT)))) == (TAINT,)
