"""How large replica sets are to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.apps import Deployment, ReplicaSet
from dray.controllers.deployments.family import Family, replicas_of
from dray.controllers.deployments.limits import max_surge, max_unavailable
from dray.controllers.deployments.sizes import (
    is_resized,
    new_size,
    recreate_sizes,
    resized_sizes,
    rolling_sizes,
)
from tests.unit.controllers.deployments.deployment_parts import make_deployment, make_replica_set


def family(new: ReplicaSet | None, *old: ReplicaSet) -> Family:
    return Family(new, old)


@pytest.mark.parametrize(
    ("new", "old", "sizes"),
    [
        pytest.param((0, 0), [(10, 10)], {"new": 3}, id="grows-into-the-surge"),
        pytest.param((3, 0), [(10, 10)], {"o0": 8}, id="old-ones-shrink-as-far-as-allowed"),
        pytest.param((5, 0), [(8, 8)], {}, id="waits-for-new-ones-to-be-available"),
        pytest.param((5, 5), [(8, 8)], {"o0": 3}, id="as-new-ones-are-available"),
        pytest.param((10, 10), [(3, 3)], {"o0": 0}, id="the-last-go"),
        pytest.param((12, 12), [], {"new": 10}, id="too-many-new-ones"),
        pytest.param((5, 0), [(8, 7)], {}, id="a-failed-old-pod-does-not-make-room"),
        pytest.param((3, 3), [(10, 4)], {"o0": 5}, id="useless-pods-go-first"),
        pytest.param((0, 0), [(8, 8), (5, 0)], {"o1": 0}, id="roll-over"),
        pytest.param((10, 9), [], {}, id="done"),
    ],
)
def test_a_rolling_update_takes_one_step(
    new: tuple[int, int], old: list[tuple[int, int]], sizes: dict[str, int]
) -> None:
    """Ten wanted, three more allowed, and two fewer available."""
    sets = [
        make_replica_set(f"o{number}", size, available=available, age=99 - number)
        for number, (size, available) in enumerate(old)
    ]
    found = rolling_sizes(
        make_deployment(), family(make_replica_set("new", new[0], available=new[1]), *sets)
    )
    unchanged = {each.metadata.uid: replicas_of(each) for each in sets}
    assert {**unchanged, **found} == {**unchanged, **sizes}


counts = st.integers(0, 12)
members = st.tuples(counts, counts)


@given(counts, counts, counts, members, st.lists(members, max_size=3))
def test_no_step_leaves_the_limits(
    replicas: int,
    surge: int,
    unavailable: int,
    new: tuple[int, int],
    old: list[tuple[int, int]],
) -> None:
    """Growing never exceeds the surge, and shrinking never takes pods that are needed."""
    deployment = make_deployment(replicas, surge=surge, unavailable=unavailable)
    newest = make_replica_set("new", new[0], available=min(new))
    others = [
        make_replica_set(f"o{number}", each[0], available=min(each))
        for number, each in enumerate(old)
    ]
    found = rolling_sizes(deployment, family(newest, *others))
    everything = [newest, *others]
    before = sum(map(replicas_of, everything))
    after = sum(found.get(each.metadata.uid, replicas_of(each)) for each in everything)
    assert all(size >= 0 for size in found.values())
    if after > before:
        assert after <= replicas + max_surge(deployment)
    if after < before and "new" not in found:
        # Whoever is not available goes first, so at most what is over is lost of the others.
        kept = sum(
            min(each.status.available_replicas, found.get(each.metadata.uid, replicas_of(each)))
            for each in everything
        )
        available = sum(each.status.available_replicas for each in everything)
        assert kept >= min(available, replicas - max_unavailable(deployment))


def test_a_new_one_that_is_not_there_yet_may_be_as_large_as_there_is_room() -> None:
    assert new_size(make_deployment(), family(None)) == 10
    assert new_size(make_deployment(), family(None, make_replica_set("a", 10))) == 3
    assert new_size(make_deployment(), family(None, make_replica_set("a", 13))) == 0
    recreated = make_deployment(strategy="Recreate")
    assert new_size(recreated, family(None, make_replica_set("a", 13))) == 10


def test_recreating_begins_with_an_end() -> None:
    old = [make_replica_set("a", 3), make_replica_set("b", 0)]
    found = recreate_sizes(make_deployment(strategy="Recreate"), family(None, *old))
    assert found == {"a": 0}


@pytest.mark.parametrize(
    ("deployment", "members", "sizes"),
    [
        pytest.param(make_deployment(4), family(None), {}, id="none"),
        pytest.param(
            make_deployment(4), family(make_replica_set("a", 2)), {"a": 4}, id="the-only-one"
        ),
        pytest.param(
            make_deployment(4),
            family(make_replica_set("a", 0), make_replica_set("b", 2)),
            {"b": 4},
            id="the-only-active-one",
        ),
        pytest.param(
            make_deployment(4),
            family(None, make_replica_set("a", 0, age=9), make_replica_set("b", 0)),
            {"b": 4},
            id="the-latest-if-none-is-active",
        ),
        pytest.param(
            make_deployment(4),
            family(make_replica_set("a", 4, desired=4), make_replica_set("b", 2)),
            {"b": 0},
            id="the-new-one-has-all",
        ),
        pytest.param(
            make_deployment(30, surge=3),
            family(make_replica_set("a", 5, most=13), make_replica_set("b", 8, most=13)),
            {"a": 13, "b": 20},
            id="shares-when-growing",
        ),
        pytest.param(
            make_deployment(5, surge=0),
            family(make_replica_set("a", 5, most=10), make_replica_set("b", 5, most=10)),
            {"a": 2, "b": 3},
            id="shares-when-shrinking-with-a-rest",
        ),
        pytest.param(
            make_deployment(0, surge=3),
            family(make_replica_set("a", 5, most=13), make_replica_set("b", 8, most=13)),
            {"a": 0, "b": 0},
            id="to-none",
        ),
        pytest.param(
            make_deployment(4, strategy="Recreate"),
            family(make_replica_set("a", 1), make_replica_set("b", 2)),
            {},
            id="recreating",
        ),
    ],
)
def test_a_change_of_size_is_shared(
    deployment: Deployment, members: Family, sizes: dict[str, int]
) -> None:
    assert resized_sizes(deployment, members) == sizes


def test_a_change_of_size_is_told_by_what_active_ones_remember() -> None:
    assert is_resized(make_deployment(4), family(make_replica_set("a", 2, desired=2)))
    assert not is_resized(make_deployment(4), family(make_replica_set("a", 2, desired=4)))
    assert not is_resized(make_deployment(4), family(make_replica_set("a", 0, desired=2)))
    assert not is_resized(make_deployment(4), family(make_replica_set("a", 2)))
