"""Fleets from YAML: what nodes have, and what is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from dray.api.quantity import Quantity
from dray.api.resource import Device
from dray.drivers.simulated import fleet as module
from dray.drivers.simulated.fleet import Stock, default_fleet, load_fleet, read_fleet
from dray.sdk import ConfigurationError

FLEET = """
driver: gpu.example.com
models:
  a100:
    attributes:
      {productName: A100, driverVersion: {version: 550.54.14}, nvlink: true, lanes: [1, 2]}
    capacity: {memory: 40Gi}
    partitions:
      profiles:
      - {name: 1g, count: 2, capacity: {memory: 5Gi}, consumes: {memory: 5Gi, slices: 1}}
      - {name: 7g, attributes: {big: true}, consumes: {memory: 40Gi, slices: 7}}
      counters: {memory: 40Gi, slices: 7}
  l4:
    capacity: {memory: {value: 24Gi, minimum: 1Gi, maximum: 24Gi, step: 1Gi, default: 2Gi}}
    shared: true
    taints: [{key: example.com/new, effect: NoSchedule, value: "yes"}]
    bindingConditions: [example.com/ready]
    bindingFailureConditions: [example.com/failed]
    bindsToNode: true
    environment: {L4: "1"}
nodes:
- match: gpu-*
  devices:
  - {model: a100, name: gpu}
  - {model: l4, count: 3, attributes: {rack: r1}}
  topology: {numaNodes: 2, pcieRoots: 3}
- match: all-partitions
  devices: []
"""


def devices(node: str) -> dict[str, Device]:
    return {each.name: each for _pool, each in read_fleet(FLEET).inventory(node).devices()}


def test_a_node_has_the_devices_of_the_first_entry_that_matches_its_name() -> None:
    assert list(devices("gpu-7")) == [
        "gpu-0",
        "gpu-0-1g-0",
        "gpu-0-1g-1",
        "gpu-0-7g-0",
        "l4-0",
        "l4-1",
        "l4-2",
    ]
    assert devices("all-partitions") == {}
    assert devices("other") == {}
    assert read_fleet(FLEET).models_of("other") == {}


def test_attributes_are_of_their_types() -> None:
    found = devices("gpu-0")["gpu-0"].attributes
    assert found["productName"].string_value == "A100"
    assert found["driverVersion"].version_value == "550.54.14"
    assert found["nvlink"].bool_value is True
    assert found["lanes"].int_values == (1, 2)
    assert found["index"].int_value == 0


def test_devices_are_spread_over_what_they_are_plugged_into() -> None:
    found = devices("gpu-0")
    places = [
        (
            found[name].attributes["numaNode"].int_value,
            found[name].attributes["resource.kubernetes.io/pcieRoot"].string_value,
        )
        for name in ("gpu-0", "l4-0", "l4-1", "l4-2")
    ]
    assert places == [(0, "pci0000:00"), (1, "pci0000:01"), (0, "pci0000:02"), (1, "pci0000:00")]


def test_partitions_take_from_the_counters_of_their_device() -> None:
    found = devices("gpu-0")
    part = found["gpu-0-1g-1"]
    (taken,) = part.consumes_counters
    assert taken.counter_set == "gpu-0"
    assert {name: str(one.value) for name, one in taken.counters.items()} == {
        "memory": "5Gi",
        "slices": "1",
    }
    assert part.attributes["parent"].string_value == "gpu-0"
    assert part.attributes["profile"].string_value == "1g"
    assert found["gpu-0-7g-0"].attributes["big"].bool_value is True
    # A profile without a capacity of its own has that of the model.
    assert found["gpu-0-7g-0"].capacity["memory"].value == Quantity.parse("40Gi")
    (pool,) = read_fleet(FLEET).inventory("gpu-0").pools
    assert [one.name for one in pool.counters] == ["gpu-0"]


def test_a_device_may_be_had_in_parts_only() -> None:
    text = FLEET.replace(
        "counters: {memory: 40Gi, slices: 7}",
        "counters: {memory: 40Gi, slices: 7}\n      whole: false",
    )
    names = [each.name for _pool, each in read_fleet(text).inventory("gpu-0").devices()]
    assert "gpu-0" not in names
    assert "gpu-0-1g-0" in names


def test_a_shared_device_says_how_it_may_be_cut_and_bound() -> None:
    found = devices("gpu-0")["l4-1"]
    assert found.allow_multiple_allocations is True
    policy = found.capacity["memory"].request_policy
    assert policy is not None
    assert policy.valid_range is not None
    assert (str(policy.default), str(policy.valid_range.step)) == ("2Gi", "1Gi")
    assert [(one.key, one.value, one.effect) for one in found.taints] == [
        ("example.com/new", "yes", "NoSchedule")
    ]
    assert found.binding_conditions == ("example.com/ready",)
    assert found.binding_failure_conditions == ("example.com/failed",)
    assert found.binds_to_node is True
    assert found.attributes["rack"].string_value == "r1"


@pytest.mark.parametrize("whole", ["true", "false"])
def test_partitions_know_what_they_are_cut_from(whole: str) -> None:
    text = f"""
models:
  a:
    partitions:
      whole: {whole}
      counters: {{slices: 2}}
      profiles: [{{name: half, count: 2, attributes: {{parent: me}}, consumes: {{slices: 1}}}}]
  b: {{}}
nodes: [{{match: n1, devices: [{{model: a, count: 2}}, {{model: b}}]}}]
"""
    assert read_fleet(text).parents_of("n1") == {
        "a-0-half-0": "a-0",
        "a-0-half-1": "a-0",
        "a-1-half-0": "a-1",
        "a-1-half-1": "a-1",
    }
    assert read_fleet(text).parents_of("n2") == {}


def test_every_device_knows_its_model_also_where_names_begin_alike() -> None:
    text = """
models: {a: {environment: {M: a}}, b: {environment: {M: b}}}
nodes: [{devices: [{model: a, name: gpu, count: 2}, {model: b, name: gpu-1}]}]
"""
    found = read_fleet(text).models_of("n1")
    assert {name: model.environment["M"] for name, model in found.items()} == {
        "gpu-0": "a",
        "gpu-1": "a",
        "gpu-1-0": "b",
    }


def one_device(model: str, node: str = "devices: [{model: m}]") -> str:
    return f"models: {{m: {model}}}\nnodes: [{{{node}}}]"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("{", "not YAML", id="not-yaml"),
        pytest.param("", "Expected `object`, got `null`", id="nothing"),
        pytest.param("[]", "Expected `object`, got `array`", id="a-list"),
        pytest.param("models: {}", "missing required field `nodes`", id="no-nodes"),
        pytest.param(one_device("{}") + "\nnode: []", "unknown field `node`", id="unknown-member"),
        pytest.param(
            one_device("{capactiy: {}}"),
            r"unknown field `capactiy` - at `\$.models\[...\]`",
            id="typo",
        ),
        pytest.param(
            one_device("{}", "devices: [{model: x}]"),
            r"\$.nodes\[0\].devices\[0\]: there is no model 'x', only m",
            id="unknown-model",
        ),
        pytest.param(
            one_device("{}", "devices: [{model: m, count: -1}]"),
            r"`int` >= 0 - at `\$.nodes\[0\].devices\[0\].count`",
            id="negative-count",
        ),
        pytest.param(
            one_device("{}", "devices: [{model: m, count: 16385}]"),
            r"`int` <= 16384 - at `\$.nodes\[0\].devices\[0\].count`",
            id="large-count",
        ),
        pytest.param(
            one_device(
                "{}", "devices: [{model: m, count: 9000}, {model: m, name: n, count: 9000}]"
            ),
            r"\$.nodes\[0\]: 18000 devices, and at most 16384",
            id="too-many",
        ),
        pytest.param(
            one_device(
                "{partitions: {counters: {}, profiles: [{name: p, count: 16000}]}}",
                "devices: [{model: m, count: 16000}]",
            ),
            "256016000 devices, and at most 16384",
            id="too-many-partitions",
        ),
        pytest.param(
            one_device("{capacity: {memory: 40Gx}}"),
            r"\$.nodes\[0\]: device m-0: capacity memory is .40Gx",
            id="amount",
        ),
        pytest.param(
            one_device("{capacity: {memory: {value: 1, step: much}}}"),
            r"\$.nodes\[0\]: capacity of 1: step is",
            id="policy",
        ),
        pytest.param(
            one_device("{attributes: {a: {version: one}}}"),
            r"\$.nodes\[0\]: .one.: must be a version",
            id="version",
        ),
        pytest.param(one_device("{attributes: {a: 1.5}}"), r"got `float` - at", id="fraction"),
        pytest.param(
            one_device("{attributes: {a: [1, b]}}"),
            "values of a list are of one type",
            id="mixed-list",
        ),
        pytest.param(
            one_device("{attributes: {'a b': 1}}"),
            r"\$.nodes\[0\]: device m-0: attribute",
            id="name",
        ),
        pytest.param(
            one_device("{}", "devices: [{model: m, name: GPU}]"),
            r"\$.nodes\[0\]: device GPU-0: name",
            id="device-name",
        ),
        pytest.param(
            one_device("{}", "devices: [{model: m}, {model: m}]"),
            r"\$.nodes\[0\]: pool: two devices are named .m-0",
            id="twice",
        ),
        pytest.param(
            one_device("{taints: [{key: a, effect: Sometimes}]}"),
            r"Invalid enum value 'Sometimes'",
            id="effect",
        ),
        pytest.param(
            one_device("{}", "devices: [], topology: {numaNodes: -2}"),
            r"`\$.nodes\[0\].topology.numaNodes`",
            id="topology",
        ),
        pytest.param(
            one_device("{}") + "\nunhealthy: {recoverSeconds: -1}",
            r"at `\$.unhealthy.recoverSeconds`",
            id="recovery",
        ),
        pytest.param(
            one_device("{}") + "\ndriver: Not A Name", r"at `\$.driver`", id="driver-name"
        ),
        pytest.param(
            one_device("{}") + f"\ndriver: {'d' * 64}", r"length <= 63 - at `\$.driver`", id="long"
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as refused:
        read_fleet(text, source="fleet.yaml")
    assert str(refused.value).startswith("fleet.yaml: ")


def test_the_usual_fleet_has_four_gpus_on_every_node() -> None:
    names = [each.name for _pool, each in default_fleet().inventory("any").devices()]
    assert names == ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]


def test_a_fleet_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    assert load_fleet(path) == read_fleet(FLEET)


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match=r"missing.yaml: cannot be read"):
        load_fleet(tmp_path / "missing.yaml")
    path = tmp_path / "fleet.yaml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_fleet(path)
    path.write_text(FLEET)
    monkeypatch.setattr(module, "FILE_BYTES_MAX", 10)
    with pytest.raises(ConfigurationError, match="larger than 10 bytes"):
        load_fleet(path)


def test_nodes_that_are_alike_share_what_they_have() -> None:
    fleet = read_fleet(
        "models: {a: {}}\n"
        "nodes: [{match: big-*, devices: [{model: a, count: 2}]}, {match: small, devices: []}]"
    )
    stock = Stock(fleet)
    inventory, models, parents = stock.of("big-1")
    assert stock.of("big-2")[0] is inventory
    assert sorted(models) == ["a-0", "a-1"]
    assert parents == {}
    assert len(inventory.devices("big-1")) == 2
    assert not stock.of("small")[0].devices("small")
    assert not stock.of("other")[0].devices("other")
