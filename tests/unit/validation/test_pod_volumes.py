"""Volumes of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core.parts import Volume
from dray.api.meta import ObjectMeta
from dray.validation.findings import Findings
from dray.validation.pod_leniency import STRICT, Leniency
from dray.validation.pod_volumes import check_token_volumes, check_volumes
from tests.unit.validation.builders import told
from tests.unit.validation.part_builders import raw, volumes
from tests.unit.validation.pod_builders import paths, pod

METADATA = ObjectMeta(name="pod")
CLAIM = {
    "volumeClaimTemplate": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
    }
}


def of(*values: dict[str, Any], leniency: Leniency = STRICT) -> list[str]:
    return told(check_volumes, volumes(*values), METADATA, "v", leniency)


def test_volumes_have_names_of_their_own() -> None:
    assert of({"name": "a"}, {"name": "b"}) == []
    assert of({"name": "a"}, {"name": "a"}) == ['v[1].name: Duplicate value: "a"']
    assert paths(of({"name": ""}, {"name": "A"})) == ["v[0].name", "v[1].name"]


def test_only_volumes_without_a_fault_can_be_mounted() -> None:
    values = volumes({"name": "a"}, {"name": "b", "secret": {}})
    assert set(check_volumes(Findings(), values, METADATA, "v", STRICT)) == {"a"}


def test_a_volume_has_one_source() -> None:
    two = {"name": "a", "emptyDir": {}, "secret": {}, "cephfs": {}}
    assert of(two) == [
        "v[0].secret: Forbidden: may not specify more than 1 volume type",
        "v[0].cephFS: Forbidden: may not specify more than 1 volume type",
    ]
    bare = told(check_volumes, (Volume(name="a"),), METADATA, "v", STRICT)
    assert bare == ["v[0]: Required value: must specify a volume type"]


@pytest.mark.parametrize(
    ("source", "where"),
    [
        (
            {"emptyDir": {"sizeLimit": "-1", "mode": 0o2000}},
            ["emptyDir.sizeLimit", "emptyDir.mode"],
        ),
        ({"hostPath": {"path": ""}}, ["hostPath.path"]),
        ({"hostPath": {"path": "/../a", "type": "Odd"}}, ["hostPath.path", "hostPath.type"]),
        ({"gitRepo": {"directory": "/a"}}, ["gitRepo.repository", "gitRepo.directory"]),
        ({"image": {"pullPolicy": "Odd"}}, ["image.reference", "image.pullPolicy"]),
        ({"gcePersistentDisk": {}}, ["persistentDisk.pdName"]),
        ({"persistentVolumeClaim": {}}, ["persistentVolumeClaim.claimName"]),
        ({"projected": {"defaultMode": -1}}, ["projected.defaultMode"]),
    ],
)
def test_sources_are_looked_into(source: dict[str, Any], where: list[str]) -> None:
    assert paths(of({"name": "a", **source})) == [f"v[0].{name}" for name in where]


def test_a_stored_pod_may_keep_its_empty_image() -> None:
    empty = {"name": "a", "image": {}}
    assert of(empty, leniency=Leniency(empty_image_reference=True)) == []


def test_nobody_uses_the_claim_a_pod_brings_along() -> None:
    ephemeral = {"name": "a", "ephemeral": CLAIM}
    other = {"name": "b", "persistentVolumeClaim": {"claimName": "pod-a"}}
    assert paths(of(ephemeral, other)) == ["v[1].persistentVolumeClaim.claimName"]


def test_the_claim_a_pod_brings_along_is_called_after_both() -> None:
    long = ObjectMeta(name="p" * 250)
    (error,) = told(check_volumes, volumes({"name": "abc", "ephemeral": CLAIM}), long, "v", STRICT)
    assert error.startswith('v[0].name: Invalid value: "abc": PVC name "ppp')


def test_a_named_initiator_leaves_little_room() -> None:
    source = {
        "targetPortal": "p" * 64,
        "iqn": "iqn.2001-04.com.example:disk",
        "lun": 0,
        "initiatorName": "iqn.2001-04.com.example:me",
    }
    assert paths(of({"name": "a", "iscsi": source})) == ["v[0].name"]


def test_tokens_are_those_of_an_account() -> None:
    token = {"name": "a", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    bare = pod(volumes=raw([token])).spec
    at = "spec.volumes[0].projected.sources[0].serviceAccountToken"
    assert paths(told(check_token_volumes, bare, volumes(token))) == [at]
    owned = pod(service_account_name="a").spec
    assert told(check_token_volumes, owned, volumes(token)) == []
