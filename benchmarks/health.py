"""Device health on a node: what one report costs, from the bytes of the wire to the pods' workers.

A node has a thousand pods with one device each. Told are the time from a report to the call of the
listener, the time to make the status of one pod, what the loop is kept from doing by the largest
report a driver can send, and by the file that keeps it. `python -m benchmarks.health` runs alone.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from dray.agent.claims.cache import ClaimCache
from dray.agent.claims.claim_info import ClaimInfo, ClaimKey, ClaimName, PreparedDevice
from dray.agent.health.history import encode_facts
from dray.agent.health.keeper import HealthKeeper
from dray.agent.health.words import DEVICES_PER_DRIVER_MAX, read_report
from dray.agent.plugins.manager import PluginManager
from dray.api.core import (
    Container,
    Pod,
    PodResourceClaim,
    PodSpec,
    ResourceClaim,
    ResourceRequirements,
)
from dray.api.meta import ObjectMeta
from dray.clock import SystemClock
from dray.entropy import SeededEntropy
from dray.proto.health_v1_pb2 import (
    DeviceHealth,
    DeviceIdentifier,
    HealthStatus,
    NodeWatchResourcesResponse,
)

DRIVER: Final = "gpu.example.com"
PODS: Final = 1000
ROUNDS: Final = 20

# Milliseconds, several times what a slow machine needs.
ONE_CHANGE_MAX: Final = 1.0
ALL_CHANGE_MAX: Final = 25.0
HEARTBEAT_MAX: Final = 15.0
STATUS_MAX: Final = 0.5
LARGEST_MAX: Final = 400.0


class Claims:
    """A thousand claims, in the cache that the agent has."""

    def __init__(self) -> None:
        self._cache = ClaimCache(_Nowhere())
        self._cache.commit({info_key(n): info(n) for n in range(PODS)})

    def info(self, namespace: str, name: str) -> ClaimInfo | None:
        return self._cache.get(ClaimKey(namespace, name))

    def pods_using(self, driver: str, pool: str, device: str) -> frozenset[str]:
        return self._cache.pods_using(driver, pool, device)


class _Nowhere:
    def store(self, entries: object) -> None:
        """Keep nothing."""


def info_key(n: int) -> ClaimKey:
    return ClaimKey("default", f"claim-{n}")


def info(n: int) -> ClaimInfo:
    device = PreparedDevice("node-1", f"gpu-{n}", ("gpu",), (f"example.com/gpu=gpu-{n}",))
    return ClaimInfo(
        ClaimName("default", f"claim-{n}", f"uid-{n}"),
        frozenset({f"pod-{n}"}),
        {DRIVER: (device,)},
    )


def report(count: int, *, unhealthy: int) -> bytes:
    """So many devices, of which the first so many are not well."""
    return NodeWatchResourcesResponse(
        devices=[
            DeviceHealth(
                device=DeviceIdentifier(pool_name="node-1", device_name=f"gpu-{n}"),
                health=HealthStatus.UNHEALTHY if n < unhealthy else HealthStatus.HEALTHY,
                message="XID 79: the device has fallen off the bus" if n < unhealthy else "",
            )
            for n in range(count)
        ]
    ).SerializeToString()


def pod(n: int) -> Pod:
    claims = (ResourceClaim(name="gpu"),)
    return Pod(
        metadata=ObjectMeta(name=f"pod-{n}", namespace="default", uid=f"pod-{n}"),
        spec=PodSpec(
            containers=(Container(name="main", resources=ResourceRequirements(claims=claims)),),
            resource_claims=(PodResourceClaim(name="gpu", resource_claim_name=f"claim-{n}"),),
        ),
    )


async def measure() -> bool:
    """All rows; whether every limit is kept."""
    clock = SystemClock()
    with tempfile.TemporaryDirectory() as directory:
        plugins = PluginManager(Path(directory), clock=clock, entropy=SeededEntropy(1))
        keeper = HealthKeeper(plugins, Claims(), path=Path(directory), clock=clock)
        told = asyncio.Event()
        keeper.listen(lambda _: told.set())

        async def hear(first: bytes, second: bytes, *, changes: bool = True) -> float:
            """The best time of a report that follows the other."""
            best = float("inf")
            for _ in range(ROUNDS):
                for data in (first, second):
                    told.clear()
                    began = time.perf_counter()
                    response = NodeWatchResourcesResponse.FromString(data)
                    keeper.heard(DRIVER, read_report(DRIVER, response))
                    if changes:
                        await told.wait()
                    best = min(best, time.perf_counter() - began)
            return best * 1000

        one = [report(1, unhealthy=n) for n in (0, 1)]
        some = [report(PODS, unhealthy=n) for n in (0, 1)]
        every = [report(PODS, unhealthy=n) for n in (0, PODS)]
        largest = [report(DEVICES_PER_DRIVER_MAX, unhealthy=n) for n in (0, 16_384)]
        held = [
            row("report of one device that changed", await hear(*one), ONE_CHANGE_MAX),
            row(f"report of {PODS}, one changed", await hear(*some), HEARTBEAT_MAX),
            row(f"report of {PODS}, all changed", await hear(*every), ALL_CHANGE_MAX),
            row(
                f"report of {PODS}, nothing changed",
                await hear(every[1], every[1], changes=False),
                HEARTBEAT_MAX,
            ),
            row("status of one pod", best(lambda: keeper.statuses(pod(7), "main")), STATUS_MAX),
            row(f"report of {DEVICES_PER_DRIVER_MAX}", await hear(*largest), LARGEST_MAX),
            row(f"facts of {DEVICES_PER_DRIVER_MAX}", best(keeper.facts), LARGEST_MAX),
            row(
                f"file of {DEVICES_PER_DRIVER_MAX}",
                best(lambda: encode_facts(keeper.facts())),
                LARGEST_MAX,
            ),
        ]
    return all(held)


def best(work: Callable[[], object]) -> float:
    """The best of some rounds, in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times) * 1000


def row(name: str, milliseconds: float, milliseconds_max: float) -> bool:
    held = milliseconds <= milliseconds_max
    verdict = "" if held else f"  MISSED: at most {milliseconds_max:g} ms"
    print(f"{name:40} {milliseconds:9.3f} ms{verdict}")
    return held


def main() -> bool:
    """Measure, and say whether every limit is kept."""
    return asyncio.run(measure())


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
