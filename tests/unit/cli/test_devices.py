from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dray.cli.devices import read_device, read_devices
from dray.cli.errors import CommandError


def slice_of(*devices: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "d.com",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": list(devices),
            **spec,
        },
    }


def write(path: Path, *objects: object) -> str:
    file = path / "input.json"
    file.write_text("\n".join(json.dumps(one) for one in objects))
    return str(file)


def test_the_devices_of_all_slices_are_found_in_order(tmp_path: Path) -> None:
    listing = {"apiVersion": "v1", "kind": "List", "items": [slice_of({"name": "c"})]}
    path = write(tmp_path, slice_of({"name": "a"}, {"name": "b"}), listing)
    inventory = read_devices([path], None)
    assert [str(one) for one in inventory.devices] == ["p/a", "p/b", "p/c"]
    assert inventory.notes == ()


@pytest.mark.parametrize(
    ("version", "device"),
    [
        ("v1beta1", {"name": "a", "basic": {"attributes": {"x": {"int": 1}}}}),
        ("v1beta2", {"name": "a", "attributes": {"x": {"int": 1}}}),
        ("v1", {"name": "a", "attributes": {"x": {"int": 1}}}),
    ],
)
def test_every_served_version_is_read(tmp_path: Path, version: str, device: dict[str, Any]) -> None:
    document = {**slice_of(device), "apiVersion": f"resource.k8s.io/{version}"}
    (found,) = read_devices([write(tmp_path, document)], None).devices
    assert found.view.value["attributes"] == {"d.com": {"x": 1}}


def test_what_is_passed_over_is_noted(tmp_path: Path) -> None:
    old, new = slice_of({"name": "a"}), slice_of({"name": "b"})
    new["spec"]["pool"] = {"name": "p", "generation": 2, "resourceSliceCount": 1}
    path = write(tmp_path, old, new, {"kind": "Pod"}, {"kind": "Pod"}, {"a": 1})
    inventory = read_devices([path], None)
    assert [str(one) for one in inventory.devices] == ["p/b"]
    assert inventory.notes == (
        "passed over what is no ResourceSlice: 2 Pod, 1 object without a kind",
        "passed over 1 slices of older generations of their pools",
    )
    nothing = read_devices([write(tmp_path, {"kind": "Pod"})], None)
    assert nothing.notes[-1].startswith("no ResourceSlice in ")


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"\x00\x01\xff", "not UTF-8"),
        (b"a: [", "not YAML"),
        (b"kind: ResourceSlice\napiVersion: resource.k8s.io/v9\n", "v9"),
        (b"kind: ResourceSlice\napiVersion: resource.k8s.io/v1\nspec: [1]\n", "spec"),
    ],
    ids=["binary", "torn", "version", "shape"],
)
def test_what_cannot_be_read_is_an_error(tmp_path: Path, data: bytes, rule: str) -> None:
    path = tmp_path / "input.yaml"
    path.write_bytes(data)
    with pytest.raises(CommandError, match=rule):
        read_devices([str(path)], None)


def test_one_device_is_that_of_a_slice_or_its_own_object(tmp_path: Path) -> None:
    device = {"name": "a", "attributes": {"x": {"int": 1}}}
    assert str(read_device(write(tmp_path, slice_of(device)), None, None)) == "p/a"
    assert str(read_device(write(tmp_path, device), "d.com", None)) == "a"
    old = {"name": "a", "basic": {"attributes": {"x": {"int": 1}}}}
    found = read_device(write(tmp_path, old), "d.com", None)
    assert found.view.value["attributes"] == {"d.com": {"x": 1}}


@pytest.mark.parametrize(
    ("objects", "driver", "rule"),
    [
        ([{"name": "a"}], None, "needs --driver"),
        ([{"name": "a"}, {"name": "b"}], "d.com", "takes one object, this has 2"),
        ([slice_of()], None, "has 0 devices"),
        ([slice_of({"name": "a"}, {"name": "b"})], None, "has 2 devices"),
        ([{"kind": "Pod"}], None, "Pod is neither"),
        ([[1]], "d.com", "expected a device"),
        ([{"name": 1}], "d.com", "name"),
        ([{"name": "a", "attribute": {}}], "d.com", "attribute: unknown field"),
    ],
)
def test_anything_else_is_no_device(
    tmp_path: Path, objects: list[object], driver: str | None, rule: str
) -> None:
    with pytest.raises(CommandError, match=rule):
        read_device(write(tmp_path, *objects), driver, None)
