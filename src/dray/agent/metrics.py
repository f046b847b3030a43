"""What a node counts: upstream's metrics of devices, under upstream's names.

| Name | Type | Labels |
|---|---|---|
| dra_operations_duration_seconds | histogram | operation_name, is_error |
| dra_grpc_operations_duration_seconds | histogram | driver_name, method_name, grpc_status_code |
| dra_resource_claims_in_use | gauge | driver_name |
| dra_node_prepare_skips_total | counter | driver_name |
| dra_node_unprepare_skips_total | counter | driver_name |
| dray_node_devices | gauge | driver_name, health |
| dray_node_pods | gauge | |

The last two are dray's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from dray.api.resource import SKIP_NODE_PREPARE_RESOURCES
from dray.metrics import Family, Histogram, render

__all__ = ["AgentMetrics"]

# Upstream's: fifteen, exponential from 0.1 s to 40 s.
DURATION_BUCKETS: Final = tuple(round(0.1 * (40 / 0.1) ** (number / 14), 6) for number in range(15))


class AgentMetrics:
    """Hears of calls and operations; what can be counted when it is asked for is passed then."""

    def __init__(self) -> None:
        self._operations = Histogram(
            "dra_operations_duration_seconds",
            "How long preparing or unpreparing the claims of a pod took.",
            buckets=DURATION_BUCKETS,
            labels=["operation_name", "is_error"],
        )
        self._calls = Histogram(
            "dra_grpc_operations_duration_seconds",
            "How long calls of drivers took.",
            buckets=DURATION_BUCKETS,
            labels=["driver_name", "method_name", "grpc_status_code"],
        )
        self._claims = Family(
            "dra_resource_claims_in_use",
            "Claims that are prepared.",
            kind="gauge",
            labels=["driver_name"],
        )
        self._prepare_skips = Family(
            "dra_node_prepare_skips_total",
            "Claims that were not prepared because their devices need none.",
            kind="counter",
            labels=["driver_name"],
        )
        self._unprepare_skips = Family(
            "dra_node_unprepare_skips_total",
            "Claims that were not unprepared because their devices need none.",
            kind="counter",
            labels=["driver_name"],
        )
        self._devices = Family(
            "dray_node_devices",
            "Devices whose health was reported, by what it is.",
            kind="gauge",
            labels=["driver_name", "health"],
        )
        self._pods = Family("dray_node_pods", "Pods that may still run.", kind="gauge")

    def observe_call(
        self, driver_name: str, method_name: str, grpc_status_code: str, seconds: float
    ) -> None:
        """A driver was called."""
        self._calls.observe(seconds, driver_name, method_name, grpc_status_code)

    def operation(self, name: str, seconds: float, *, is_error: bool) -> None:
        """The claims of a pod were prepared or unprepared."""
        self._operations.observe(seconds, name, str(is_error).lower())

    def skipped(self, operation: str, driver: str) -> None:
        """A driver was not called, as its slice says."""
        prepare = operation == SKIP_NODE_PREPARE_RESOURCES
        (self._prepare_skips if prepare else self._unprepare_skips).add(driver)

    def text(
        self,
        *,
        claims_in_use: Mapping[str, int],
        device_health: Iterable[tuple[str, str]],
        pods_count: int,
    ) -> bytes:
        """Everything as text; `device_health` are driver and health of each device."""
        self._claims.replace({(driver,): count for driver, count in claims_in_use.items()})
        self._devices.replace(dict(Counter(device_health)))
        self._pods.set(pods_count)
        return render(
            (
                self._operations,
                self._calls,
                self._claims,
                self._prepare_skips,
                self._unprepare_skips,
                self._devices,
                self._pods,
            )
        )
