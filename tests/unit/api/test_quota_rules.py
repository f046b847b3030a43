"""Which bounds objects fall under, and who pays for claims."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dray.api.core import Pod, PodExtendedResourceClaimStatus, PodStatus
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.quota_rules import (
    ClassNames,
    claim_payer,
    counted_resource,
    extended_resource_pod,
    pod_bounds,
)
from dray.api.resource import (
    EXTENDED_RESOURCE_CLAIM_ANNOTATION,
    DeviceClass,
    DeviceClassSpec,
    ResourceClaim,
)
from dray.api.wire import Time

EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)


def test_pods_fall_under_compute_huge_pages_and_extended_resources() -> None:
    names = ["pods", "limits.cpu", "hugepages-2Mi", "requests.example.com/gpu", "count/pods"]
    assert pod_bounds([*names, "secrets", "count/jobs.batch", "requests.storage"]) == names


@pytest.mark.parametrize(
    ("name", "resource"),
    [
        ("secrets", "secrets"),
        ("count/jobs.batch", "jobs.batch"),
        ("count/pods", ""),
        ("count/resourceclaims.resource.k8s.io", ""),
        ("cpu", ""),
    ],
)
def test_what_is_counted_and_not_measured_is_named(name: str, resource: str) -> None:
    assert counted_resource(name) == resource


def test_claims_fall_under_the_names_of_classes_that_exist() -> None:
    gpu = DeviceClass(
        metadata=ObjectMeta(name="gpu"),
        spec=DeviceClassSpec(extended_resource_name="example.com/gpu"),
    )
    names = [
        "count/resourceclaims.resource.k8s.io",
        "any.deviceclass.resource.k8s.io/devices",
        "requests.deviceclass.resource.kubernetes.io/gpu",
        "requests.example.com/gpu",
    ]
    assert ClassNames.of(()).claim_bounds(names) == names[:2]
    assert ClassNames.of((gpu,)).claim_bounds([*names, "pods"]) == names
    assert ClassNames.of((gpu,)).extended_resources == {"gpu": "example.com/gpu"}


def made_for_pod(
    name: str, created: datetime | None = EARLY, *, kind: str = "Pod"
) -> ResourceClaim:
    owner = OwnerReference(api_version="v1", kind=kind, name="p", uid="uid", controller=True)
    return ResourceClaim(
        metadata=ObjectMeta(
            name=name,
            annotations={EXTENDED_RESOURCE_CLAIM_ANNOTATION: "true"},
            owner_references=(owner,),
            creation_timestamp=Time(created) if created else None,
        )
    )


def test_a_claim_names_the_pod_that_it_was_made_for() -> None:
    assert extended_resource_pod(made_for_pod("c")) == ("p", "uid")
    assert extended_resource_pod(made_for_pod("c", kind="Job")) is None
    assert extended_resource_pod(ResourceClaim()) is None


POD = Pod(metadata=ObjectMeta(name="p", uid="uid"))


def telling(claim: str) -> Pod:
    told = PodExtendedResourceClaimStatus(resource_claim_name=claim)
    return Pod(metadata=POD.metadata, status=PodStatus(extended_resource_claim_status=told))


@pytest.mark.parametrize(
    ("claim", "pod", "others", "pays"),
    [
        pytest.param(made_for_pod("c"), POD, [], True, id="the-only-one"),
        pytest.param(made_for_pod("c"), None, [], False, id="no-pod"),
        pytest.param(made_for_pod("c"), Pod(), [], False, id="another-pod"),
        pytest.param(ResourceClaim(), POD, [], False, id="made-by-hand"),
        pytest.param(
            made_for_pod("c", LATE), POD, [made_for_pod("d")], False, id="another-came-first"
        ),
        pytest.param(made_for_pod("c"), POD, [made_for_pod("d", LATE)], True, id="came-first"),
        pytest.param(made_for_pod("c", None), POD, [made_for_pod("b")], True, id="being-made"),
        pytest.param(
            made_for_pod("c", LATE), telling("c"), [made_for_pod("d")], True, id="the-pod-says-so"
        ),
        pytest.param(made_for_pod("c"), telling("d"), [], False, id="the-pod-says-another"),
    ],
)
def test_the_pod_pays_for_one_claim_that_was_made_for_it(
    claim: ResourceClaim, pod: Pod | None, others: list[ResourceClaim], pays: bool
) -> None:
    assert claim_payer(claim, pod, lambda: [claim, *others]) is (pod if pays else None)
