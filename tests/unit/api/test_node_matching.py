"""Whether slices and devices are for a node."""

from __future__ import annotations

import pytest

from dray.api.core import NodeSelector, NodeSelectorRequirement
from dray.api.node_matching import node_matches
from dray.api.wire import UnknownFields, replace
from dray.errors import AllocationError
from tests.unit.allocator.builders import labelled, node, node_selector, requirement, term

ELSEWHERE = labelled("zone", "z9")
HERE = labelled("zone", "z1", "z2")
NODE = node("node-1", labels={"zone": "z1", "cores": "8"})
BROKEN = node_selector(term(requirement("zone", "In")))


@pytest.mark.parametrize(
    ("node_name", "all_nodes", "selector", "expected"),
    [
        pytest.param("node-1", None, None, True, id="its-name"),
        pytest.param("node-2", None, None, False, id="other-name"),
        pytest.param("node-2", True, HERE, False, id="a-name-decides-first"),
        pytest.param("node-1", False, BROKEN, True, id="a-name-spares-the-selector"),
        pytest.param("", True, None, True, id="an-empty-name-is-none"),
        pytest.param(None, True, ELSEWHERE, True, id="all-nodes-decides-second"),
        pytest.param(None, True, BROKEN, True, id="all-nodes-spares-the-selector"),
        pytest.param(None, False, HERE, True, id="not-all-nodes-asks-the-selector"),
        pytest.param(None, None, ELSEWHERE, False, id="the-selector-says-no"),
        pytest.param(None, None, None, False, id="nothing-is-nowhere"),
    ],
)
def test_the_first_way_to_say_where_decides(
    node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None, expected: bool
) -> None:
    assert node_matches(NODE, node_name, all_nodes, selector) is expected


def selected(*requirements: NodeSelectorRequirement) -> bool:
    return node_matches(NODE, None, None, node_selector(term(*requirements)))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(requirement("zone", "In", "z1", "z2"), True, id="in"),
        pytest.param(requirement("rack", "In", "r1"), False, id="in-without-the-label"),
        pytest.param(requirement("zone", "NotIn", "z1"), False, id="not-in"),
        pytest.param(requirement("rack", "NotIn", "r1"), True, id="not-in-without-the-label"),
        pytest.param(requirement("zone", "Exists"), True, id="exists"),
        pytest.param(requirement("zone", "DoesNotExist"), False, id="does-not-exist"),
        pytest.param(requirement("cores", "Gt", "7"), True, id="greater"),
        pytest.param(requirement("cores", "Gt", "8"), False, id="not-greater"),
        pytest.param(requirement("cores", "Lt", "10"), True, id="less-as-numbers"),
        pytest.param(requirement("zone", "Lt", "10"), False, id="no-number"),
    ],
)
def test_labels_are_matched_by_every_operator(
    wanted: NodeSelectorRequirement, expected: bool
) -> None:
    assert selected(wanted) is expected


def test_all_requirements_of_a_term_must_hold() -> None:
    assert not selected(requirement("zone", "Exists"), requirement("rack", "Exists"))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param([requirement("metadata.name", "In", "node-1")], True, id="its-name"),
        pytest.param([requirement("metadata.name", "In", "node-2")], False, id="other-name"),
        pytest.param([requirement("metadata.name", "NotIn", "node-2")], True, id="not-other-name"),
        pytest.param([requirement("metadata.uid", "In", "u")], False, id="unknown-field"),
        pytest.param([requirement("metadata.uid", "In", "")], True, id="unknown-reads-as-empty"),
        pytest.param(
            [
                requirement("metadata.name", "In", "node-1"),
                requirement("metadata.name", "NotIn", "node-1"),
            ],
            False,
            id="all-must-hold",
        ),
    ],
)
def test_of_fields_only_the_name_is_known(
    fields: list[NodeSelectorRequirement], expected: bool
) -> None:
    assert node_matches(NODE, None, None, node_selector(term(fields=fields))) is expected


def test_labels_and_fields_of_a_term_must_both_hold() -> None:
    name = requirement("metadata.name", "In", "node-1")
    here, there = requirement("zone", "In", "z1"), requirement("zone", "In", "z9")
    assert node_matches(NODE, None, None, node_selector(term(here, fields=[name])))
    assert not node_matches(NODE, None, None, node_selector(term(there, fields=[name])))


def test_a_node_without_a_name_passes_every_test_of_fields() -> None:
    fields = [requirement("metadata.name", "In", "node-1")]
    assert node_matches(node(""), None, None, node_selector(term(fields=fields)))


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param(NodeSelector(), False, id="no-terms"),
        pytest.param(node_selector(term()), False, id="an-empty-term-selects-nothing"),
        pytest.param(
            node_selector(term(), term(requirement("zone", "In", "z1"))), True, id="beside-another"
        ),
        pytest.param(
            node_selector(
                term(requirement("zone", "In", "z9")), term(requirement("zone", "In", "z1"))
            ),
            True,
            id="any-term-suffices",
        ),
    ],
)
def test_terms_are_alternatives(selector: NodeSelector, expected: bool) -> None:
    assert node_matches(NODE, None, None, selector) is expected


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        pytest.param(
            BROKEN,
            "&NodeSelector{NodeSelectorTerms:[]NodeSelectorTerm{NodeSelectorTerm{MatchExpressions:"
            "[]NodeSelectorRequirement{NodeSelectorRequirement{Key:zone,Operator:In,Values:[],},},"
            "MatchFields:[]NodeSelectorRequirement{},},},}: "
            "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: "
            "for 'in', 'notin' operators, values set can't be empty",
            id="one-error",
        ),
        pytest.param(
            node_selector(term(requirement("zone", "In"), requirement("rack", "NotIn"))),
            "&NodeSelector{NodeSelectorTerms:[]NodeSelectorTerm{NodeSelectorTerm{MatchExpressions:"
            "[]NodeSelectorRequirement{NodeSelectorRequirement{Key:zone,Operator:In,Values:[],},"
            "NodeSelectorRequirement{Key:rack,Operator:NotIn,Values:[],},},"
            "MatchFields:[]NodeSelectorRequirement{},},},}: "
            "[nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: "
            "for 'in', 'notin' operators, values set can't be empty, "
            "nodeSelectorTerms[0].matchExpressions[1].values: Invalid value: null: "
            "for 'in', 'notin' operators, values set can't be empty]",
            id="two-errors-of-one-term",
        ),
        pytest.param(
            node_selector(
                term(requirement("zone", "Like", "z*", "y")),
                term(),
                term(
                    requirement("", "Exists"),
                    requirement("cores", "Gt", "many"),
                    fields=[
                        requirement("metadata.name", "Exists"),
                        requirement("metadata.name", "In", "a", "b"),
                    ],
                ),
            ),
            "&NodeSelector{NodeSelectorTerms:[]NodeSelectorTerm{NodeSelectorTerm{MatchExpressions:"
            "[]NodeSelectorRequirement{NodeSelectorRequirement{"
            "Key:zone,Operator:Like,Values:[z* y],},},MatchFields:[]NodeSelectorRequirement{},},"
            "NodeSelectorTerm{MatchExpressions:[]NodeSelectorRequirement{},"
            "MatchFields:[]NodeSelectorRequirement{},},"
            "NodeSelectorTerm{MatchExpressions:[]NodeSelectorRequirement{"
            "NodeSelectorRequirement{Key:,Operator:Exists,Values:[],},"
            "NodeSelectorRequirement{Key:cores,Operator:Gt,Values:[many],},},"
            "MatchFields:[]NodeSelectorRequirement{"
            "NodeSelectorRequirement{Key:metadata.name,Operator:Exists,Values:[],},"
            "NodeSelectorRequirement{Key:metadata.name,Operator:In,Values:[a b],},},},},}: "
            "[nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "
            '"Like": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", '
            'nodeSelectorTerms[2].matchExpressions[0].key: Invalid value: "": name part must be '
            "non-empty; name part must consist of alphanumeric characters, '-', '_' or '.', and "
            "must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
            "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), "
            'nodeSelectorTerms[2].matchExpressions[1].values[0]: Invalid value: "many": '
            "for 'Gt', 'Lt' operators, the value must be an integer, "
            'nodeSelectorTerms[2].matchFields[0].operator: Unsupported value: "Exists": '
            'supported values: "In", "NotIn", '
            'nodeSelectorTerms[2].matchFields[1].values: Invalid value: ["a","b"]: '
            "must have one element]",
            id="many-errors",
        ),
    ],
)
def test_a_selector_that_cannot_be_read_is_told_in_full(
    selector: NodeSelector, message: str
) -> None:
    with pytest.raises(AllocationError) as caught:
        node_matches(NODE, None, None, selector)
    assert str(caught.value) == f"failed to parse node selector {message}"


def test_a_broken_term_fails_a_selector_of_which_another_term_matches() -> None:
    selector = node_selector(term(requirement("zone", "Exists")), term(requirement("zone", "In")))
    with pytest.raises(AllocationError, match="failed to parse node selector"):
        node_matches(NODE, None, None, selector)


def test_a_selector_with_unknown_members_matches_all_the_same() -> None:
    newer = replace(HERE, unknown_fields=UnknownFields({"spread": {"by": "rack"}}))
    assert node_matches(NODE, None, None, newer)
    assert not node_matches(node(), None, None, newer)
