"""Admission as operators see it: how long each step takes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

from dray.clock import Clock
from dray.errors import APIError
from dray.server.admission.request import AdmissionRequest, Operation
from dray.server.admission.resource_quota import QuotaCharge
from dray.server.operations.measures import Distribution

__all__ = ["ObservedAdmission"]

# Upstream's.
BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)

R = TypeVar("R")


class _Admission(Protocol):
    def admit(self, request: AdmissionRequest) -> Any: ...

    def validate(self, request: AdmissionRequest) -> None: ...

    def warn(self, request: AdmissionRequest) -> list[str]: ...

    def charge(self, request: AdmissionRequest) -> Sequence[QuotaCharge]: ...


class ObservedAdmission:
    """All plugins, with a distribution of times for each step, operation and outcome."""

    def __init__(self, admission: _Admission, clock: Clock) -> None:
        self._admission = admission
        self._clock = clock
        self.warn = admission.warn
        self.charge = admission.charge
        # By step, operation and whether it refused.
        self.steps: dict[tuple[str, Operation, bool], Distribution] = {}

    def admit(self, request: AdmissionRequest) -> Any:
        """As the plugins'."""
        return self._timed("admit", self._admission.admit, request)

    def validate(self, request: AdmissionRequest) -> None:
        """As the plugins'."""
        self._timed("validate", self._admission.validate, request)

    def _timed(
        self, step: str, ask: Callable[[AdmissionRequest], R], request: AdmissionRequest
    ) -> R:
        started = self._clock.monotonic()
        refused = False
        try:
            return ask(request)
        except APIError:
            refused = True
            raise
        finally:
            key = (step, request.operation, refused)
            times = self.steps.get(key)
            if times is None:
                times = self.steps[key] = Distribution(BUCKETS)
            times.add(self._clock.monotonic() - started)
