"""Opaque configuration: what a claim's or a class' author tells a driver about devices.

The API stores it unread; here it becomes the type that the driver's author declares. An entry that
is not of that type is the fault of whoever wrote it, so the error says who that is (the class or
the claim), for which requests, and where in the parameters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from dray.api.resource import CONFIG_FROM_CLASS, DeviceAllocationConfiguration
from dray.errors import InvalidConfig

__all__ = ["OpaqueConfig", "configuration_of"]

T = TypeVar("T")

_EMPTY: Final = msgspec.Raw(b"null")


@dataclass(frozen=True, slots=True)
class OpaqueConfig:
    """One entry for this driver, as it was written."""

    source: str  # FromClass or FromClaim
    requests: tuple[str, ...]  # empty: all of the claim
    parameters: msgspec.Raw

    def decode(self, kind: type[T]) -> T:
        """The parameters as this type. Raises InvalidConfig, which names source, place and rule."""
        try:
            return msgspec.json.decode(self.parameters, type=kind)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise InvalidConfig(f"{self}: {error}") from error

    def refuse(self, reason: str, *, path: str = "$") -> InvalidConfig:
        """The error for parameters that have the right type and still make no sense."""
        return InvalidConfig(f"{self}: {reason} - at `{path}`")

    def __str__(self) -> str:
        requests = (
            f"for request {', '.join(self.requests)}" if self.requests else "for all requests"
        )
        return f"opaque configuration {self.source} {requests}"


def configuration_of(
    entries: Iterable[DeviceAllocationConfiguration], *, driver: str, request: str
) -> tuple[OpaqueConfig, ...]:
    """The entries that apply to a request of this driver; a later one outweighs those before it.

    The class speaks before the claim, whatever the order they are listed in. An entry for a request
    applies to its subrequests as well.
    """
    parent, _, _ = request.partition("/")
    found = [
        OpaqueConfig(entry.source, entry.requests, entry.opaque.parameters or _EMPTY)
        for entry in entries
        if entry.opaque is not None
        and entry.opaque.driver == driver
        and (not entry.requests or request in entry.requests or parent in entry.requests)
    ]
    return tuple(sorted(found, key=_precedence))


def _precedence(entry: OpaqueConfig) -> Any:
    return entry.source != CONFIG_FROM_CLASS
