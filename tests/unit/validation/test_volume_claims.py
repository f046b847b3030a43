"""Claims of storage that a pod brings along."""

from __future__ import annotations

from typing import Any

import pytest

from dray.validation.volume_claims import check_ephemeral
from tests.unit.validation.builders import told
from tests.unit.validation.part_builders import volume
from tests.unit.validation.pod_builders import paths

SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}


def of(metadata: dict[str, Any] | None = None, **spec: Any) -> list[str]:
    template = {"metadata": metadata or {}, "spec": {**SPEC, **spec}}
    source = volume(ephemeral={"volumeClaimTemplate": template}).ephemeral
    return told(check_ephemeral, source, "e")


def test_there_is_a_claim() -> None:
    assert of() == []
    assert paths(told(check_ephemeral, volume(ephemeral={}).ephemeral, "e")) == [
        "e.volumeClaimTemplate"
    ]


def test_only_labels_and_annotations_are_passed_on() -> None:
    assert of({"labels": {"a": "b"}, "annotations": {"c": "d"}}) == []
    at = "e.volumeClaimTemplate.metadata"
    assert paths(of({"name": "n", "uid": "u", "finalizers": ["f"]})) == [
        f"{at}.name",
        f"{at}.uID",
        f"{at}.finalizers",
    ]


SOURCE = {"apiGroup": "g", "kind": "K", "name": "n"}


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"accessModes": []}, ["accessModes"]),
        ({"accessModes": ["Odd"]}, ["accessModes"]),
        ({"accessModes": ["ReadWriteOncePod", "ReadOnlyMany"]}, ["accessModes"]),
        ({"resources": {}}, ["resources[storage]"]),
        ({"resources": {"requests": {"storage": "0"}}}, ["resources[storage]"]),
        ({"storageClassName": "A"}, ["storageClassName"]),
        ({"volumeMode": "Odd"}, ["volumeMode"]),
        ({"volumeAttributesClassName": "A"}, ["volumeAttributesClassName"]),
        (
            {"dataSource": {"kind": "", "name": ""}},
            ["dataSource.name", "dataSource.kind", "dataSource"],
        ),
        ({"dataSource": SOURCE | {"apiGroup": "G"}}, ["dataSource.apiGroup"]),
        ({"dataSource": SOURCE, "dataSourceRef": SOURCE}, []),
        ({"dataSource": SOURCE, "dataSourceRef": SOURCE | {"name": "m"}}, [""]),
        ({"dataSource": SOURCE, "dataSourceRef": SOURCE | {"namespace": "n"}}, [""]),
        ({"dataSourceRef": SOURCE | {"namespace": "N"}}, ["dataSourceRef.namespace"]),
    ],
)
def test_a_claim_says_what_it_wants(spec: dict[str, Any], where: list[str]) -> None:
    at = "e.volumeClaimTemplate.spec"
    assert paths(of(**spec)) == [f"{at}.{name}".rstrip(".") for name in where]
