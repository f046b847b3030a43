"""What an allocation means for a node."""

from __future__ import annotations

import pytest

from dray.agent.claims.allocation import adopted_claim, allocated_claim, name_of
from dray.agent.claims.claim_info import PREPARE, UNPREPARE, ClaimName, PreparedDevice
from tests.unit.agent.claims.world import GPU, NIC, claim, result


def test_every_driver_of_the_allocation_has_its_entry() -> None:
    found = claim(results=[result(NIC), result(GPU), result(NIC, "nic-1")], pods=[])
    info = allocated_claim(found)
    assert info is not None
    assert info.claim == name_of(found) == ClaimName("ml", "gpu", "uid-gpu")
    assert info.drivers == {NIC: (), GPU: ()}
    assert not info.pods


def test_without_an_allocation_there_is_nothing() -> None:
    assert allocated_claim(claim(results=None)) is None
    assert adopted_claim(claim(results=None), "p") is None


@pytest.mark.parametrize(
    ("devices", "skipped"),
    [
        pytest.param([["*"], ["*"]], ("*",), id="all-of-everything"),
        pytest.param([["*"], []], (), id="one-needs-it"),
        pytest.param([["*"], [PREPARE]], (PREPARE,), id="in-common"),
        pytest.param([[PREPARE], [UNPREPARE]], (), id="nothing-in-common"),
        pytest.param([[UNPREPARE, PREPARE]], (PREPARE, UNPREPARE), id="sorted"),
    ],
)
def test_an_operation_is_skipped_if_none_of_the_devices_needs_it(
    devices: list[list[str]], skipped: tuple[str, ...]
) -> None:
    results = [result(GPU, f"gpu-{n}", skip=skip) for n, skip in enumerate(devices)]
    info = allocated_claim(claim(results=[*results, result(NIC)]))
    assert info is not None
    assert info.skipped_operations == ({GPU: skipped} if skipped else {})


def test_an_adopted_claim_has_the_allocated_devices() -> None:
    info = adopted_claim(
        claim(
            results=[
                result(GPU, "gpu-0", request="a/first"),
                result(GPU, "gpu-0", request="b"),
                result(GPU, "gpu-0", request="c", share_id="s"),
                result(NIC, "nic-0"),
            ]
        ),
        "pod-1",
    )
    assert info is not None
    assert info.drivers == {
        GPU: (
            PreparedDevice("node-1", "gpu-0", ("a", "b")),
            PreparedDevice("node-1", "gpu-0", ("c",), share_id="s"),
        ),
        NIC: (PreparedDevice("node-1", "nic-0", ("gpu",)),),
    }
    assert info.pods == {"pod-1"}
    assert info.adopted
    assert not info.prepared
