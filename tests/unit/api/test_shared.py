"""Shared values: asked about once, forgotten in time, and never mistaken for one another."""

from __future__ import annotations

from dray.api.core import PodSpec
from dray.api.shared import NOTES_MAX, SHARED_MAX, deriving, is_shared, remembering, share
from dray.api.wire import replace

asked: list[str] = []


@remembering
def name_of(spec: PodSpec, suffix: str) -> str:
    asked.append(suffix)
    return spec.node_name + suffix


@deriving
def on_node(spec: PodSpec, node: str) -> PodSpec:
    return replace(spec, node_name=node)


def setup_function() -> None:
    asked.clear()


def test_a_shared_value_is_asked_about_once() -> None:
    spec = share(PodSpec(node_name="n1"))
    assert [name_of(spec, "a"), name_of(spec, "a"), name_of(spec, "b")] == ["n1a", "n1a", "n1b"]
    assert asked == ["a", "b"]


def test_about_a_value_that_is_not_shared_nothing_is_kept() -> None:
    spec = PodSpec(node_name="n1")
    assert [name_of(spec, "a"), name_of(spec, "a")] == ["n1a", "n1a"]
    assert asked == ["a", "a"]
    assert not is_shared(spec)


def test_an_equal_value_is_not_the_same() -> None:
    name_of(share(PodSpec(node_name="n1")), "a")
    name_of(share(PodSpec(node_name="n1")), "a")
    assert asked == ["a", "a"]


def test_what_is_derived_of_a_shared_value_is_one_shared_value() -> None:
    spec = share(PodSpec())
    assert on_node(spec, "n1") is on_node(spec, "n1")
    assert is_shared(on_node(spec, "n1"))
    assert on_node(spec, "n2").node_name == "n2"
    assert not is_shared(on_node(PodSpec(), "n1"))


def test_the_oldest_value_makes_room() -> None:
    first = share(PodSpec(node_name="n1"))
    others = [share(PodSpec()) for _ in range(SHARED_MAX)]
    assert not is_shared(first)
    assert all(map(is_shared, others))


def test_no_more_is_kept_about_a_value_than_there_is_room_for() -> None:
    spec = share(PodSpec(node_name="n1"))
    for number in range(NOTES_MAX + 1):
        name_of(spec, str(number))
    asked.clear()
    assert (name_of(spec, "0"), name_of(spec, str(NOTES_MAX))) == ("n10", f"n1{NOTES_MAX}")
    assert asked == [str(NOTES_MAX)]


def test_what_is_shared_again_is_remembered_again() -> None:
    spec = share(PodSpec(node_name="n1"))
    derived = on_node(spec, "n2")
    for _ in range(SHARED_MAX):
        share(PodSpec())
    assert on_node(share(spec), "n2") == derived
    assert is_shared(on_node(spec, "n2"))
