"""Fleet files: what they say, and what they are refused for."""

from __future__ import annotations

from pathlib import Path

import pytest

from dray.api.quantity import Quantity
from dray.cli.embedded import fleet_file
from dray.cli.embedded.fleet_file import FleetFile, load_fleet_file, read_fleet_file
from dray.drivers.simulated import Fleet
from dray.errors import ConfigurationError

NAMED = """
driver: gpu.example.com
models:
  a100: {capacity: {memory: 40Gi}}
unhealthy: {effect: NoExecute}
nodes:
- name: gpu
  count: 2
  runtime: memory
  labels: {rack: r1}
  taints: [{key: gpu, effect: NoSchedule}]
  capacity: {cpu: 64, memory: 512Gi}
  devices: [{model: a100, count: 8}]
- name: edge
  drivers: [host=devices.yaml]
"""


def named(text: str) -> FleetFile:
    read = read_fleet_file(text, source="f.yaml")
    assert isinstance(read, FleetFile)
    return read


def test_nodes_are_one_or_numbered() -> None:
    gpu, edge = named(NAMED).nodes
    assert list(gpu.names()) == ["gpu-1", "gpu-2"]
    assert list(edge.names()) == ["edge"]


def test_a_node_is_what_its_group_says() -> None:
    gpu, _ = named(NAMED).nodes
    assert gpu.quantities() == {"cpu": Quantity.parse("64"), "memory": Quantity.parse("512Gi")}
    assert [str(taint) for taint in gpu.node_taints()] == ["gpu:NoSchedule"]


def test_devices_are_those_of_the_simulated_driver() -> None:
    file = named(NAMED)
    gpu, edge = file.nodes
    fleet = file.simulated(gpu)
    assert fleet is not None
    assert fleet.driver == "gpu.example.com"
    assert fleet.unhealthy.effect == "NoExecute"
    assert len(fleet.inventory("whatever").devices("whatever")) == 8
    assert file.simulated(edge) is None


def test_a_file_of_the_simulated_driver_is_one_too() -> None:
    text = "models: {a: {}}\nnodes: [{match: '*', devices: [{model: a, count: 2}]}]"
    read = read_fleet_file(text)
    assert isinstance(read, Fleet)
    assert len(read.inventory("n").devices("n")) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            "nodes:\n- {name: a\n",
            "f.yaml: line 3, column 1: not YAML: expected ',' or '}', but got '<stream end>'",
            id="yaml",
        ),
        pytest.param("a: \x01", "f.yaml: not YAML: unacceptable character #x0001", id="bytes"),
        pytest.param("# nothing\n", "f.yaml: is empty", id="empty"),
        pytest.param(
            "nodes: [{name: a, cout: 2}]", "unknown field `cout` - at `$.nodes[0]`", id="typo"
        ),
        pytest.param(
            "nodes: [{name: a, count: 0}]", "`int` >= 1 - at `$.nodes[0].count`", id="none"
        ),
        pytest.param("nodes: [{name: a, runtime: vm}]", "Invalid enum value 'vm'", id="runtime"),
        pytest.param("nodes: [{name: A_b}]", '$.nodes[0].name: "A_b": a lowercase', id="name"),
        pytest.param("nodes: [{name: a, labels: {a/b/c: x}}]", '"a/b/c=x"', id="label"),
        pytest.param(
            "nodes: [{name: a, capacity: {cpu: x}}]", "$.nodes[0].capacity.cpu", id="amount"
        ),
        pytest.param(
            "nodes: [{name: a, capacity: {cpu: -1}}]", "-1 is less than nothing", id="less"
        ),
        pytest.param(
            "nodes: [{name: a, taints: [{key: 'a b', effect: NoSchedule}]}]",
            '$.nodes[0].taints[0]: "a b"',
            id="taint",
        ),
        pytest.param(
            "nodes: [{name: a-1}, {name: a, count: 2}]",
            '$.nodes[1]: node "a-1" is there already, by $.nodes[0]',
            id="twice",
        ),
        pytest.param(
            "nodes: [{name: b}, {name: a, devices: [{model: x}]}]",
            "$.nodes[1].devices[0]: there is no model 'x', only none",
            id="model",
        ),
        pytest.param("nodes: [{name: a}, {match: b}]", "unknown field `match`", id="both"),
    ],
)
def test_what_cannot_be_is_refused_with_file_place_and_rule(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        read_fleet_file(text, source="f.yaml")
    assert str(refusal.value).startswith("f.yaml: ")
    assert told in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_there_are_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(NAMED)
    assert isinstance(load_fleet_file(file), FleetFile)
    monkeypatch.setattr(fleet_file, "NODES_MAX", 2)
    with pytest.raises(ConfigurationError, match="3 nodes, and at most 2 run"):
        load_fleet_file(file)
    monkeypatch.setattr(fleet_file, "FILE_BYTES_MAX", 10)
    with pytest.raises(ConfigurationError, match="larger than 10 bytes"):
        load_fleet_file(file)


def test_a_file_that_cannot_be_read_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        load_fleet_file(tmp_path / "none")
    assert str(refusal.value) == f"{tmp_path}/none: cannot be read: No such file or directory"
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="binary: cannot be read: 'utf-8' codec"):
        load_fleet_file(tmp_path / "binary")
