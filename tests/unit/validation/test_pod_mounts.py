"""Mounts of volumes, and block devices."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core.parts import SecurityContext, VolumeDevice, VolumeMount
from dray.validation.pod_mounts import check_devices, check_mounts
from tests.unit.validation.builders import told
from tests.unit.validation.part_builders import volumes
from tests.unit.validation.pod_builders import paths

FOUND = {
    volume.name: volume
    for volume in volumes(
        {"name": "v"},
        {"name": "disk", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "image", "image": {"reference": "i"}},
    )
}


def mount(**fields: Any) -> VolumeMount:
    return VolumeMount(**{"name": "v", "mount_path": "/v", **fields})


def of(
    *mounts: VolumeMount,
    devices: tuple[VolumeDevice, ...] = (),
    security: SecurityContext | None = None,
) -> list[str]:
    return told(check_mounts, mounts, devices, FOUND, security, "m")


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"name": "x"}, ["m[0].name"]),
        ({"name": ""}, ["m[0].name", "m[0].name"]),
        ({"mount_path": ""}, ["m[0].mountPath"]),
        ({"sub_path": "../a"}, ["m.subPath"]),
        ({"sub_path": "a", "sub_path_expr": "b"}, ["m[0].subPathExpr"]),
        ({"mount_propagation": "Sometimes"}, ["m.mountPropagation"]),
        ({"mount_propagation": "Bidirectional"}, ["m.mountPropagation"]),
        ({"recursive_read_only": "Enabled"}, ["m.recursiveReadOnly"]),
        ({"recursive_read_only": "Odd"}, ["m.recursiveReadOnly"]),
        ({"bind_mount_options": ("noexec", "noexec")}, ["m[0].bindMountOptions[1]"]),
        ({"name": "image", "bind_mount_options": ("noexec",)}, ["m[0].bindMountOptions"]),
        ({"recursive_read_only": "IfPossible", "read_only": True}, []),
    ],
)
def test_a_mount_is_of_a_volume_at_a_path(fields: dict[str, Any], where: list[str]) -> None:
    assert paths(of(mount(**fields))) == where


def test_two_mounts_never_share_a_path() -> None:
    assert of(mount(), mount()) == ['m[1].mountPath: Invalid value: "/v": must be unique']


def test_only_the_privileged_mount_in_both_directions() -> None:
    both = mount(mount_propagation="Bidirectional")
    assert of(both, security=SecurityContext(privileged=True)) == []


def test_a_volume_is_a_directory_or_a_device() -> None:
    device = VolumeDevice(name="disk", device_path="/v")
    assert paths(of(mount(name="disk"), devices=(device,))) == ["m[0].name", "m[0].mountPath"]
    assert paths(told(check_devices, (device,), (mount(name="disk"),), FOUND, "d")) == [
        "d[0].name",
        "d[0].devicePath",
    ]


@pytest.mark.parametrize(
    ("name", "path", "where"),
    [
        ("disk", "/dev/x", []),
        ("v", "/dev/x", ["d[0].name"]),
        ("x", "/dev/x", ["d[0].name"]),
        ("", "", ["d[0].name", "d[0].name", "d[0].devicePath"]),
        ("disk", "/dev/../x", ["d[0].devicePath"]),
    ],
)
def test_devices_are_claims(name: str, path: str, where: list[str]) -> None:
    device = VolumeDevice(name=name, device_path=path)
    assert paths(told(check_devices, (device,), (), FOUND, "d")) == where


def test_a_device_is_there_once() -> None:
    device = VolumeDevice(name="disk", device_path="/dev/x")
    assert paths(told(check_devices, (device, device), (), FOUND, "d")) == [
        "d[1].name",
        "d[1].devicePath",
    ]
