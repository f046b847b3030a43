"""Node selectors: operators and the values they take."""

from __future__ import annotations

import pytest

from dray.api.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dray.validation.node_selectors import check_node_selector
from tests.unit.validation.builders import told


def expression(key: str, operator: str, *values: str) -> NodeSelector:
    requirement = NodeSelectorRequirement(key=key, operator=operator, values=values)
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(requirement,)),))


def field(key: str, operator: str, *values: str) -> NodeSelector:
    requirement = NodeSelectorRequirement(key=key, operator=operator, values=values)
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(requirement,)),))


@pytest.mark.parametrize(
    "selector",
    [
        expression("zone", "In", "a", "b"),
        expression("example.com/zone", "NotIn", "a"),
        expression("zone", "Exists"),
        expression("zone", "DoesNotExist"),
        expression("cores", "Gt", "4"),
        field("metadata.name", "In", "node-1"),
        NodeSelector(node_selector_terms=(NodeSelectorTerm(),)),
    ],
    ids=str,
)
def test_good_selectors_pass(selector: NodeSelector) -> None:
    assert told(check_node_selector, selector, "s") == []


EXPRESSION = "s.nodeSelectorTerms[0].matchExpressions[0]"
FIELD = "s.nodeSelectorTerms[0].matchFields[0]"


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        pytest.param(
            NodeSelector(),
            "s.nodeSelectorTerms: Required value: must have at least one node selector term",
            id="no-terms",
        ),
        pytest.param(
            expression("zone", "In"),
            f"{EXPRESSION}.values: Required value:"
            " must be specified when `operator` is 'In' or 'NotIn'",
            id="in-nothing",
        ),
        pytest.param(
            expression("zone", "Exists", "a"),
            f"{EXPRESSION}.values: Forbidden:"
            " may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            id="exists-with-a-value",
        ),
        pytest.param(
            expression("cores", "Lt", "1", "2"),
            f"{EXPRESSION}.values: Required value:"
            " must be specified single value when `operator` is 'Lt' or 'Gt'",
            id="less-than-two-values",
        ),
        pytest.param(
            expression("zone", "Is"),
            f'{EXPRESSION}.operator: Invalid value: "Is": not a valid selector operator',
            id="unknown-operator",
        ),
        pytest.param(
            field("metadata.name", "Exists"),
            f'{FIELD}.operator: Invalid value: "Exists": not a valid selector operator',
            id="fields-know-two-operators",
        ),
        pytest.param(
            field("metadata.name", "In", "a", "b"),
            f"{FIELD}.values: Required value: must be only one value when `operator` is 'In' or"
            " 'NotIn' for node field selector",
            id="a-field-has-one-value",
        ),
        pytest.param(
            field("spec.name", "In", "a"),
            f'{FIELD}.key: Invalid value: "spec.name": not a valid field selector key',
            id="another-field",
        ),
    ],
)
def test_a_bad_selector_is_told_where_and_why(selector: NodeSelector, text: str) -> None:
    assert told(check_node_selector, selector, "s") == [text]


@pytest.mark.parametrize(
    ("selector", "path"),
    [
        (expression("-zone", "Exists"), f"{EXPRESSION}.key"),
        (expression("zone", "In", "a", "b c"), f"{EXPRESSION}.values[1]"),
        (field("metadata.name", "In", "Node"), f"{FIELD}.values[0]"),
    ],
    ids=["key", "value", "node-name"],
)
def test_names_in_a_selector_must_be_names(selector: NodeSelector, path: str) -> None:
    (text,) = told(check_node_selector, selector, "s")
    assert text.startswith(f"{path}: Invalid value: ")
