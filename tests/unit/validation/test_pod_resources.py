"""Amounts that containers and pods ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dray.api.core import PodOS, ResourceClaim
from dray.validation.pod_resources import (
    check_container_resource_name,
    check_container_resources,
    check_pod_resources,
)
from tests.unit.validation.builders import told
from tests.unit.validation.pod_builders import container, paths, pod, resources

IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"


def of_container(
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    **options: Any,
) -> list[str]:
    return told(check_container_resources, resources(requests, limits), (), "r", **options)


def of_pod(
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    **spec: Any,
) -> list[str]:
    return told(
        check_pod_resources, pod(resources=resources(requests, limits), **spec).spec, "spec"
    )


@pytest.mark.parametrize(
    ("name", "details"),
    [
        ("cpu", []),
        ("ephemeral-storage", []),
        ("hugepages-2Mi", []),
        ("nvidia.com/gpu", []),
        (IMPLICIT, []),
        ("kubernetes.io/anything", []),
        (
            "gpu",
            [
                "must be a standard resource type or fully qualified",
                "must be a standard resource for containers",
            ],
        ),
        ("pods", ["must be a standard resource for containers"]),
        ("requests.cpu", ["must be a standard resource for containers"]),
        ("requests.example.com/gpu", ["doesn't follow extended resource name standard"]),
    ],
)
def test_a_container_asks_for_native_or_extended_resources(name: str, details: list[str]) -> None:
    assert told(check_container_resource_name, name, "r") == [
        f'r: Invalid value: "{name}": {detail}' for detail in details
    ]


def test_a_request_stays_within_its_limit() -> None:
    assert of_container({"cpu": "1"}, {"cpu": "2"}) == []
    assert of_container({"cpu": "2"}, {"cpu": "1500m"}) == [
        'r.requests: Invalid value: "2": must be less than or equal to cpu limit of 1500m'
    ]


def test_amounts_are_not_negative() -> None:
    assert of_container({"memory": "-1Gi"}) == [
        'r.requests[memory]: Invalid value: "-1Gi": must be greater than or equal to 0'
    ]


@pytest.mark.parametrize(
    ("requests", "limits", "errors"),
    [
        pytest.param("2", "2", [], id="equal"),
        pytest.param(
            "1",
            "2",
            ['r.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2'],
            id="less",
        ),
        pytest.param(
            "1",
            None,
            ["r.limits: Required value: Limit must be set for non overcommitable resources"],
            id="no-limit",
        ),
        pytest.param(
            "500m",
            "500m",
            [
                'r.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer',
                'r.requests[nvidia.com/gpu]: Invalid value: "500m": must be an integer',
            ],
            id="fraction",
        ),
    ],
)
def test_extended_resources_are_whole_and_never_shared(
    requests: str, limits: str | None, errors: list[str]
) -> None:
    limited = {"nvidia.com/gpu": limits} if limits else {}
    assert of_container({"nvidia.com/gpu": requests}, limited) == errors


def test_the_implicit_name_of_a_class_counts_as_native() -> None:
    """Upstream says so, and so a fraction of a device passes here."""
    assert of_container({IMPLICIT: "500m"}, {IMPLICIT: "2"}) == []


def test_huge_pages_come_whole_and_not_alone() -> None:
    pages = {"hugepages-2Mi": "4Mi"}
    assert of_container({"cpu": "1", **pages}, pages) == []
    assert of_container(pages, pages) == ["r: Forbidden: HugePages require cpu or memory"]
    odd = {"hugepages-2Mi": "3Mi"}
    assert of_container({"cpu": "1", **odd}, odd) == [
        f'r.{place}[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of'
        " hugepages-2Mi"
        for place in ("limits", "requests")
    ]
    assert of_container({"cpu": "1", **odd}, odd, indivisible_huge_pages=True) == []


# The pod as a whole ----------------------------------------------------------------------------


def test_a_pod_asks_for_cpu_memory_and_huge_pages_only() -> None:
    assert of_pod({"ephemeral-storage": "1"}) == [
        (
            'spec.resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage":'
            ' supported values: "cpu", "hugepages-", "memory"'
        )
    ]


def test_claims_are_picked_by_containers_not_by_the_pod() -> None:
    broken = pod(resources=resources(claims=[ResourceClaim(name="gpu")]))
    assert paths(told(check_pod_resources, broken.spec, "spec")) == [
        "spec.resources.claims",
        "spec.resources.claims[0]",
    ]


def test_windows_has_no_amounts_for_pods() -> None:
    assert of_pod({"cpu": "1"}, os=PodOS(name="windows")) == [
        "spec.resources: Forbidden: may not be set for a windows pod"
    ]


def test_all_containers_have_room_in_the_pod() -> None:
    one_each = tuple(
        container(name, resources=resources({"cpu": "1"}, {"memory": "2Gi"})) for name in "ab"
    )
    assert of_pod({"cpu": "2"}, {"memory": "2Gi"}, containers=one_each) == []
    assert of_pod({"cpu": "1500m"}, {"memory": "1Gi"}, containers=one_each) == [
        (
            'spec.resources.requests[cpu]: Invalid value: "1500m": must be greater than or equal to'
            " aggregate container requests of 2"
        ),
        (
            'spec.resources.containers[0][memory].limits: Invalid value: "2Gi": must be less'
            " than or equal to pod limits of 1Gi"
        ),
        (
            'spec.resources.containers[1][memory].limits: Invalid value: "2Gi": must be less'
            " than or equal to pod limits of 1Gi"
        ),
    ]


def test_huge_pages_of_all_containers_have_room_in_the_pod() -> None:
    pages = {"hugepages-2Mi": "4Mi"}
    both = tuple(
        container(name, resources=resources({"cpu": "1", **pages}, pages)) for name in "ab"
    )
    errors = of_pod({"cpu": "2", "hugepages-2Mi": "8Mi"}, {"hugepages-2Mi": "8Mi"}, containers=both)
    assert errors == []
    small = of_pod({"cpu": "2", **pages}, pages, containers=both)
    assert paths(small) == [
        "spec.resources.requests[hugepages-2Mi]",
        "spec.resources.limits[hugepages-2Mi]",
    ]
