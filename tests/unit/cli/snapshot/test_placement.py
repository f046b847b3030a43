from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
import yaml

from dray.api.codec import decode_builtins
from dray.api.core import Node, NodeSelector, Pod
from dray.cli.snapshot.placement import Against, NodeTerms, PodPlacement


def node(text: str = "", *, name: str = "n1") -> Node:
    value: dict[str, Any] = yaml.safe_load(dedent(text)) or {}
    value.setdefault("metadata", {})["name"] = name
    return decode_builtins(value, Node).value


def pod(spec: str) -> Pod:
    return decode_builtins({"spec": yaml.safe_load(dedent(spec)) or {}}, Pod).value


def reason(spec: str, where: Node) -> str:
    place = PodPlacement(pod(spec)).place(where)
    assert place.ok == (not place.reason)
    return place.reason


TAINTED = """
    spec:
      taints:
      - {key: soft, effect: PreferNoSchedule}
      - {key: team, value: lab, effect: NoSchedule}
    """


@pytest.mark.parametrize(
    ("spec", "where", "expected"),
    [
        ("", "", ""),
        ("nodeName: n1", "", ""),
        ("nodeName: n2", "", "is not the pod's spec.nodeName n2"),
        ("nodeSelector: {disk: ssd}", "metadata: {labels: {disk: ssd}}", ""),
        (
            "nodeSelector: {disk: ssd}",
            "metadata: {labels: {disk: hdd}}",
            "does not match nodeSelector disk=ssd",
        ),
        ("", "spec: {unschedulable: true}", "is unschedulable (cordoned)"),
        (
            "tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists}]",
            "spec: {unschedulable: true}",
            "",
        ),
        ("", TAINTED, "untolerated taint team=lab:NoSchedule"),
        ("tolerations: [{key: team, value: lab}]", TAINTED, ""),
        (
            "tolerations: [{key: team, value: x}]",
            TAINTED,
            "untolerated taint team=lab:NoSchedule",
        ),
        (
            "tolerations: [{key: team, operator: Exists, effect: NoExecute}]",
            TAINTED,
            "untolerated taint team=lab:NoSchedule",
        ),
        ("tolerations: [{operator: Exists}]", TAINTED, ""),
        (
            "tolerations: [{key: team, operator: Gt, value: '1'}]",
            "spec: {taints: [{key: team, value: '2', effect: NoExecute}]}",
            "untolerated taint team=2:NoExecute",
        ),
    ],
)
def test_a_node_gets_the_first_reason_against_it(spec: str, where: str, expected: str) -> None:
    assert reason(spec, node(where)) == expected


AFFINITY = """
    affinity:
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - {}
          - matchExpressions: [{key: zone, operator: In, values: [a, b]}]
          - matchFields: [{key: metadata.name, operator: In, values: [n9]}]
    """


def test_required_affinity_is_met_by_any_term() -> None:
    assert reason(AFFINITY, node("metadata: {labels: {zone: b}}")) == ""
    assert reason(AFFINITY, node(name="n9")) == ""
    expected = "does not match the required node affinity: zone in (a,b) or metadata.name=n9"
    assert reason(AFFINITY, node()) == expected


def test_a_reason_says_which_rule_it_comes_from() -> None:
    place = PodPlacement(pod(AFFINITY)).place(node())
    assert (place.node, place.against) == ("n1", Against.NODE_AFFINITY)


def test_labels_that_are_not_known_do_not_speak_against_a_node() -> None:
    placement = PodPlacement(pod("nodeSelector: {disk: ssd}"), labels_known=False)
    assert placement.reads_labels
    assert placement.place(node()).ok
    named = PodPlacement(pod(AFFINITY), labels_known=False)
    assert named.place(node()).ok
    assert not PodPlacement(pod("nodeName: n2")).reads_labels


@pytest.mark.parametrize(
    ("term", "error"),
    [
        ("matchExpressions: [{key: a, operator: Has}]", "operator"),
        ("matchFields: [{key: metadata.name, operator: Exists}]", "In and NotIn only"),
        ("matchFields: [{key: metadata.name, operator: In, values: [a, b]}]", "one element"),
    ],
)
def test_a_term_that_cannot_be_read_selects_no_node(term: str, error: str) -> None:
    text = f"nodeSelectorTerms: [{{{term}}}]"
    terms = NodeTerms.of(decode_builtins(yaml.safe_load(text), NodeSelector).value)
    assert not terms.selects(node())
    assert error in terms.errors[0]
    assert str(terms) == "nothing"


def test_a_field_can_exclude_a_node() -> None:
    text = """
        nodeSelectorTerms:
        - matchFields: [{key: metadata.name, operator: NotIn, values: [n1]}]
        """
    terms = NodeTerms.of(decode_builtins(yaml.safe_load(dedent(text)), NodeSelector).value)
    assert not terms.selects(node())
    assert terms.selects(node(name="n2"))
