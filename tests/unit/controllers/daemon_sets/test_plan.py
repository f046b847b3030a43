"""What is to be done on each node."""

from __future__ import annotations

from dray.api.core import Pod, Taint
from dray.controllers.daemon_sets.plan import Plan, plan_nodes, plan_update
from tests.unit.controllers.daemon_sets.daemon_parts import (
    make_daemon_set,
    make_node,
    make_pod,
    make_scene,
)

TAINTED = make_node("bad", taints=[Taint(key="x", effect="NoExecute")])
SURGING = make_daemon_set(surge=1, unavailable=0)


def names(pods: list[Pod]) -> list[str]:
    return sorted(pod.metadata.name for pod in pods)


def test_nodes_without_a_pod_get_one_and_others_lose_theirs() -> None:
    plan = plan_nodes(
        make_scene([make_pod("a", "n1"), make_pod("b", "bad")], ["n1", "n2", TAINTED])
    )
    assert plan.nodes == ["n2"]
    assert names(plan.surplus) == ["b"]


def test_of_several_pods_the_oldest_stays() -> None:
    pods = [make_pod("a", "n1", age=1), make_pod("b", "n1", age=9), make_pod("c", "n1", age=5)]
    assert names(plan_nodes(make_scene(pods, ["n1"])).surplus) == ["a", "c"]


def test_a_pod_that_is_stopping_keeps_the_node_until_it_is_gone() -> None:
    pods = [make_pod("a", "n1", going=True)]
    assert plan_nodes(make_scene(pods, ["n1"])) == Plan()
    assert plan_nodes(make_scene(pods, ["n1"], SURGING)).nodes == ["n1"]
    ended = [make_pod("a", "n1", "Failed", going=True)]
    assert plan_nodes(make_scene(ended, ["n1"])).nodes == ["n1"]


def test_pods_that_ended_are_noted() -> None:
    pods = [make_pod("a", "n1", "Failed"), make_pod("b", "n2", "Succeeded")]
    plan = plan_nodes(make_scene(pods, ["n1", "n2"]))
    assert [(node, pod.metadata.name) for node, pod in plan.failed] == [("n1", "a")]
    assert [(node, pod.metadata.name) for node, pod in plan.succeeded] == [("n2", "b")]
    assert (plan.nodes, plan.surplus) == ([], [])


def test_with_a_surge_a_node_may_have_an_old_and_a_new_pod() -> None:
    def pair(*, old_ready: bool, new_ready: bool) -> list[str]:
        pods = [
            make_pod("old", "n1", new=False, ready=old_ready, age=9),
            make_pod("new", "n1", ready=new_ready),
        ]
        return names(plan_nodes(make_scene(pods, ["n1"], SURGING)).surplus)

    assert pair(old_ready=True, new_ready=False) == []
    assert pair(old_ready=True, new_ready=True) == ["old"]
    assert pair(old_ready=False, new_ready=False) == ["old"]


def test_more_than_a_pair_is_too_many() -> None:
    pods = [
        make_pod("o1", "n1", new=False, age=9),
        make_pod("o2", "n1", new=False, age=8),
        make_pod("x1", "n1", ready=False, age=2),
        make_pod("x2", "n1", ready=False, age=1),
    ]
    assert names(plan_nodes(make_scene(pods, ["n1"], SURGING)).surplus) == ["o2", "x2"]


def test_old_pods_go_as_far_as_may_be_unavailable_and_useless_ones_anyway() -> None:
    pods = [
        make_pod("a", "n1", new=False),
        make_pod("b", "n2", new=False),
        make_pod("c", "n3", new=False),
        make_pod("d", "n4"),
    ]
    nodes = ["n1", "n2", "n3", "n4"]
    daemon_set = make_daemon_set(unavailable=2)
    assert names(plan_update(make_scene(pods, nodes, daemon_set)).surplus) == ["a", "b"]
    assert names(plan_update(make_scene(pods, [*nodes, "n5"], daemon_set)).surplus) == ["a"]
    useless = [
        make_pod("e", "n5", new=False, ready=False),
        make_pod("f", "n6", new=False, ready=False),
    ]
    scene = make_scene([*pods, *useless], [*nodes, "n5", "n6"], daemon_set)
    assert names(plan_update(scene).surplus) == ["e", "f"]


def test_a_surge_makes_new_pods_beside_old_ones() -> None:
    pods = [make_pod("a", "n1", new=False), make_pod("b", "n2", new=False)]
    assert plan_update(make_scene(pods, ["n1", "n2"], SURGING)).nodes == ["n1"]
    begun = [*pods, make_pod("c", "n1", ready=False)]
    assert plan_update(make_scene(begun, ["n1", "n2"], SURGING)) == Plan()
    done = [*pods, make_pod("c", "n1")]
    plan = plan_update(make_scene(done, ["n1", "n2"], SURGING))
    assert (names(plan.surplus), plan.nodes) == (["a"], ["n2"])


def test_with_a_surge_useless_old_pods_get_a_successor_at_once() -> None:
    pods = [make_pod(f"p{number}", f"n{number}", new=False, ready=False) for number in range(3)]
    assert plan_update(make_scene(pods, ["n0", "n1", "n2"], SURGING)).nodes == ["n0", "n1", "n2"]


def test_with_a_surge_misplaced_pods_stay_until_there_are_enough() -> None:
    soft = make_node("soft", taints=[Taint(key="x", effect="NoSchedule")])
    old = make_pod("old", "soft", new=False)
    waiting = make_pod("new", "n1", ready=False)
    assert plan_update(make_scene([old, waiting], ["n1", soft], SURGING)).surplus == []
    ready = make_pod("new", "n1")
    assert names(plan_update(make_scene([old, ready], ["n1", soft], SURGING)).surplus) == ["old"]


def test_on_delete_nothing_is_updated() -> None:
    pods = [make_pod("a", "n1", new=False, ready=False)]
    assert plan_update(make_scene(pods, ["n1"], make_daemon_set(strategy="OnDelete"))) == Plan()
