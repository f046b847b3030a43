"""Who depends on whom."""

from __future__ import annotations

from dray.api.meta import OwnerReference
from dray.controllers.garbage_collection.graph import Graph
from dray.controllers.reconciler import Key

WEB, OTHER = Key("default", "pods/web"), Key("default", "pods/other")


def owner(uid: str, *, blocks: bool = False) -> OwnerReference:
    return OwnerReference(uid=uid, block_owner_deletion=blocks or None)


def test_dependents_are_known_by_the_uid_of_their_owner() -> None:
    graph = Graph()
    graph.change(WEB, (), (owner("a"), owner("b")))
    graph.change(OTHER, (), (owner("a"),))
    assert graph.dependents("a") == (WEB, OTHER)
    assert graph.dependents("b") == (WEB,)
    assert graph.dependents("c") == ()


def test_an_object_that_changes_owners_is_nobodys_twice() -> None:
    graph = Graph()
    graph.change(WEB, (), (owner("a"),))
    graph.change(WEB, (owner("a"),), (owner("b"),))
    assert not graph.dependents("a")
    assert graph.dependents("b") == (WEB,)
    graph.change(WEB, (owner("b"),), ())
    assert len(graph) == 0, "nothing is kept of what is over"


def test_an_owner_is_free_when_the_last_that_blocks_it_is_gone() -> None:
    graph = Graph()
    blocks = owner("a", blocks=True)
    graph.change(WEB, (), (blocks,))
    graph.change(OTHER, (), (blocks, owner("b")))
    assert graph.is_blocked("a")
    assert not graph.is_blocked("b")
    assert graph.change(WEB, (blocks,), ()) == []
    assert graph.change(OTHER, (blocks, owner("b")), (owner("a"), owner("b"))) == [blocks]
    assert not graph.is_blocked("a")
    assert graph.dependents("a") == (OTHER,), "it depends on the owner and does not block it"


def test_an_owner_that_is_still_blocked_is_not_free() -> None:
    graph = Graph()
    blocks = owner("a", blocks=True)
    graph.change(WEB, (), (blocks,))
    assert graph.change(WEB, (blocks,), (blocks, owner("b"))) == []
    assert graph.is_blocked("a")
