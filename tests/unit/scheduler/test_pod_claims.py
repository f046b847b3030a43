"""A pod's claims are all there, or it says what is in the way."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dray.api.core import Pod, PodResourceClaim, PodResourceClaimStatus, PodSpec, PodStatus
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.resource import ResourceClaim
from dray.api.wire import Time
from dray.scheduler.pod_claims import Unresolved, claim_names, resolve

DIRECT = PodResourceClaim(name="gpu", resource_claim_name="shared")
MADE = PodResourceClaim(name="gpu", resource_claim_template_name="template")


def pod(*claims: PodResourceClaim, **statuses: str | None) -> Pod:
    noted = tuple(
        PodResourceClaimStatus(name=name, resource_claim_name=claim)
        for name, claim in statuses.items()
    )
    return Pod(
        metadata=ObjectMeta(name="pod", namespace="ns", uid="pod-uid"),
        spec=PodSpec(resource_claims=claims),
        status=PodStatus(resource_claim_statuses=noted),
    )


def claim(name: str, *, owner: str = "", deleting: bool = False) -> ResourceClaim:
    owners = (OwnerReference(kind="Pod", name="pod", uid=owner, controller=True),)
    return ResourceClaim(
        metadata=ObjectMeta(
            name=name,
            namespace="ns",
            owner_references=owners if owner else (),
            deletion_timestamp=Time(datetime(2026, 1, 1, tzinfo=UTC)) if deleting else None,
        )
    )


def lookup(*claims: ResourceClaim) -> object:
    known = {(each.metadata.name, each.metadata.namespace): each for each in claims}
    return lambda name, namespace: known.get((name, namespace))


@pytest.mark.parametrize(
    ("asked", "known", "why"),
    [
        pytest.param(
            pod(MADE), (), 'pod "ns/pod": ResourceClaim not created yet', id="not-made-yet"
        ),
        pytest.param(pod(DIRECT), (), 'could not find ResourceClaim "ns/shared"', id="not-there"),
        pytest.param(
            pod(DIRECT),
            (claim("shared", deleting=True),),
            'resourceclaim "shared" is being deleted',
            id="on-its-way-out",
        ),
        pytest.param(
            pod(MADE, gpu="made"),
            (claim("made", owner="somebody"),),
            "ResourceClaim ns/made was not created for Pod ns/pod (Pod is not owner)",
            id="somebody-elses",
        ),
    ],
)
def test_what_is_in_the_way_is_said(asked: Pod, known: tuple[ResourceClaim, ...], why: str) -> None:
    assert resolve(asked, lookup(*known)) == Unresolved(why)  # type: ignore[arg-type]


def test_claims_come_in_the_pods_order() -> None:
    both = pod(MADE, PodResourceClaim(name="nic", resource_claim_name="shared"), gpu="made")
    known = lookup(claim("shared"), claim("made", owner="pod-uid"))
    found = resolve(both, known)  # type: ignore[arg-type]
    assert not isinstance(found, Unresolved)
    assert [each.metadata.name for each in found] == ["made", "shared"]
    assert claim_names(both) == ("made", "shared")


def test_a_claim_that_turned_out_not_to_be_needed_is_not_waited_for() -> None:
    assert resolve(pod(MADE, gpu=None), lookup()) == ()  # type: ignore[arg-type]


def test_names_are_known_when_all_are() -> None:
    assert claim_names(pod(MADE)) is None
    assert claim_names(pod()) == ()
