"""What claims take of the node, in a pod's status."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import (
    NodeAllocatableMappedResources,
    NodeAllocatableOverheadResources,
    NodeAllocatableResourceClaimStatus,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodStatus,
)
from dray.api.quantity import Quantity
from tests.unit.validation.pod_builders import paths, pod, status_updated

CLAIMS = (
    PodResourceClaim(name="gpu", resource_claim_name="my-gpu"),
    PodResourceClaim(name="nic", resource_claim_template_name="template"),
)
MADE = (PodResourceClaimStatus(name="nic", resource_claim_name="pod-nic-x1"),)
ONE, LESS = Quantity.parse("1"), Quantity.parse("-500m")
PATH = "status.nodeAllocatableResourceClaimStatuses"

Entry = NodeAllocatableResourceClaimStatus
Mapped = NodeAllocatableMappedResources
Overhead = NodeAllocatableOverheadResources


def written(*new: Entry, old: tuple[Entry, ...] = ()) -> list[str]:
    def with_entries(entries: tuple[Entry, ...]) -> Any:
        status = PodStatus(
            resource_claim_statuses=MADE, node_allocatable_resource_claim_statuses=entries
        )
        return pod(resource_claims=CLAIMS, status=status)

    return status_updated(with_entries(new), with_entries(old))


def entry(name: str = "my-gpu", **fields: Any) -> Entry:
    return Entry(resource_claim_name=name, **fields)


def test_claims_are_those_the_pod_names_or_was_given() -> None:
    mapping = (Mapped(name="cpu", quantity=ONE), Mapped(name="hugepages-2Mi", quantity=ONE))
    overhead = (Overhead(name="memory", per_container=ONE),)
    assert written(entry(mapping=mapping), entry("pod-nic-x1", overhead=overhead)) == []
    assert written(entry("other")) == [
        f'{PATH}[0].resourceClaimName: Invalid value: "other": no mapping found in pod reference'
    ]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        (
            {"mapping": (Mapped(name="pods", quantity=ONE),)},
            '.mapping[0].name: Invalid value: "pods": must be a node allocatable resource name',
        ),
        (
            {"mapping": (Mapped(name="cpu", quantity=LESS),)},
            '.mapping[0].quantity: Invalid value: "-500m": must be non-negative',
        ),
        ({"mapping": (Mapped(name="cpu"),)}, ".mapping[0].quantity: Required value"),
        (
            {"overhead": (Overhead(name="cpu"),)},
            '.overhead[0]: Invalid value: "": at least one of perPod or perContainer must be set',
        ),
        (
            {"overhead": (Overhead(name="cpu", per_pod=LESS),)},
            '.overhead[0].perPod: Invalid value: "-500m": must be non-negative',
        ),
        ({"containers": ("a", "a")}, '.containers[1]: Duplicate value: "a"'),
    ],
)
def test_amounts_are_of_the_nodes_own_resources(fields: dict[str, Any], error: str) -> None:
    assert written(entry(**fields)) == [f"{PATH}[0]{error}"]


def test_entries_and_amounts_are_there_once() -> None:
    cpu = Mapped(name="cpu", quantity=ONE)
    assert written(entry(mapping=(cpu, cpu))) == [
        f'{PATH}[0].mapping[1]: Duplicate value: {{"name":"cpu","quantity":"1"}}'
    ]
    assert written(entry(), entry()) == [
        f'{PATH}[1]: Duplicate value: {{"resourceClaimName":"my-gpu"}}'
    ]


def test_a_claim_without_a_name_is_only_told_to_lack_it() -> None:
    assert written(entry("", mapping=(Mapped(name="pods", quantity=ONE),))) == [
        f"{PATH}[0].resourceClaimName: Required value"
    ]


def test_declared_rules_leave_alone_what_did_not_change() -> None:
    lacking = entry(mapping=(Mapped(name="cpu"),))
    assert written(lacking, old=(lacking,)) == []
    beside = entry("pod-nic-x1", containers=("a", "a"))
    assert paths(written(lacking, beside, old=(lacking,))) == [f"{PATH}[1].containers[1]"]
    changed = entry(mapping=(Mapped(name="cpu"), Mapped(name="memory")))
    assert paths(written(changed, old=(lacking,))) == [f"{PATH}[0].mapping[1].quantity"]
