"""Resource names, sums over containers, and the quality of service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from dray.api.core import Container, PodSpec, ResourceRequirements
from dray.api.pod_resources import (
    default_pod_level_resources,
    divides_into_pages,
    is_extended_resource,
    is_native_resource,
    is_node_allocatable,
    overcommits,
    qos_class,
    sum_limits,
    sum_requests,
)
from dray.api.quantity import Quantity

Texts = Mapping[str, str]


def amounts(texts: Texts) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in texts.items()}


def resources(requests: Texts | None = None, limits: Texts | None = None) -> ResourceRequirements:
    return ResourceRequirements(requests=amounts(requests or {}), limits=amounts(limits or {}))


def container(
    requests: Texts | None = None, limits: Texts | None = None, *, sidecar: bool = False
) -> Container:
    return Container(
        resources=resources(requests, limits), restart_policy="Always" if sidecar else None
    )


def shown(texts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in texts.items()}


@pytest.mark.parametrize(
    ("name", "native", "extended", "overcommitted", "allocatable"),
    [
        ("cpu", True, False, True, True),
        ("ephemeral-storage", True, False, True, False),
        ("hugepages-2Mi", True, False, False, True),
        ("nvidia.com/gpu", False, True, False, False),
        ("deviceclass.resource.kubernetes.io/gpu", True, False, True, False),
        ("requests.nvidia.com/gpu", False, False, False, False),
        ("not a name/gpu", False, False, False, False),
    ],
)
def test_a_name_tells_who_keeps_a_resource_and_how(
    name: str, native: bool, extended: bool, overcommitted: bool, allocatable: bool
) -> None:
    assert is_native_resource(name) is native
    assert is_extended_resource(name) is extended
    assert overcommits(name) is overcommitted
    assert is_node_allocatable(name) is allocatable


@pytest.mark.parametrize(
    ("name", "amount", "whole"),
    [
        ("hugepages-2Mi", "4Mi", True),
        ("hugepages-2Mi", "0", True),
        ("hugepages-2Mi", "3Mi", False),
        ("hugepages-nonsense", "2Mi", False),
        ("hugepages-0", "2Mi", False),
        ("hugepages--2Mi", "2Mi", False),
        ("hugepages-100m", "2Mi", False),
    ],
)
def test_huge_pages_are_counted_whole(name: str, amount: str, whole: bool) -> None:
    assert divides_into_pages(name, Quantity.parse(amount)) is whole


def test_containers_that_run_together_add_up() -> None:
    spec = PodSpec(
        containers=(container({"cpu": "1"}), container({"cpu": "500m", "memory": "1Gi"}))
    )
    assert shown(sum_requests(spec)) == {"cpu": "1500m", "memory": "1Gi"}


def test_init_containers_run_one_by_one() -> None:
    inits = (container({"cpu": "3"}), container({"cpu": "2"}))
    spec = PodSpec(containers=(container({"cpu": "1"}),), init_containers=inits)
    assert shown(sum_requests(spec)) == {"cpu": "3"}


def test_sidecars_run_beside_all_that_follow() -> None:
    sidecar = container({"cpu": "1"}, sidecar=True)
    before, after = container({"cpu": "4"}), container({"cpu": "4"})
    main = container({"cpu": "1"})
    early = PodSpec(containers=(main,), init_containers=(sidecar, after))
    late = PodSpec(containers=(main,), init_containers=(before, sidecar))
    assert shown(sum_requests(early)) == {"cpu": "5"}
    assert shown(sum_requests(late)) == {"cpu": "4"}


def test_a_container_costs_only_the_resources_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    work = 0

    def counted(step: Callable[[Quantity, Quantity], Any]) -> Callable[[Quantity, Quantity], Any]:
        def count(a: Quantity, b: Quantity) -> Any:
            nonlocal work
            work += 1
            return step(a, b)

        return count

    for name in ("__add__", "__gt__"):
        monkeypatch.setattr(Quantity, name, counted(getattr(Quantity, name)))
    sidecars = tuple(container({f"a.com/{index}": "1"}, sidecar=True) for index in range(100))
    inits = tuple(container({f"a.com/{index}": "2"}) for index in range(100))
    sums = shown(sum_requests(PodSpec(init_containers=(*sidecars, *inits))))
    assert sums == {f"a.com/{index}": "3" for index in range(100)}
    assert 0 < work <= 10 * len(sidecars)


def test_limits_add_up_like_requests() -> None:
    spec = PodSpec(containers=(container(limits={"cpu": "1"}), container(limits={"cpu": "2"})))
    assert shown(sum_limits(spec)) == {"cpu": "3"}


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        pytest.param([({}, {})], "BestEffort", id="nothing"),
        pytest.param([({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "1"})], "BestEffort", id="gpu"),
        pytest.param(
            [({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1024Mi"})],
            "Guaranteed",
            id="all-set-aside",
        ),
        pytest.param([({"cpu": "1"}, {"cpu": "1"})], "Burstable", id="half-set-aside"),
        pytest.param([({"cpu": "1"}, {})], "Burstable", id="no-limit"),
        pytest.param(
            [({"cpu": "1", "memory": "1"}, {"cpu": "1", "memory": "1"}), ({}, {})],
            "Burstable",
            id="one-of-two",
        ),
    ],
)
def test_quality_follows_from_requests_and_limits(
    containers: list[tuple[Texts, Texts]], expected: str
) -> None:
    built = tuple(container(requests, limits) for requests, limits in containers)
    assert qos_class(PodSpec(containers=built)) == expected
    assert qos_class(PodSpec(containers=built[:1], init_containers=built[1:])) == expected


def test_amounts_of_the_pod_decide_before_those_of_containers() -> None:
    whole = {"cpu": "1", "memory": "1Gi"}
    assert qos_class(PodSpec(resources=resources(whole, whole))) == "Guaranteed"
    assert qos_class(PodSpec(resources=resources())) == "BestEffort"


# Defaults of the pod as a whole ----------------------------------------------------------------


def filled(spec: PodSpec) -> tuple[dict[str, str], dict[str, str]]:
    """Requests and limits."""
    found = default_pod_level_resources(spec)
    assert found is not None
    return shown(found.requests), shown(found.limits)


def test_a_pod_that_sets_nothing_for_itself_gets_nothing() -> None:
    assert default_pod_level_resources(PodSpec(containers=(container({"cpu": "1"}),))) is None
    empty = resources()
    spec = PodSpec(containers=(container({"cpu": "1"}),), resources=empty)
    assert default_pod_level_resources(spec) is empty


def test_requests_come_from_containers_then_from_limits() -> None:
    spec = PodSpec(
        containers=(container({"cpu": "1"}),),
        resources=resources(limits={"cpu": "2", "memory": "1Gi"}),
    )
    assert filled(spec) == ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"})


def test_a_limit_comes_from_containers_if_each_has_one() -> None:
    limited, unlimited = container({"cpu": "1"}, {"cpu": "3"}), container({"cpu": "1"})
    asked = resources({"cpu": "4"})
    both = PodSpec(containers=(limited, limited), resources=asked)
    assert filled(both)[1] == {"cpu": "6"}
    assert filled(PodSpec(containers=(limited, unlimited), resources=asked))[1] == {}


def test_a_limit_is_never_below_the_request() -> None:
    spec = PodSpec(
        containers=(container({"cpu": "1"}, {"cpu": "1"}),), resources=resources({"cpu": "4"})
    )
    assert filled(spec) == ({"cpu": "4"}, {"cpu": "4"})


def test_huge_pages_of_containers_are_the_pods_too() -> None:
    pages = {"hugepages-2Mi": "4Mi"}
    spec = PodSpec(containers=(container(pages, pages),), resources=resources({"cpu": "1"}))
    assert filled(spec) == ({"cpu": "1", **pages}, pages)


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("example.com/gpu", True),
        ("gpu", False),
        ("kubernetes.io/gpu", False),
        ("requests.example.com/gpu", False),
        ("example.com/-gpu", False),
        ("example.com/" + "a" * 64, False),
    ],
)
def test_an_extended_resource_name_has_a_domain_of_its_own(value: str, good: bool) -> None:
    assert is_extended_resource(value) is good
