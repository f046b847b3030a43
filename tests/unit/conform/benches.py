"""A bench for the bare driver: everything real but the processes, and time passes faster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from dray.clock import SystemClock
from dray.conform.bench import Bench, Options
from dray.conform.cdi_directory import CDIDirectory
from dray.conform.check import Check
from dray.conform.cluster import Cluster
from dray.conform.kubelet import Kubelet
from dray.conform.report import Report, Verdict
from dray.conform.runner import CHECKS, run_checks
from dray.entropy import SeededEntropy
from dray.testing.cluster import Cluster as TestCluster
from tests.unit.conform.defective import DRIVER, Bare, Disk, FakeSubject, Places
from tests.unit.sdk.drivers import short_directory

NODE = "conform-node"
# A machine that is busy with other tests may take its time over what should work.
OPTIONS = Options(start_seconds=2.0, publish_seconds=20.0, kills=2, watch_seconds=60.0)
# For what does not work, however long one waits.
IMPATIENT = Options(start_seconds=2.0, publish_seconds=1.0, kills=2, watch_seconds=60.0)


class FastClock:
    """Five seconds in one."""

    def __init__(self, factor: float = 5.0) -> None:
        self._clock = SystemClock()
        self._factor = factor

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic() * self._factor

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds / self._factor)


class QuickCluster(Cluster):
    """The kit's cluster without sockets, which the bare driver does not need."""

    allocation_check = False

    async def _start(self) -> None:
        self._inner = TestCluster(clock=SystemClock(), allocation_check=self.allocation_check)
        await self._inner.__aenter__()
        self._client = self._inner.client

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._inner.__aexit__(kind, error, traceback)


@asynccontextmanager
async def bench_of(
    root: Path, *defects: str, options: Options = OPTIONS, **subject: Any
) -> AsyncIterator[Bench]:
    clock, entropy, disk = FastClock(), SeededEntropy(1), Disk()
    places = Places(root / "registry", root / "plugins", root / "cdi", NODE)
    for directory in (places.registry, places.plugins / DRIVER, places.cdi):
        directory.mkdir(parents=True)
    async with QuickCluster(root, NODE, clock, entropy, kubeconfig=None) as cluster:

        def make(told: Mapping[str, str]) -> Bare:
            return Bare(
                frozenset(defects),
                disk,
                places,
                cluster.client,
                clock,
                name=told.get("driver", DRIVER),
                pod_uid=told.get("pod_uid", ""),
            )

        commands = FakeSubject(make, clock, **subject)
        try:
            yield Bench(
                driver=DRIVER,
                cluster=cluster,
                kubelet=Kubelet(places.registry, clock),
                subject=commands,
                cdi=CDIDirectory(places.cdi),
                clock=clock,
                entropy=entropy,
                options=options,
                plugins=places.plugins,
            )
        finally:
            await commands.end()


def judged(*defects: str, checks: Sequence[Check] = CHECKS, **options: Any) -> Report:
    """What the kit says of a driver with these defects."""

    async def body(root: Path) -> Report:
        async with bench_of(root, *defects, **options) as bench:
            return await run_checks(bench, checks)

    with short_directory() as root:
        return asyncio.run(body(root))


def names(report: Report, *verdicts: Verdict) -> set[str]:
    """The checks that ended so, by the names of their functions."""
    by_claim: dict[str, Callable[..., Any]] = {check.claim: check.run for check in CHECKS}
    return {
        by_claim[finding.claim].__name__
        for finding in report.findings
        if finding.verdict in verdicts
    }


def called(*wanted: str) -> tuple[Check, ...]:
    """Checks by the names of their functions, in the order in which they run."""
    found = tuple(check for check in CHECKS if getattr(check.run, "__name__", "") in wanted)
    assert len(found) == len(wanted), "every name is a check's"
    return found


def details(report: Report) -> str:
    return "\n".join(report.lines())
