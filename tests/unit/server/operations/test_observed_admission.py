from __future__ import annotations

from typing import Any

import pytest

from dray.errors import Forbidden
from dray.server.admission.request import AdmissionRequest, Operation
from dray.server.operations.observed_admission import ObservedAdmission
from dray.server.registry import Registry
from dray.server.user import User
from dray.testing import FakeClock


class Plugins:
    def __init__(self, clock: FakeClock, *, refuses: bool = False) -> None:
        self._clock = clock
        self._refuses = refuses

    def admit(self, request: AdmissionRequest) -> Any:
        self._clock.advance(0.2)
        return "admitted"

    def validate(self, request: AdmissionRequest) -> None:
        if self._refuses:
            raise Forbidden("no")

    def warn(self, request: AdmissionRequest) -> list[str]:
        return ["careful"]

    def charge(self, request: AdmissionRequest) -> tuple[()]:
        return ()


def asked() -> AdmissionRequest:
    served = Registry().find("", "v1", "pods")
    assert served is not None
    return AdmissionRequest(Operation.CREATE, served.resource, User("bob"))


def test_each_step_is_timed_by_operation() -> None:
    clock = FakeClock()
    observed = ObservedAdmission(Plugins(clock), clock)
    assert observed.admit(asked()) == "admitted"
    observed.validate(asked())
    assert {key: times.total for key, times in observed.steps.items()} == {
        ("admit", Operation.CREATE, False): pytest.approx(0.2),
        ("validate", Operation.CREATE, False): 0.0,
    }


def test_a_refusal_is_passed_on_and_counted_as_one() -> None:
    clock = FakeClock()
    observed = ObservedAdmission(Plugins(clock, refuses=True), clock)
    with pytest.raises(Forbidden):
        observed.validate(asked())
    assert list(observed.steps) == [("validate", Operation.CREATE, True)]


def test_warnings_and_charges_are_the_plugins() -> None:
    clock = FakeClock()
    observed = ObservedAdmission(Plugins(clock), clock)
    assert (observed.warn(asked()), observed.charge(asked())) == (["careful"], ())
