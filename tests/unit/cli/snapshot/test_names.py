from __future__ import annotations

import pytest

from dray.cli.errors import CommandError
from dray.cli.snapshot.names import (
    ObjectName,
    Reference,
    SubjectKind,
    hint_for,
    listed,
    parse_reference,
)


@pytest.mark.parametrize(
    "text", ["pod/train", "pods/train", "po/train", "Pod/train", "pods train", "pods.v1./train"]
)
def test_a_pod_is_named_as_kubectl_takes_it(text: str) -> None:
    assert parse_reference(text) == Reference(SubjectKind.POD, "train")


@pytest.mark.parametrize(
    "text",
    [
        "claim/gpu",
        "claims gpu",
        "resourceclaim/gpu",
        "resourceclaims/gpu",
        "resourceclaims.resource.k8s.io/gpu",
        "resourceclaims.v1beta1.resource.k8s.io/gpu",
    ],
)
def test_a_claim_is_named_as_kubectl_takes_it(text: str) -> None:
    assert parse_reference(text) == Reference(SubjectKind.CLAIM, "gpu")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train", '"train" does not say what it is: pod/train or claim/train?'),
        ("", 'expected pod/NAME or claim/NAME, got ""'),
        ("pod/", 'expected pod/NAME or claim/NAME, got "pod/"'),
        ("pod/ml/train", 'expected pod/NAME or claim/NAME, got "pod/ml/train"'),
        ("node/n1", 'pods and claims can be asked about, not "node"'),
        (
            "resourceclam/x",
            'pods and claims can be asked about, not "resourceclam"; did you mean resourceclaim?',
        ),
        ("pods.apps/x", 'pods and claims can be asked about, not "pods.apps"; did you mean pods?'),
    ],
)
def test_what_cannot_be_asked_about_says_what_can(text: str, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_reference(text)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("known", "hint"),
    [
        ([], "the dump has none at all: kubectl get pods -A -o yaml"),
        ([ObjectName("lab", "train")], "it is in namespace lab"),
        ([ObjectName("ml", "trian")], "did you mean trian?"),
        ([ObjectName("lab", "trian")], "did you mean lab/trian?"),
        ([ObjectName("ml", "zzz")], ""),
    ],
    ids=["nothing", "elsewhere", "near", "near-and-elsewhere", "far"],
)
def test_a_name_that_is_not_there_is_hinted_at(known: list[ObjectName], hint: str) -> None:
    assert hint_for(ObjectName("ml", "train"), known, "pods") == hint


def test_a_long_list_is_cut() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(number) for number in range(8)]) == "0, 1, 2, 3, 4 and 3 more"
