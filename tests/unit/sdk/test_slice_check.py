"""What a server would refuse is found before it is asked."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dray.api.resource import DeviceAttribute, DeviceTaint
from dray.sdk._inventory import Pool, device
from dray.sdk._slice_check import PROBLEMS_MAX, find_problems
from dray.sdk._slice_layout import lay_out


def problems(pool: Pool) -> list[str]:
    return find_problems(pool, lay_out(pool, driver="d.example.com", node_name="node-1"))


def test_a_valid_pool_has_no_problems() -> None:
    assert problems(Pool([device("a", attributes={"model": "m"}, capacity={"memory": 1})])) == []


def test_problems_name_the_device_and_all_are_told() -> None:
    found = problems(
        Pool(
            [
                device("good"),
                device("bad", taints=[DeviceTaint(key="no key", effect="Sometimes")]),
                device("worse", attributes={"a": DeviceAttribute()}),
            ]
        )
    )
    assert any(line.startswith("device bad: taints[0].key") for line in found)
    assert any(line.startswith("device bad: taints[0].effect") for line in found)
    assert any(line.startswith("device worse: attributes[a]") for line in found)


def test_counters_that_are_not_there_are_told() -> None:
    found = problems(
        Pool(
            [device("a", consumes={"s": {"x": 1}}), device("b", consumes={"t": {"x": 1}})],
            counters={"s": {"y": 1}},
        )
    )
    assert any("s/x" in line for line in found)
    assert any("counter set t" in line for line in found)


def test_a_mistake_in_every_device_does_not_fill_the_log() -> None:
    taint = DeviceTaint(key="no key", effect="NoSchedule")
    found = problems(Pool([device(f"d{n}", taints=[taint]) for n in range(500)]))
    assert len(found) == PROBLEMS_MAX + 1
    assert found[-1].startswith("and ")


@pytest.mark.slow
def test_the_rules_are_loaded_only_when_needed() -> None:
    code = (
        "import sys, dray.sdk._slice_check as check; assert 'dray.validation' not in sys.modules;"
        "assert check"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
