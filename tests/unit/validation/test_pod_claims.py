"""Claims in a pod and picks of its containers."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import PodResourceClaim, ResourceClaim
from dray.api.meta import ObjectMeta
from dray.validation.findings import Findings
from dray.validation.pod_claims import (
    MIRROR_POD_ANNOTATION,
    check_container_claims,
    check_pod_claims,
    pod_claim_names,
)
from tests.unit.validation.builders import told
from tests.unit.validation.pod_builders import container, created, paths, pod, resources

GPU = PodResourceClaim(name="gpu", resource_claim_name="my-gpu")
NIC = PodResourceClaim(name="nic", resource_claim_template_name="nic-template")


def pod_claims(*claims: PodResourceClaim) -> list[str]:
    return told(check_pod_claims, None, claims, "c")


def picks(*claims: tuple[str, str]) -> list[str]:
    picked = tuple(ResourceClaim(name=name, request=request) for name, request in claims)
    return told(check_container_claims, picked, pod_claim_names((GPU, NIC)), "c")


def test_a_claim_comes_by_name_or_from_a_template() -> None:
    assert pod_claims(GPU, NIC) == []


@pytest.mark.parametrize(
    ("claim", "error"),
    [
        pytest.param(
            PodResourceClaim(name="gpu"),
            'c[0]: Invalid value: {"Name":"gpu","ResourceClaimName":null,'
            '"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`,'
            " `resourceClaimTemplateName`",
            id="neither",
        ),
        pytest.param(
            PodResourceClaim(name="gpu", resource_claim_name="a", resource_claim_template_name="b"),
            'c[0]: Invalid value: {"Name":"gpu","ResourceClaimName":"a",'
            '"ResourceClaimTemplateName":"b"}: at most one of `resourceClaimName` or'
            " `resourceClaimTemplateName` may be specified",
            id="both",
        ),
        pytest.param(
            PodResourceClaim(resource_claim_name="a"), "c[0].name: Required value", id="no-name"
        ),
        pytest.param(
            PodResourceClaim(name="a.b", resource_claim_name="a"),
            'c[0].name: Invalid value: "a.b": must not contain dots',
            id="not-a-label",
        ),
    ],
)
def test_an_entry_has_a_name_and_one_source(claim: PodResourceClaim, error: str) -> None:
    assert pod_claims(claim) == [error]


def test_sources_are_names_of_objects() -> None:
    assert paths(
        pod_claims(
            PodResourceClaim(name="a", resource_claim_name=""),
            PodResourceClaim(name="b", resource_claim_template_name="B"),
        )
    ) == ["c[0].resourceClaimName", "c[1].resourceClaimTemplateName"]


def test_names_are_unique() -> None:
    assert pod_claims(GPU, GPU) == ['c[1].name: Duplicate value: "gpu"']


def test_pods_from_a_nodes_own_files_have_no_claims() -> None:
    mirror = ObjectMeta(annotations={MIRROR_POD_ANNOTATION: "x"})
    error = "[]: Forbidden: static pods do not support resource claims"
    assert told(check_pod_claims, mirror, (PodResourceClaim(),), "c") == [error]
    assert told(check_pod_claims, mirror, (), "c") == []


def test_a_container_picks_claims_or_requests() -> None:
    assert picks(("gpu", ""), ("nic", "a"), ("nic", "b")) == []


@pytest.mark.parametrize(
    ("claims", "error"),
    [
        pytest.param((("gpu", ""), ("gpu", "")), 'c[1]: Duplicate value: "gpu"', id="twice"),
        pytest.param((("gpu", "a"), ("gpu", "a")), 'c[1]: Duplicate value: "gpu/a"', id="request"),
        pytest.param((("gpu", ""), ("gpu", "a")), 'c[1]: Duplicate value: "gpu"', id="part"),
        pytest.param((("gpu", "a"), ("gpu", "")), 'c[1]: Duplicate value: "gpu"', id="whole"),
        pytest.param((("", "a"),), "c[0]: Required value", id="no-name"),
        pytest.param(
            (("tpu", ""),),
            'c[0]: Not found: "tpu": must be one of the names in pod.spec.resourceClaims: gpu, nic',
            id="unknown",
        ),
    ],
)
def test_picks_exist_and_do_not_overlap(claims: tuple[tuple[str, str], ...], error: str) -> None:
    assert picks(*claims) == [error]


def test_a_whole_claim_overlaps_once_with_all_of_its_requests() -> None:
    assert picks(("gpu", "a"), ("nic", "a"), ("gpu", "b"), ("gpu", "")) == [
        'c[3]: Duplicate value: "gpu"'
    ]


def test_what_there_is_to_pick_is_listed_once_for_all_containers() -> None:
    found = Findings()
    for index in range(3):
        picked = (ResourceClaim(name="tpu"), ResourceClaim(name="fpga"))
        check_container_claims(found, picked, pod_claim_names((GPU, NIC)), f"c[{index}]")
    details = [error.detail for error in found.errors()]
    assert len(details) == 6
    assert all(detail is details[0] for detail in details)


def test_a_long_list_of_what_there_is_to_pick_is_cut_in_the_middle() -> None:
    def listed(count: int) -> str:
        names = {f"{index:063}" for index in range(count)}
        (error,) = told(check_container_claims, (ResourceClaim(name="tpu"),), names, "c")
        return error.rpartition(": ")[2]

    assert listed(63) == ", ".join(f"{index:063}" for index in range(63))
    cut = listed(2000)
    assert len(cut) <= 4096
    assert cut.startswith(f"{0:063}, ")
    assert "..." in cut
    assert cut.endswith(f", {1999:063}")


def test_a_subrequest_cannot_be_picked() -> None:
    assert paths(picks(("gpu", "r/s"))) == ["c[0].request"]


def test_without_claims_there_is_nothing_to_pick() -> None:
    assert told(check_container_claims, (ResourceClaim(name="gpu"),), (), "c") == [
        'c[0]: Not found: "gpu": must be one of the names in pod.spec.resourceClaims which is empty'
    ]


@pytest.mark.parametrize("field", ["containers", "init_containers"])
def test_picks_of_every_kind_of_container_are_checked(field: str) -> None:
    picking = container("picky", resources=resources(claims=[ResourceClaim(name="tpu")]))
    spec: dict[str, Any] = {"resource_claims": (GPU,), field: (picking,)}
    (error,) = created(pod(**spec))
    assert '[0].resources.claims[0]: Not found: "tpu"' in error
