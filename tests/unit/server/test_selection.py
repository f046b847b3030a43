from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest

from dray.errors import BadRequest
from dray.server.registry import Registry, Served
from dray.server.selection import READ_MAX, Reading, key_under, node_name_of, select
from dray.store.store import Record

REGISTRY = Registry()


def served(group: str, plural: str) -> Served:
    found = REGISTRY.find(group, "v1", plural)
    assert found is not None
    return found


PODS = served("", "pods")
NODES = served("", "nodes")


def record(**document: Any) -> Record:
    value = msgspec.json.encode({"metadata": {"name": "p", "namespace": "a"}, **document})
    return Record("core/pods/a/p", value, 5, 5)


def labelled(**labels: str) -> Record:
    return record(metadata={"name": "p", "namespace": "a", "labels": labels})


@pytest.mark.parametrize(
    ("selector", "labels", "meant"),
    [
        pytest.param("a=b", {"a": "b"}, True, id="equal"),
        pytest.param("a==b", {"a": "c"}, False, id="not-equal"),
        pytest.param("a!=b", {}, True, id="differs-by-absence"),
        pytest.param("a in (x, b)", {"a": "b"}, True, id="in"),
        pytest.param("a notin (x, b)", {"a": "b"}, False, id="not-in"),
        pytest.param("a", {"a": ""}, True, id="there"),
        pytest.param("!a", {"a": ""}, False, id="absent"),
        pytest.param("n>3,n<9", {"n": "5"}, True, id="between"),
        pytest.param("a=b,c=d", {"a": "b"}, False, id="all-must-hold"),
    ],
)
def test_labels_decide(selector: str, labels: dict[str, str], *, meant: bool) -> None:
    assert select(PODS, "a", selector, "").matches(labelled(**labels)) is meant


@pytest.mark.parametrize(
    ("selector", "meant"),
    [
        pytest.param("spec.nodeName=n", True, id="field"),
        pytest.param("spec.nodeName!=n", False, id="not-field"),
        pytest.param("spec.nodeName=n,status.phase=Running", False, id="both"),
        pytest.param("metadata.name=p", True, id="name"),
    ],
)
def test_fields_decide(selector: str, *, meant: bool) -> None:
    pod = record(spec={"nodeName": "n"}, status={"phase": "Pending"})
    assert select(PODS, "a", "", selector).matches(pod) is meant


def test_nothing_asked_means_everything() -> None:
    assert select(PODS, "", "", "").everything
    assert select(PODS, "a", "", "").prefix == "core/pods/a/"
    assert not select(PODS, "", "a=b", "").everything
    assert not select(PODS, "", "", "metadata.name=p").everything


def _canonical(labels: str) -> tuple[str, str, str]:
    return select(PODS, "a", labels, "").canonical


def test_equal_interests_are_recognised() -> None:
    assert _canonical("x in (b,c)") == _canonical(" x  in (c, b)")
    assert _canonical("x=y") != _canonical("x=z")
    assert _canonical("x=y") != select(PODS, "b", "x=y", "").canonical


@pytest.mark.parametrize(
    ("labels", "fields"),
    [
        pytest.param("a=b=c", "", id="labels"),
        pytest.param("a in b", "", id="no-set"),
        pytest.param("", "metadata.name", id="fields"),
        pytest.param("", "spec.unheard=x", id="unknown-field"),
    ],
)
def test_selectors_that_make_no_sense_are_refused(labels: str, fields: str) -> None:
    with pytest.raises(BadRequest):
        select(PODS, "a", labels, fields)


@pytest.mark.parametrize(
    ("which", "namespace", "fields", "key"),
    [
        pytest.param(PODS, "a", "metadata.name=p", "core/pods/a/p", id="name-and-namespace"),
        pytest.param(
            PODS, "", "metadata.name=p,metadata.namespace=b", "core/pods/b/p", id="two-fields"
        ),
        pytest.param(PODS, "", "metadata.name=p", None, id="in-any-namespace"),
        pytest.param(PODS, "a", "metadata.name!=p", None, id="any-but-one"),
        pytest.param(PODS, "a", "metadata.name=p/q", None, id="no-name"),
        pytest.param(NODES, "", "metadata.name=n", "core/nodes/n", id="in-no-namespace"),
        pytest.param(NODES, "", "", None, id="nothing"),
    ],
)
def test_one_name_in_one_place_is_one_key(
    which: Served, namespace: str, fields: str, key: str | None
) -> None:
    assert key_under(select(which, namespace, "", fields), which) == key


# Reading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "fields"), [("a=b", ""), ("", "spec.nodeName=n"), ("a=b", "spec.nodeName=n")]
)
def test_what_was_read_before_decides_the_same(selector: str, fields: str) -> None:
    selection, reading = select(PODS, "a", selector, fields), Reading()
    metadata = {"name": "p", "namespace": "a", "labels": {"a": "b"}}
    meant = record(metadata=metadata, spec={"nodeName": "n"})
    other = msgspec.structs.replace(record(), revision=6)
    for _each in range(2):
        assert selection.matches(meant, reading)
        assert not selection.matches(other, reading)


def test_a_reading_remembers_and_is_bounded() -> None:
    reading = Reading()
    records = [msgspec.structs.replace(labelled(), revision=n) for n in range(READ_MAX + 1)]
    for read in (reading.document, reading.labels):
        first, last = read(records[0]), [read(one) for one in records][-1]
        assert read(records[0]) is first
        assert read(records[-1]) is not last
        assert read(records[-1]) == last


@pytest.mark.parametrize("document", [{}, {"spec": {}}, {"spec": None}, {"spec": {"nodeName": 5}}])
def test_what_is_on_no_node_has_no_name_of_one(document: Any) -> None:
    assert node_name_of(record(**document)) == ""
    assert select(PODS, "a", "", "spec.nodeName=").matches(record(**document))


def test_what_is_on_a_node_has_its_name() -> None:
    assert node_name_of(record(spec={"nodeName": "n", "containers": []})) == "n"


@pytest.mark.parametrize(
    ("node", "document", "meant"),
    [
        pytest.param("n-1", {"spec": {"nodeName": "n-1"}}, True, id="there"),
        pytest.param("n-1", {"spec": {"nodeName": "n-11"}}, False, id="longer"),
        pytest.param(
            "n-1", {"spec": {"nodeName": "x"}, "status": {"phase": "n-1"}}, False, id="elsewhere"
        ),
        pytest.param("n-1", {}, False, id="nowhere"),
        pytest.param("", {}, True, id="none-wanted"),
        pytest.param("\u00e9", {"spec": {"nodeName": "\u00e9"}}, True, id="not-plain"),
    ],
)
def test_objects_of_a_node_are_found_whatever_else_names_it(
    node: str, document: dict[str, Any], *, meant: bool
) -> None:
    assert select(PODS, "", "", f"spec.nodeName={node}").matches(record(**document)) is meant


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ("spec.nodeName!=", True),
        ("spec.nodeName!=n,spec.nodeName!=m", False),
        ("spec.nodeName!=,status.phase=Running", False),
    ],
)
def test_nodes_may_be_ruled_out(fields: str, *, meant: bool) -> None:
    pod = record(spec={"nodeName": "n"}, status={"phase": "Pending"})
    assert select(PODS, "", "", fields).matches(pod) is meant


def test_what_a_definition_calls_a_node_name_need_not_be_text() -> None:
    widgets = dataclasses.replace(PODS, selectable=(".spec.nodeName",))
    assert select(widgets, "", "", "spec.nodeName=5").matches(record(spec={"nodeName": 5}))
    assert not select(widgets, "", "", "spec.nodeName=").matches(record(spec={"nodeName": 5}))
