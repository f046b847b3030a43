"""What is wrong with simulated devices, and for how long."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dray.drivers.simulated import faults as module
from dray.drivers.simulated.faults import (
    ALL_DEVICES,
    OF_CALLS,
    Fault,
    FaultKind,
    Faults,
    Operation,
)
from dray.sdk import ConfigurationError


def fault(kind: FaultKind = FaultKind.UNHEALTHY, device: str = "gpu-0", **more: Any) -> Fault:
    return Fault(kind=kind, device=device, **more)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        pytest.param({"device": ""}, "device ''", id="no-device"),
        pytest.param({"device": "GPU_0"}, "device 'GPU_0'", id="not-a-name"),
        pytest.param({"device": "x" * 64}, "at most 63", id="long-name"),
        pytest.param({"seconds": -1.0}, "between 0 and 86400", id="negative"),
        pytest.param({"seconds": math.nan}, "nan seconds", id="not-a-number"),
        pytest.param({"seconds": math.inf}, "inf seconds", id="infinite"),
        pytest.param({"kind": FaultKind.SLOW}, "fault slow: say how many", id="slow"),
        pytest.param({"kind": FaultKind.FLAPPING}, "0.01 or more", id="flapping"),
        pytest.param(
            {"kind": FaultKind.FLAPPING, "seconds": 1e-9}, "0.01 or more", id="flapping-too-fast"
        ),
        pytest.param({"times": -1}, "-1 times", id="times"),
        pytest.param({"message": "é" * 513}, "1024 bytes", id="message"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(members: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        fault(**members)


def test_a_fault_holds_until_its_device_recovers() -> None:
    faults = Faults()
    faults.inject(fault())
    faults.inject(fault(device="gpu-1"))
    assert (faults.recover("gpu-0"), faults.recover("gpu-0")) == (1, 0)
    assert faults.all() == (fault(device="gpu-1"),)


def test_what_is_wrong_with_a_device_is_in_the_order_it_was_injected() -> None:
    faults = Faults()
    first = fault(FaultKind.SLOW, seconds=1.0)
    general = fault(FaultKind.DEGRADED, device=ALL_DEVICES)
    last = fault()
    for one in (first, fault(device="gpu-1"), general, last):
        faults.inject(one)
    assert faults.of("gpu-0") == (first, general, last)
    assert faults.of("gpu-2") == faults.of(ALL_DEVICES) == (general,)
    faults.recover("gpu-0")
    assert faults.of("gpu-0") == (general,)


def test_recovering_one_device_leaves_what_is_wrong_with_all() -> None:
    faults = Faults()
    faults.inject(fault(device=ALL_DEVICES))
    assert faults.recover("gpu-0") == 0
    assert faults.of("gpu-0") == (fault(device=ALL_DEVICES),)
    assert faults.recover() == 1


def test_a_fault_takes_the_place_of_the_same_kind_on_the_same_device() -> None:
    faults = Faults()
    faults.inject(fault(message="warm"))
    faults.inject(fault(message="hot"))
    faults.inject(fault(FaultKind.DEGRADED))
    assert [(one.kind, one.message) for one in faults.of("gpu-0")] == [
        (FaultKind.UNHEALTHY, "hot"),
        (FaultKind.DEGRADED, ""),
    ]


def test_listeners_hear_of_every_change_and_of_nothing_else() -> None:
    faults, heard = Faults(), []
    faults.listen(lambda: heard.append(len(faults.all())))
    faults.inject(fault())
    faults.recover("gpu-1")
    faults.recover()
    assert heard == [1, 0]


@pytest.mark.parametrize("kind", FaultKind, ids=lambda kind: kind.value)
def test_only_faults_of_calls_strike_them(kind: FaultKind) -> None:
    faults = Faults()
    faults.inject(fault(kind, seconds=1.0))
    assert bool(faults.strike("gpu-0", Operation.PREPARE)) == (kind in OF_CALLS)
    assert not faults.strike("gpu-1", Operation.PREPARE)


@pytest.mark.parametrize(
    ("operation", "struck"),
    [
        (Operation.PREPARE, [Operation.PREPARE]),
        (Operation.UNPREPARE, [Operation.UNPREPARE]),
        (Operation.BOTH, [Operation.PREPARE, Operation.UNPREPARE]),
    ],
)
def test_a_fault_strikes_the_operation_it_names(
    operation: Operation, struck: list[Operation]
) -> None:
    faults = Faults()
    faults.inject(fault(FaultKind.FAILING, operation=operation))
    met = [one for one in (Operation.PREPARE, Operation.UNPREPARE) if faults.strike("gpu-0", one)]
    assert met == struck


def test_a_fault_is_over_when_it_has_struck_as_often_as_it_was_told_to() -> None:
    faults = Faults()
    faults.inject(fault(FaultKind.FAILING, times=2))
    met = [len(faults.strike("gpu-0", Operation.PREPARE)) for _ in range(4)]
    assert met == [1, 1, 0, 0]
    assert not faults.all()


def test_a_call_meets_faults_of_a_parent_and_of_all_devices_once_each() -> None:
    faults = Faults()
    own = fault(FaultKind.FAILING, "gpu-0-half-0")
    general = fault(FaultKind.FAILING, ALL_DEVICES, times=2)
    parents = fault(FaultKind.FAILING, "gpu-0", times=2)
    for one in (own, general, parents, fault(FaultKind.FAILING, "gpu-0-half-1")):
        faults.inject(one)
    met = [
        faults.strike("gpu-0-half-0", Operation.PREPARE, parent="gpu-0"),
        faults.strike("gpu-0-half-0", Operation.PREPARE, parent="gpu-0"),
        faults.strike("gpu-0-half-0", Operation.PREPARE, parent="gpu-0"),
    ]
    assert met == [(parents, own, general), (parents, own, general), (own,)]


def test_a_fault_injected_again_counts_from_the_start() -> None:
    faults = Faults()
    faults.inject(fault(FaultKind.FAILING, times=2))
    faults.strike("gpu-0", Operation.PREPARE)
    faults.inject(fault(FaultKind.FAILING, times=2))
    met = [len(faults.strike("gpu-0", Operation.PREPARE)) for _ in range(3)]
    assert met == [1, 1, 0]


def test_faults_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FAULTS_MAX", 2)
    faults = Faults()
    faults.inject(fault())
    faults.inject(fault(device="gpu-1"))
    faults.inject(fault(message="in place of the first"))
    with pytest.raises(ConfigurationError, match="2 faults already"):
        faults.inject(fault(device="gpu-2"))
    assert len(faults.all()) == 2
