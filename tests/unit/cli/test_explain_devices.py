from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dray.api.codec import decode_builtins
from dray.api.resource import Device
from dray.cli.explain_devices import assigned, traits

from .explain_dumps import gpus, held, load


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        pytest.param({"uuid": {"string": "u"}, "model": {"string": "H100"}}, ["model H100"]),
        pytest.param({"x.io/productName": {"string": "A"}}, ["x.io/productName A"]),
        pytest.param({"index": {"int": 3}, "name": {"string": "eth0"}}, ["name eth0"]),
        pytest.param({"type": {"int": 3}, "profile": {"bool": True}}, ["type 3", "profile true"]),
        pytest.param({"model": {"version": "1.2.3"}, "kind": {"bool": False}}, ["model 1.2.3"]),
        pytest.param({"models": {"strings": ["a"]}}, []),
        pytest.param({}, []),
    ],
)
def test_a_device_is_told_by_what_tells_its_model(attributes: Any, told: list[str]) -> None:
    device = decode_builtins({"name": "d", "attributes": attributes}, Device).value
    found = [f"{name} {value}" for name, value in traits(device)]
    assert found[: len(told)] == told
    assert bool(found) == bool(told)


def test_the_first_capacities_are_told_too() -> None:
    capacity = {name: {"value": "1Gi"} for name in ("memory", "bandwidth", "slots")}
    device = decode_builtins({"name": "d", "capacity": capacity}, Device).value
    assert list(traits(device)) == [("memory", "1Gi"), ("bandwidth", "1Gi")]


def test_devices_are_looked_up_in_the_newest_generation(tmp_path: Path) -> None:
    old = gpus("a", 1, "old")
    new = gpus("a", 1, "new", pool={"name": "a", "generation": 2, "resourceSliceCount": 1})
    new["metadata"]["name"] = "newer"
    snapshot = load(tmp_path, [new, old, gpus("b", 1, "other"), held("c", "a", ["gpu-0", "gone"])])
    pairs = [
        (one, one.status.allocation)
        for one in snapshot.claims.values()
        if one.status.allocation is not None
    ]
    known, gone = assigned(pairs, snapshot.slices)
    assert known.traits[0] == ("model", "new")
    assert (gone.id.device, gone.traits) == ("gone", ())
