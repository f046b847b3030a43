"""Storage of clouds and networks."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core.parts import Volume
from dray.validation import volume_storage as storage
from tests.unit.validation.builders import told
from tests.unit.validation.part_builders import volume
from tests.unit.validation.pod_builders import paths


def test_every_kind_with_requirements_is_a_source() -> None:
    assert set(storage.REQUIRED) <= set(Volume.__struct_fields__)


def test_what_a_source_must_say_is_said() -> None:
    source = volume(rbd={}).rbd
    assert paths(told(storage.check_required, source, "rbd", "r")) == ["r.monitors", "r.image"]
    assert told(storage.check_required, source, "emptyDir", "r") == []


IQN = "iqn.2001-04.com.example:disk"


@pytest.mark.parametrize(
    ("check", "source", "where"),
    [
        ("disk", {"gcePersistentDisk": {"pdName": "p", "partition": 256}}, ["s.partition"]),
        ("nfs", {"nfs": {"server": "s", "path": "p"}}, ["s.path"]),
        ("iscsi", {"iscsi": {"targetPortal": "p", "iqn": IQN, "lun": 255}}, []),
        (
            "iscsi",
            {"iscsi": {"chapAuthSession": True, "lun": 256}},
            ["s.targetPortal", "s.iqn", "s.lun", "s.secretRef"],
        ),
        (
            "iscsi",
            {"iscsi": {"targetPortal": "p", "iqn": "eui.1", "initiatorName": "x", "lun": 0}},
            ["s.iqn", "s.initiatorname"],
        ),
        ("fibre_channel", {"fc": {}}, ["s.targetWWNs"]),
        ("fibre_channel", {"fc": {"targetWWNs": ["a"], "wwids": ["b"]}}, ["s.targetWWNs", "s.lun"]),
        ("fibre_channel", {"fc": {"targetWWNs": ["a"], "lun": 256}}, ["s.lun"]),
        ("quobyte", {"quobyte": {"registry": "h:1,[::1]:2", "volume": "v"}}, []),
        ("quobyte", {"quobyte": {}}, ["s.registry", "s.volume"]),
        ("quobyte", {"quobyte": {"registry": "h", "volume": "v"}}, ["s.registry"]),
        (
            "quobyte",
            {"quobyte": {"registry": "h", "volume": "v", "tenant": "t" * 65}},
            ["s.tenant"],
        ),
        ("flocker", {"flocker": {}}, ["s"]),
        (
            "flocker",
            {"flocker": {"datasetName": "a/b", "datasetUUID": "u"}},
            ["s", "s.datasetName"],
        ),
        ("cinder", {"cinder": {"secretRef": {}}}, ["s.secretRef.name"]),
        ("flex", {"flexVolume": {"options": {"k8s.io/a": "", "b": ""}}}, ["s.options[k8s.io/a]"]),
        ("azure_disk", {"azureDisk": {"diskURI": "https://x"}}, []),
        ("azure_disk", {"azureDisk": {"diskURI": "x", "kind": "Managed"}}, ["s.diskURI"]),
        (
            "azure_disk",
            {"azureDisk": {"cachingMode": "x", "kind": "x", "diskURI": "x"}},
            ["s.cachingMode", "s.kind", "s.diskURI"],
        ),
        (
            "storageos",
            {"storageos": {"volumeNamespace": "A", "secretRef": {}}},
            ["s.volumeName", "s.volumeNamespace", "s.secretRef.name"],
        ),
        ("storageos", {"storageos": {"volumeName": "A"}}, ["s.volumeName"]),
        ("csi", {"csi": {"driver": "Driver.example.com"}}, []),
        ("csi", {"csi": {"nodePublishSecretRef": {}}}, ["s.driver", "s.nodePublishSecretRef.name"]),
        (
            "csi",
            {"csi": {"driver": "d" * 64, "nodePublishSecretRef": {"name": "A"}}},
            ["s.driver", "s.name"],
        ),
    ],
)
def test_sources_have_rules_of_their_own(
    check: str, source: dict[str, Any], where: list[str]
) -> None:
    found = volume(**source)
    (value,) = (
        member
        for name in found.__struct_fields__
        if name not in ("name", "unknown_fields") and (member := getattr(found, name)) is not None
    )
    assert paths(told(getattr(storage, f"check_{check}"), value, "s")) == where
