"""Metadata files, and the CDI files that mount them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dray.api.cdi import decode_spec
from dray.api.meta import ObjectMeta
from dray.api.resource import DeviceAttribute, NetworkDeviceData, ResourceClaim
from dray.errors import InternalError
from dray.sdk._metadata import MetadataFiles, PreparedMetadata

UID = "0b5e1cf2-0000-4000-8000-000000000001"
CLAIM = ResourceClaim(metadata=ObjectMeta(name="mine", namespace="ns", uid=UID))
GPU = PreparedMetadata(
    "node-1", "gpu-0", ("gpu",), attributes={"model": DeviceAttribute(string_value="a100")}
)


@pytest.fixture
def files(tmp_path: Path) -> MetadataFiles:
    return MetadataFiles(tmp_path / "plugin", tmp_path / "cdi", driver="gpu.example.com")


def documents(path: Path) -> list[dict[str, Any]]:
    decoder, text, found = json.JSONDecoder(), path.read_text(), []
    while text := text.lstrip():
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:]
    return found


def host_path(tmp_path: Path, request: str = "gpu") -> Path:
    return tmp_path / "plugin" / "dra-device-metadata" / UID / request / "metadata.json"


def test_a_request_has_a_file_with_every_version_newest_first(
    files: MetadataFiles, tmp_path: Path
) -> None:
    assert files.write(CLAIM, [GPU]) == {"gpu": f"gpu.example.com/metadata={UID}_gpu"}
    found = documents(host_path(tmp_path))
    assert [each["apiVersion"] for each in found] == [
        "metadata.resource.k8s.io/v1beta1",
        "metadata.resource.k8s.io/v1alpha1",
    ]
    assert found[0] == {
        "kind": "DeviceMetadata",
        "apiVersion": "metadata.resource.k8s.io/v1beta1",
        "metadata": {"name": "mine", "namespace": "ns", "uid": UID, "generation": 1},
        "requests": [
            {
                "name": "gpu",
                "devices": [
                    {
                        "driver": "gpu.example.com",
                        "pool": "node-1",
                        "name": "gpu-0",
                        "attributes": {"model": {"string": "a100"}},
                    }
                ],
            }
        ],
    }


def test_the_file_is_mounted_where_containers_look_for_it(
    files: MetadataFiles, tmp_path: Path
) -> None:
    files.write(CLAIM, [GPU])
    path = tmp_path / "cdi" / f"gpu.example.com_metadata_{UID}_gpu.json"
    spec = decode_spec(path.read_bytes())
    (mount,) = spec.devices[0].container_edits.mounts
    assert spec.kind == "gpu.example.com/metadata"
    assert mount.host_path == str(host_path(tmp_path))
    assert mount.container_path == (
        "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/mine/gpu/"
        "gpu.example.com-metadata.json"
    )
    assert mount.options == ("ro", "bind")
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_claim_from_a_template_goes_by_the_pods_name_for_it(
    files: MetadataFiles, tmp_path: Path
) -> None:
    annotations = {"resource.kubernetes.io/pod-claim-name": "accelerator"}
    metadata = ObjectMeta(name="pod-x7", namespace="ns", uid=UID, annotations=annotations)
    files.write(ResourceClaim(metadata=metadata), [GPU])
    assert documents(host_path(tmp_path))[0]["podClaimName"] == "accelerator"
    (path,) = (tmp_path / "cdi").iterdir()
    (mount,) = decode_spec(path.read_bytes()).devices[0].container_edits.mounts
    assert "/resourceclaimtemplates/accelerator/gpu/" in mount.container_path


def test_alternatives_are_named_in_the_file_but_not_in_its_place(
    files: MetadataFiles, tmp_path: Path
) -> None:
    told = PreparedMetadata(
        "p", "nic-0", ("net/fast",), network_data=NetworkDeviceData(interface_name="eth1")
    )
    assert list(files.write(CLAIM, [told])) == ["net"]
    (request,) = documents(host_path(tmp_path, "net"))[0]["requests"]
    assert request["name"] == "net/fast"
    assert request["devices"][0]["networkData"] == {"interfaceName": "eth1"}


def test_writing_again_changes_nothing_unless_there_is_news(
    files: MetadataFiles, tmp_path: Path
) -> None:
    files.write(CLAIM, [GPU])
    before = host_path(tmp_path).stat().st_ino
    files.write(CLAIM, [GPU])
    assert host_path(tmp_path).stat().st_ino == before
    files.write(CLAIM, [PreparedMetadata("node-1", "gpu-0", ("gpu",))])
    assert documents(host_path(tmp_path))[0]["metadata"]["generation"] == 2


def test_what_a_crash_or_a_reboot_destroyed_is_written_again(
    files: MetadataFiles, tmp_path: Path
) -> None:
    files.write(CLAIM, [GPU])
    (spec,) = (tmp_path / "cdi").iterdir()
    spec.unlink()
    host_path(tmp_path).write_text("{ half")
    files.write(CLAIM, [GPU])
    assert spec.exists()
    assert documents(host_path(tmp_path))[0]["metadata"]["generation"] == 1


def test_removal_leaves_nothing_and_takes_nobody_elses(
    files: MetadataFiles, tmp_path: Path
) -> None:
    other = ResourceClaim(metadata=ObjectMeta(name="other", namespace="ns", uid=f"{UID}0"))
    files.write(CLAIM, [GPU, PreparedMetadata("p", "nic-0", ("net",))])
    files.write(other, [GPU])
    (tmp_path / "cdi" / "other-driver_metadata_x_y.json").write_text("{}")
    files.remove(UID)
    files.remove(UID)
    files.remove("../../etc")
    assert files.claims() == (f"{UID}0",)
    assert len(list((tmp_path / "cdi").iterdir())) == 2


def test_files_of_claims_that_nobody_has_are_swept(files: MetadataFiles) -> None:
    assert files.claims() == ()
    files.write(CLAIM, [GPU])
    assert files.reconcile([UID]) == ()
    assert files.reconcile([]) == (UID,)
    assert files.claims() == ()


def test_names_that_lead_elsewhere_are_refused(files: MetadataFiles, tmp_path: Path) -> None:
    with pytest.raises(InternalError):
        files.write(CLAIM, [PreparedMetadata("p", "d", ("..",))])
    assert not (tmp_path / "plugin").exists()
