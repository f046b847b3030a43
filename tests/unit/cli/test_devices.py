from __future__ import annotations

import gzip
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from dray.cli.devices import Unreadable, read_device, read_devices
from dray.cli.errors import CommandError


def slice_of(*devices: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "-".join(["s", *(str(one["name"]) for one in devices)])},
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
        "passed over 1 slice of an older generation of its pool",
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


def test_a_file_without_any_document_is_an_error(tmp_path: Path) -> None:
    for data in ("", "---\n", "# nothing\n"):
        path = tmp_path / "empty.yaml"
        path.write_text(data)
        with pytest.raises(CommandError, match="no objects in"):
            read_devices([str(path)], None)
    with pytest.raises(CommandError, match="no objects in standard input"):
        read_devices(["-"], BytesIO(b""))
    empty = {"apiVersion": "v1", "kind": "List", "items": []}
    assert read_devices([write(tmp_path, empty)], None).devices == ()


def test_everything_that_cannot_be_read_is_told_as_by_validate(tmp_path: Path) -> None:
    wrong = slice_of({"name": "a", "attributes": {"x": {"int": "8"}}})
    path = write(tmp_path, wrong, slice_of({"name": 5}))
    with pytest.raises(Unreadable) as raised:
        read_devices([path, "/nowhere"], None)
    first, second, third = map(str, raised.value.problems)
    assert first.startswith(f"{path}:1: document 1 (ResourceSlice/s-a): spec.devices[0].attributes")
    assert first.endswith("; leave the quotes out")
    assert second.startswith(f"{path}:2: document 2 (ResourceSlice/s-5): ")
    assert second.endswith("; put it in quotes")
    assert third.startswith("/nowhere")


def test_a_compressed_file_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "slices.yaml.gz"
    path.write_bytes(gzip.compress(b"{}"))
    with pytest.raises(CommandError, match="compressed by gzip"):
        read_devices([str(path)], None)


def test_what_looks_like_a_mistake_is_noted(tmp_path: Path) -> None:
    misspelt = slice_of({"name": "a", "atributes": {}})
    path = write(tmp_path, misspelt, misspelt, {"kind": "ResourceSlices"})
    inventory = read_devices([path], None)
    assert [str(one) for one in inventory.devices] == ["p/a"]
    assert inventory.notes == (
        "passed over what is no ResourceSlice: 1 ResourceSlices",
        "there is no kind ResourceSlices: did you mean ResourceSlice?",
        *(
            f"{path}:{line}: spec.devices[0].atributes is passed over, because a ResourceSlice "
            "has no such field; did you mean attributes?"
            for line in (1, 2)
        ),
        f"{path}:2: ResourceSlice/s-a is at {path}:1 already, counted once",
    )


def test_slices_of_one_name_that_differ_are_both_counted(tmp_path: Path) -> None:
    other = slice_of({"name": "a"}, nodeName="n")
    inventory = read_devices([write(tmp_path, slice_of({"name": "a"}), other)], None)
    assert len(inventory.devices) == 2
    assert "differs, so both are counted" in inventory.notes[0]


def test_pools_and_slices_that_are_not_whole_are_noted(tmp_path: Path) -> None:
    part = slice_of({"name": "a"}, pool={"name": "p", "generation": 1, "resourceSliceCount": 3})
    bare = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "b"}}
    notes = read_devices([write(tmp_path, part, bare)], None).notes
    assert "pool p of d.com is incomplete: 1 of 3 slices" in notes
    assert any(note.endswith("ResourceSlice/b names no driver in its spec") for note in notes)


def test_devices_of_two_drivers_are_told_apart(tmp_path: Path) -> None:
    other = slice_of({"name": "a"}, {"name": "b"}, driver="e.com")
    inventory = read_devices([write(tmp_path, slice_of({"name": "a"}), other)], None)
    assert [str(one) for one in inventory.devices] == ["d.com/p/a", "e.com/p/a", "p/b"]


def test_a_driver_has_to_be_one_and_that_of_the_slice(tmp_path: Path) -> None:
    path = write(tmp_path, slice_of({"name": "a"}))
    assert read_device(path, "d.com", None).id.driver == "d.com"
    with pytest.raises(CommandError, match=r"the slice is of driver d\.com, not e\.com"):
        read_device(path, "e.com", None)
    with pytest.raises(CommandError, match="--driver: Invalid value"):
        read_device(write(tmp_path, {"name": "a"}), "no driver", None)
