"""What volumes, probes and hooks may leave out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from dray.api.core import Container, ObjectFieldSelector, PodSpec
from dray.api.part_defaults import default_field_ref, default_parts

Document = dict[str, Any]


def raw(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


def plain(carried: Raw | None) -> Any:
    return None if carried is None else msgspec.json.decode(carried)


def volume(**source: Any) -> Document:
    spec = PodSpec(volumes=raw([{"name": "v", **source}]))
    (found,) = plain(default_parts(spec)["volumes"])
    del found["name"]
    return dict(found)


def container(**fields: Any) -> Document:
    carried: Any = {name: raw(value) for name, value in fields.items()}
    parts = default_parts(Container(**carried))
    return {name: plain(part) for name, part in parts.items() if part is not None}


FILES = {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}
FILES_DEFAULTED = {
    "items": [{"path": "p", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}]
}


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        pytest.param({}, {"emptyDir": {}}, id="no-source"),
        pytest.param(
            {"emptyDir": {"sizeLimit": "1024Mi", "medium": ""}},
            {"emptyDir": {"sizeLimit": "1Gi"}},
            id="canonical",
        ),
        pytest.param(
            {"secret": {"secretName": "s", "items": []}},
            {"secret": {"secretName": "s", "defaultMode": 420}},
            id="secret",
        ),
        pytest.param(
            {"configMap": {"name": "c", "defaultMode": 0}},
            {"configMap": {"name": "c", "defaultMode": 0}},
            id="mode-given",
        ),
        pytest.param(
            {"downwardAPI": FILES},
            {"downwardAPI": {**FILES_DEFAULTED, "defaultMode": 420}},
            id="facts",
        ),
        pytest.param(
            {
                "projected": {
                    "sources": [{"serviceAccountToken": {"path": "t"}}, {"downwardAPI": FILES}]
                }
            },
            {
                "projected": {
                    "defaultMode": 420,
                    "sources": [
                        {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}},
                        {"downwardAPI": FILES_DEFAULTED},
                    ],
                }
            },
            id="projected",
        ),
        pytest.param(
            {"projected": {}},
            {"projected": {"sources": None, "defaultMode": 420}},
            id="projected-nothing",
        ),
        pytest.param(
            {"hostPath": {"path": "/"}}, {"hostPath": {"path": "/", "type": ""}}, id="host-path"
        ),
        pytest.param(
            {"iscsi": {"targetPortal": "p", "iqn": "i", "lun": 1}},
            {"iscsi": {"targetPortal": "p", "iqn": "i", "lun": 1, "iscsiInterface": "default"}},
            id="iscsi",
        ),
        pytest.param(
            {"rbd": {"monitors": ["m"], "image": "i"}},
            {
                "rbd": {
                    "monitors": ["m"],
                    "image": "i",
                    "pool": "rbd",
                    "user": "admin",
                    "keyring": "/etc/ceph/keyring",
                }
            },
            id="rbd",
        ),
        pytest.param(
            {"azureDisk": {"diskName": "d", "diskURI": "u"}},
            {
                "azureDisk": {
                    "diskName": "d",
                    "diskURI": "u",
                    "cachingMode": "ReadWrite",
                    "fsType": "ext4",
                    "readOnly": False,
                    "kind": "Shared",
                }
            },
            id="azure-disk",
        ),
        pytest.param(
            {"scaleIO": {"gateway": "g", "system": "s"}},
            {
                "scaleIO": {
                    "gateway": "g",
                    "system": "s",
                    "secretRef": None,
                    "storageMode": "ThinProvisioned",
                    "fsType": "xfs",
                }
            },
            id="scale-io",
        ),
        pytest.param(
            {"image": {"reference": "app"}},
            {"image": {"reference": "app", "pullPolicy": "Always"}},
            id="image",
        ),
        pytest.param({"ephemeral": {}}, {"ephemeral": {}}, id="no-claim"),
        pytest.param(
            {
                "ephemeral": {
                    "volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "0.1"}}}}
                }
            },
            {
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "metadata": {},
                        "spec": {
                            "resources": {"requests": {"storage": "100m"}},
                            "volumeMode": "Filesystem",
                        },
                    }
                }
            },
            id="claim",
        ),
    ],
)
def test_volumes_are_filled_in(given: Document, filled: Document) -> None:
    assert volume(**given) == filled


THRESHOLDS = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        pytest.param({}, THRESHOLDS, id="nothing-said"),
        pytest.param(
            {"httpGet": {"port": 80}, "periodSeconds": 5},
            {
                **THRESHOLDS,
                "periodSeconds": 5,
                "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
            },
            id="http",
        ),
        pytest.param(
            {"grpc": {"port": 1}}, {**THRESHOLDS, "grpc": {"port": 1, "service": ""}}, id="grpc"
        ),
    ],
)
def test_probes_are_filled_in(given: Document, filled: Document) -> None:
    assert container(liveness_probe=given) == {"liveness_probe": filled}


def test_hooks_are_filled_in() -> None:
    action = {"httpGet": {"port": "web"}}
    filled = {"httpGet": {"path": "/", "port": "web", "scheme": "HTTP"}}
    hooks = {"postStart": action, "preStop": action}
    assert container(lifecycle=hooks) == {"lifecycle": {"postStart": filled, "preStop": filled}}


@pytest.mark.parametrize("nothing", [[], None], ids=["empty", "null"])
def test_empty_lists_are_left_out(nothing: Any) -> None:
    assert container(volume_mounts=nothing) == {}


def test_an_empty_object_stays_one() -> None:
    assert container(security_context={}, lifecycle={}) == {"security_context": {}, "lifecycle": {}}


def test_unknown_fields_are_kept() -> None:
    assert container(security_context={"new": 1}) == {"security_context": {"new": 1}}


def test_a_complete_part_comes_back_itself() -> None:
    carried = raw([{"name": "v", "emptyDir": {}}])
    assert default_parts(PodSpec(volumes=carried))["volumes"] is carried


def test_long_parts_are_filled_in_too() -> None:
    many = [{"name": f"v{index}"} for index in range(500)]
    found = plain(default_parts(PodSpec(volumes=raw(many)))["volumes"])
    assert found == [{**one, "emptyDir": {}} for one in many]


def test_a_field_is_one_of_a_pod_of_version_one() -> None:
    assert default_field_ref(ObjectFieldSelector(field_path="f")).api_version == "v1"
    odd = ObjectFieldSelector(api_version="v2", field_path="f")
    assert default_field_ref(odd) is odd
