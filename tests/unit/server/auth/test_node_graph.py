from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.api.core import Pod
from dray.server.auth import node_graph
from dray.server.auth.node_graph import NodeGraph
from dray.server.auth.pod_references import ReferencedKind, references_of
from dray.server.state import FixedState
from tests.unit.server.auth.pods import pod

SECRET = ReferencedKind.SECRET


class Counting(FixedState):
    lists = 0

    def list(self, kind, namespace=""):  # type: ignore[no-untyped-def]
        self.lists += 1
        return super().list(kind, namespace)


def test_a_node_reaches_what_its_pods_refer_to_in_their_namespace() -> None:
    graph = NodeGraph(FixedState(pod(node="n1", secret="s")))
    assert graph.reaches("n1", SECRET, "team", "s")
    assert not graph.reaches("n2", SECRET, "team", "s")
    assert not graph.reaches("n1", SECRET, "other", "s")
    assert not graph.reaches("n1", SECRET, "", "s")
    assert not graph.reaches("n1", SECRET, "team", "t")
    assert not graph.reaches("n1", ReferencedKind.CONFIG_MAP, "team", "s")


def test_what_a_node_keeps_asking_for_is_not_searched_for_again() -> None:
    state = Counting(pod(node="n1", secret="s"))
    graph = NodeGraph(state)
    graph.reaches("n1", SECRET, "team", "s")
    for number in range(10):
        state.put(pod(f"p{number}", node="n2"))
        assert graph.reaches("n1", SECRET, "team", "s")
    assert state.lists == 1


def test_an_answer_of_no_is_kept_until_a_pod_changes() -> None:
    state = Counting(pod(node="n1"))
    graph = NodeGraph(state)
    for _ in range(3):
        assert not graph.reaches("n1", SECRET, "team", "s")
    assert state.lists == 1
    state.put(pod(node="n1", secret="s"))
    assert graph.reaches("n1", SECRET, "team", "s")


def test_namespaces_without_pods_leave_nothing_behind() -> None:
    state = FixedState(pod(node="n1"))
    graph = NodeGraph(state)
    for number in range(5):
        graph.reaches("n1", SECRET, f"n{number}", "s")
    graph.reaches("n1", SECRET, "team", "s")
    assert list(graph._namespaces) == ["team"]
    state.remove(pod())
    graph.reaches("n1", SECRET, "team", "s")
    assert not graph._namespaces


def test_a_graph_that_is_told_looks_at_what_changed_only() -> None:
    state = Counting(pod(node="n1"))
    graph = NodeGraph(state, told=True)
    assert not graph.reaches("n1", SECRET, "team", "s")
    for number in range(5):
        new = pod(f"p{number}", node="n1", secret=f"s{number}")
        state.put(new)
        graph.note("team", new.metadata.name)
        assert graph.reaches("n1", SECRET, "team", f"s{number}")
    assert state.lists == 1


def test_changes_nobody_asks_about_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_graph, "CHANGES_MAX", 3)
    state = FixedState(pod(node="n1", secret="s"))
    graph = NodeGraph(state, told=True)
    graph.reaches("n1", SECRET, "team", "s")
    for number in range(4):
        graph.note("team", f"p{number}")
        graph.note("other", f"p{number}")
    assert not graph._namespaces
    assert graph.reaches("n1", SECRET, "team", "s")


names = st.sampled_from(["a", "b"])
changes = st.builds(
    lambda name, node, secret: pod(name, node=node, secret=secret),
    names,
    st.sampled_from(["", "n1", "n2"]),
    st.sampled_from(["", "a", "b"]),
)


@settings(max_examples=30)
@given(
    st.booleans(), st.lists(st.tuples(st.booleans(), changes, st.sampled_from(["n1", "n2"]), names))
)
def test_answers_equal_those_of_looking_at_all_pods(
    told: bool, steps: list[tuple[bool, Pod, str, str]]
) -> None:
    state = FixedState()
    graph = NodeGraph(state, told=told)
    for gone, changed, node, secret in steps:
        (state.remove if gone else state.put)(changed)
        graph.note(changed.metadata.namespace, changed.metadata.name)
        expected = any(
            found.spec.node_name == node and (SECRET, secret) in references_of(found)
            for found in state.list(Pod, "team")
        )
        assert graph.reaches(node, SECRET, "team", secret) is expected
