from __future__ import annotations

from dray.api.meta import ObjectMeta
from dray.api.resource import ResourceClaim
from dray.cli.snapshot import (
    Against,
    AllocatedClaim,
    ObjectName,
    Place,
    Problem,
    ProblemKind,
    Subject,
    SubjectKind,
    WantedClaim,
)

CLAIM = ResourceClaim(metadata=ObjectMeta(name="gpu", namespace="ml"))


def test_a_problem_is_told_with_its_hint() -> None:
    assert str(Problem(ProblemKind.CLASS_MISSING, "no class")) == "no class"
    assert str(Problem(ProblemKind.CLASS_MISSING, "no class", "make one")) == "no class; make one"


def test_claims_are_named_with_their_namespace() -> None:
    assert str(WantedClaim(CLAIM).name) == "ml/gpu"
    assert str(AllocatedClaim(CLAIM, ()).name) == "ml/gpu"


def test_the_nodes_left_are_those_with_nothing_against_them() -> None:
    places = {"n1": Place("n1"), "n2": Place("n2", Against.TAINT, "untolerated taint a:NoExecute")}
    subject = Subject(SubjectKind.POD, ObjectName("ml", "train"), None, (), (), places)
    assert subject.title == "pod ml/train"
    assert subject.nodes == ("n1",)
