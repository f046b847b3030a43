"""What claims and classes may tell the simulated driver: opaque parameters of the kind GpuConfig.

    apiVersion: simulated.dev/v1
    kind: GpuConfig
    sharing: {strategy: TimeSlicing, interval: Short}
    powerLimitWatts: 250

Nothing is really shared or limited: containers see what was asked for in their environment, and
parameters that make no sense are refused as those of real drivers are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec

from dray.sdk import OpaqueConfig

__all__ = ["API_VERSION", "KIND", "GpuConfig", "Sharing", "gpu_config"]

API_VERSION: Final = "simulated.dev/v1"
KIND: Final = "GpuConfig"


class _Strict(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """What parameters may say, and nothing else."""


class Sharing(_Strict, frozen=True):
    """How containers take turns on a device."""

    strategy: Literal["Exclusive", "TimeSlicing"]
    interval: Literal["Short", "Medium", "Long"] | None = None  # of time slices


class GpuConfig(_Strict, frozen=True):
    """The parameters."""

    api_version: Literal["simulated.dev/v1"]
    kind: Literal["GpuConfig"]
    sharing: Sharing | None = None
    power_limit_watts: Annotated[int, msgspec.Meta(ge=50, le=1000)] | None = None

    def told(self) -> dict[str, str]:
        """What containers are told, by the ends of variables' names."""
        told: dict[str, str] = {}
        if self.sharing is not None:
            told["SHARING"] = self.sharing.strategy
            if self.sharing.interval is not None:
                told["INTERVAL"] = self.sharing.interval
        if self.power_limit_watts is not None:
            told["POWER_LIMIT_WATTS"] = str(self.power_limit_watts)
        return told


def gpu_config(entries: Sequence[OpaqueConfig]) -> GpuConfig:
    """What applies of the entries, the most important last. Raises InvalidConfig.

    An entry takes the place of those before it as a whole; those are checked all the same, so that
    a mistake in a class does not wait for the first claim without parameters of its own.
    """
    config = GpuConfig(api_version=API_VERSION, kind=KIND)
    for entry in entries:
        config = entry.decode(GpuConfig)
        sharing = config.sharing
        if sharing is not None and sharing.interval and sharing.strategy != "TimeSlicing":
            raise entry.refuse(
                f"an interval is for TimeSlicing, not for {sharing.strategy}",
                path="$.sharing.interval",
            )
    return config
