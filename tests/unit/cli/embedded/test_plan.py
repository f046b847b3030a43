"""Which nodes a cluster gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from dray.cli.embedded.plan import NodePlan, default_devices, plan_nodes
from dray.cli.errors import CommandError
from dray.drivers.simulated import SimulatedDriver
from dray.errors import ConfigurationError

MATCHING = "driver: nic.example.com\nmodels: {n: {}}\nnodes: [{devices: [{model: n}]}]\n"
NAMED = """
models: {n: {}}
nodes:
- {name: a, count: 2, runtime: memory, labels: {rack: r1}, devices: [{model: n}]}
- {name: b}
"""


def plan(
    *,
    count: int | None = None,
    fleet: Path | None = None,
    drivers: tuple[str, ...] = (),
    runtime: str | None = None,
) -> list[NodePlan]:
    return plan_nodes(count=count, fleet=fleet, drivers=drivers, runtime=runtime)


def shown(plans: list[NodePlan]) -> list[tuple[str, str, list[str]]]:
    return [(one.name, one.runtime, [make().name for make in one.drivers]) for one in plans]


SIMULATED = ["gpu.simulated.dev"]


def test_without_options_there_are_two_nodes_on_which_pods_run() -> None:
    assert shown(plan()) == [("node-1", "process", SIMULATED), ("node-2", "process", SIMULATED)]
    assert not any(one.simulated for one in plan())


def test_nodes_that_are_counted_are_simulated_unless_they_have_a_runtime() -> None:
    assert shown(plan(count=1)) == [("node-1", "memory", SIMULATED)]
    assert plan(count=1)[0].simulated
    assert shown(plan(count=1, runtime="process")) == [("node-1", "process", SIMULATED)]
    assert plan(count=0) == []


def test_drivers_replace_the_usual_one(tmp_path: Path) -> None:
    fleet = tmp_path / "f.yaml"
    fleet.write_text(MATCHING)
    assert shown(plan(count=1, drivers=(f"simulated={fleet}",)))[0][2] == ["nic.example.com"]
    assert shown(plan(count=1, fleet=fleet))[0][2] == ["nic.example.com"]


def test_a_fleet_names_nodes(tmp_path: Path) -> None:
    fleet = tmp_path / "f.yaml"
    fleet.write_text(NAMED)
    plans = plan(fleet=fleet)
    assert shown(plans) == [
        ("a-1", "memory", SIMULATED),
        ("a-2", "memory", SIMULATED),
        ("b", "process", []),
    ]
    assert plans[0].traits.labels == {"rack": "r1"}
    assert [one.runtime for one in plan(fleet=fleet, runtime="memory")] == ["memory"] * 3


@pytest.mark.parametrize(
    ("text", "count", "drivers", "told"),
    [
        pytest.param(NAMED, 3, (), "--nodes 3: .* says which nodes there are", id="nodes"),
        pytest.param(NAMED, None, ("nvml",), "--driver nvml: .* says which drivers", id="drivers"),
        pytest.param(MATCHING, 1, ("simulated",), "leave out one of the two", id="twice"),
    ],
)
def test_contradictions_are_refused(
    tmp_path: Path, text: str, count: int | None, drivers: tuple[str, ...], told: str
) -> None:
    fleet = tmp_path / "f.yaml"
    fleet.write_text(text)
    with pytest.raises(ConfigurationError, match=told):
        plan(count=count, fleet=fleet, drivers=drivers)


def test_a_driver_that_is_not_there_is_refused() -> None:
    with pytest.raises(CommandError, match="there is no driver tpu"):
        plan(drivers=("tpu",))


def test_the_usual_devices_show_every_way_to_share() -> None:
    devices = [each for _pool, each in default_devices().inventory("n").devices("n")]
    whole = [each for each in devices if not each.consumes_counters]
    assert sum(not each.allow_multiple_allocations for each in whole) == 4
    assert sum(bool(each.allow_multiple_allocations) for each in whole) == 2
    cut = {counter.counter_set for each in devices for counter in each.consumes_counters}
    assert cut == {"big-0", "big-1"}


def test_a_driver_that_crashes_spares_the_cluster() -> None:
    driver = plan()[0].drivers[0]()
    assert isinstance(driver, SimulatedDriver)
    assert driver._crash is None


def test_one_node_at_most_has_a_cri_runtime(tmp_path: Path) -> None:
    assert [one.name for one in plan(runtime="cri")] == ["node-1"]
    with pytest.raises(ConfigurationError, match="nodes node-1 and node-2 both have the runtime"):
        plan(runtime="cri", count=2)
    fleet = tmp_path / "f.yaml"
    fleet.write_text("nodes: [{name: a, count: 2, runtime: cri}]")
    with pytest.raises(ConfigurationError, match="nodes a-1 and a-2"):
        plan(fleet=fleet)
