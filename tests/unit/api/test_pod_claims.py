"""Which claims a pod refers to, and may use."""

from __future__ import annotations

import pytest

from dray.api.core import Pod, PodExtendedResourceClaimStatus, PodResourceClaim, PodSpec
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.pod_claims import (
    ClaimReference,
    generated_name_base,
    is_reserved,
    ownership_error,
    references,
)
from dray.api.wire import replace
from tests.unit.agent.claims.world import claim, pod


def test_claims_are_found_however_the_pod_names_them() -> None:
    found = references(
        pod(
            "p",
            "direct",
            templates={"made": "made-x7", "unneeded": None},
            missing_templates=["missing"],
            extended=PodExtendedResourceClaimStatus(resource_claim_name="extended"),
        )
    )
    assert list(found) == [
        ClaimReference("direct", "direct"),
        ClaimReference("made", "made-x7", generated=True),
        ClaimReference("unneeded", generated=True),
        ClaimReference("missing", error='pod "ml/p": ResourceClaim not created yet'),
        ClaimReference("", "extended"),
    ]


def test_an_entry_of_a_later_version_is_not_guessed_at() -> None:
    strange = Pod(
        metadata=ObjectMeta(name="p", namespace="ml"),
        spec=PodSpec(resource_claims=(PodResourceClaim(name="x"),)),
    )
    [found] = references(strange)
    assert found.error == (
        'pod "ml/p", spec.resourceClaim "x": none of the supported fields are set'
    )


def test_a_claim_elsewhere_is_not_the_pods() -> None:
    elsewhere = claim(owner="p")
    elsewhere = replace(elsewhere, metadata=replace(elsewhere.metadata, namespace="other"))
    assert ownership_error(pod("p"), elsewhere) == (
        "ResourceClaim other/gpu is not in the same namespace as Pod ml/p"
    )


def group_owner(name: str, api_version: str) -> OwnerReference:
    return OwnerReference(
        api_version=api_version, kind="PodGroup", name=name, uid="g", controller=True
    )


@pytest.mark.parametrize(
    ("owner", "theirs"),
    [
        pytest.param(group_owner("g", "scheduling.k8s.io/v1beta1"), True, id="its-group"),
        pytest.param(group_owner("h", "scheduling.k8s.io/v1beta1"), False, id="another-group"),
        pytest.param(group_owner("g", "example.com/v1"), False, id="another-kind-of-group"),
    ],
)
def test_a_claim_of_the_pods_group_is_the_pods(owner: OwnerReference, theirs: bool) -> None:
    found = claim()
    found = replace(found, metadata=replace(found.metadata, owner_references=(owner,)))
    error = ownership_error(pod("p", group="g"), found)
    assert error == (
        ""
        if theirs
        else "ResourceClaim ml/gpu was not created for Pod ml/p"
        " (neither Pod nor PodGroup g is the owner)"
    )


def test_an_owner_that_is_not_the_controller_does_not_count() -> None:
    found = claim()
    owner = OwnerReference(api_version="v1", kind="Pod", name="p", uid="p")
    found = replace(found, metadata=replace(found.metadata, owner_references=(owner,)))
    assert ownership_error(pod("p"), found)


def test_reservations_are_by_uid_or_by_group() -> None:
    found = claim(pods=["p"], groups=["g"])
    assert is_reserved(pod("p"), found)
    assert is_reserved(pod("q", group="g"), found)
    assert not is_reserved(pod("q", group="h"), found)
    assert not is_reserved(pod("g"), found)


@pytest.mark.parametrize(
    ("name", "entry", "base"),
    [
        pytest.param("web", "gpu", "web-gpu-", id="short"),
        pytest.param("p" * 50, "gpu12", "p" * 50 + "-gpu12-", id="just-short-enough"),
        pytest.param("p" * 51, "gpu12", "p" * 50 + "-gpu1", id="one-too-long"),
        pytest.param("p" * 100, "e" * 20, "p" * 46 + "-" + "e" * 9, id="each-by-its-share"),
        pytest.param(
            "p" * 45 + "." + "p" * 54, "e" * 20, "p" * 45 + "-" + "e" * 9, id="cut-after-a-dot"
        ),
    ],
)
def test_long_names_of_claims_are_cut_in_both_parts(name: str, entry: str, base: str) -> None:
    assert generated_name_base(name, entry) == base
