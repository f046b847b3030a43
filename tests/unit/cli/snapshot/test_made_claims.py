from __future__ import annotations

from dray.api.core import Pod
from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.resource import ResourceClaim, ResourceClaimTemplate, ResourceClaimTemplateSpec
from dray.cli.snapshot.made_claims import claim_from_template, controls
from dray.cli.snapshot.names import ObjectName

TEMPLATE = ResourceClaimTemplate(
    spec=ResourceClaimTemplateSpec(
        metadata=ObjectMeta(labels={"app": "x"}, annotations={"note": "y"})
    )
)


def pod(name: str = "train", uid: str = "") -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="ml", uid=uid))


def owned_by(*, name: str, uid: str) -> ResourceClaim:
    reference = OwnerReference(kind="Pod", controller=True, name=name, uid=uid)
    return ResourceClaim(metadata=ObjectMeta(owner_references=(reference,)))


def test_a_claim_is_made_as_the_controller_makes_it() -> None:
    made = claim_from_template(pod(uid="u"), "gpu", TEMPLATE, ()).metadata
    assert (made.namespace, made.name, made.generate_name) == ("ml", "train-gpu", "train-gpu-")
    assert made.labels == {"app": "x"}
    assert made.annotations == {"note": "y", "resource.kubernetes.io/pod-claim-name": "gpu"}
    assert controls(pod(uid="u"), ResourceClaim(metadata=made))


def test_a_name_that_is_taken_is_not_given_again() -> None:
    taken = {ObjectName("ml", "train-gpu"), ObjectName("ml", "train-gpu-2")}
    assert claim_from_template(pod(), "gpu", TEMPLATE, taken).metadata.name == "train-gpu-3"


def test_long_names_are_cut_in_proportion() -> None:
    made = claim_from_template(pod("p" * 80), "e" * 20, TEMPLATE, ()).metadata
    assert made.generate_name == "p" * (80 * 57 // 102) + "-" + "e" * (20 * 57 // 102)
    assert made.name == made.generate_name


def test_the_uid_decides_whose_a_claim_is() -> None:
    assert controls(pod(uid="1"), owned_by(name="train", uid="1"))
    assert not controls(pod(uid="1"), owned_by(name="train", uid="2"))


def test_without_a_uid_the_name_decides() -> None:
    assert controls(pod(), owned_by(name="train", uid="2"))
    assert not controls(pod(), owned_by(name="other", uid="2"))
    assert not controls(pod(), ResourceClaim())
