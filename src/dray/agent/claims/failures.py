"""Why a pod's claims are not prepared, or not unprepared: what a person and a retry need to know.

Upstream has one error text. Here every failing claim and device keeps its own, with its class, so
that a status can name all of them and the pod's worker can decide what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from dray.agent.claims.claim_info import ClaimName
from dray.errors import DrayError

__all__ = [
    "ClaimFailure",
    "ClaimInfoMissing",
    "DeviceFailure",
    "ErrorClass",
    "PrepareFailed",
    "UnprepareFailed",
    "summary",
]

# A hundred claims may fail for a hundred reasons; a sentence that names so many is read, the rest
# is in the failures.
_TEXTS_MAX: Final = 8


class ErrorClass(Enum):
    """What kind of error it is. Values are those of error_type on the wire."""

    UNKNOWN = 0
    PERMANENT = 1
    TRANSIENT = 2
    INVALID_CONFIG = 3
    DEVICE_FAILED = 4

    @property
    def final(self) -> bool:
        """Whether trying again is pointless."""
        return self in (ErrorClass.PERMANENT, ErrorClass.INVALID_CONFIG, ErrorClass.DEVICE_FAILED)


@dataclass(frozen=True, slots=True)
class DeviceFailure:
    """What is wrong with one device."""

    pool: str
    device: str
    message: str
    error_class: ErrorClass = ErrorClass.UNKNOWN


@dataclass(frozen=True, slots=True)
class ClaimFailure:
    """What is wrong with one claim at one driver. No driver: it never got that far."""

    claim: ClaimName
    message: str
    driver: str = ""
    error_class: ErrorClass = ErrorClass.UNKNOWN
    devices: tuple[DeviceFailure, ...] = ()


class PrepareFailed(DrayError):
    """A pod's claims are not ready. The text is what upstream's event says."""

    def __init__(self, message: str, failures: Sequence[ClaimFailure] = ()) -> None:
        super().__init__(f"prepare dynamic resources: {message}")
        self.failures = tuple(failures)

    @property
    def error_class(self) -> ErrorClass:
        """The class that decides: a device's failure, then wrong configuration, then permanent."""
        found = {failure.error_class for failure in self.failures}
        for error_class in (
            ErrorClass.DEVICE_FAILED,
            ErrorClass.INVALID_CONFIG,
            ErrorClass.PERMANENT,
            ErrorClass.TRANSIENT,
        ):
            if error_class in found:
                return error_class
        return ErrorClass.UNKNOWN


class UnprepareFailed(DrayError):
    """Some of a pod's claims are still prepared."""

    def __init__(self, message: str, failures: Sequence[ClaimFailure] = ()) -> None:
        super().__init__(f"unprepare dynamic resources: {message}")
        self.failures = tuple(failures)


class ClaimInfoMissing(DrayError):
    """A container's claim is not known on this node, or what drivers prepared for it is not."""


def summary(failures: Sequence[ClaimFailure]) -> str:
    """One sentence for all: upstream's text of the first failure, then those of the others."""
    texts = list(dict.fromkeys(failure.message for failure in failures))
    shown = "; ".join(texts[:_TEXTS_MAX])
    return shown if len(texts) <= _TEXTS_MAX else f"{shown}; and {len(texts) - _TEXTS_MAX} more"
