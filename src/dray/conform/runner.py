"""A whole run: what is needed is set up, every check is asked once, and nothing is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import grpc.aio

from dray.clock import Clock
from dray.conform.bench import Bench, Options
from dray.conform.cdi_directory import CDIDirectory
from dray.conform.check import Check, NotApplicable, Violation
from dray.conform.checks import crashes, health, preparation, registration, slices, upgrades
from dray.conform.cluster import Cluster
from dray.conform.kubelet import Kubelet
from dray.conform.report import Finding, Report, Verdict
from dray.conform.subject import Subject
from dray.entropy import Entropy
from dray.errors import APIError, TransportError

__all__ = ["CHECKS", "NOT_REGISTERED", "Setup", "bench_for", "run_checks"]

# Registration comes first, since nothing works without it; what kills the driver comes late.
CHECKS: tuple[Check, ...] = (
    *registration.CHECKS.listed,
    *slices.CHECKS.listed,
    *preparation.CHECKS.listed,
    *health.CHECKS.listed,
    *crashes.CHECKS.listed,
    *upgrades.CHECKS.listed,
)

# Why every check after the first was skipped, if that one failed.
NOT_REGISTERED: Final = "the driver is not registered"


@dataclass(frozen=True, slots=True)
class Setup:
    """What is to be tested, and where."""

    driver: str
    directory: Path  # a kubelet's root: plugins_registry and plugins are below
    command: tuple[str, ...] = ()
    cdi_directory: Path | None = None
    node: str = "conform-node"
    kubeconfig: Path | None = None
    options: Options = field(default_factory=Options)


@asynccontextmanager
async def bench_for(setup: Setup, clock: Clock, entropy: Entropy) -> AsyncIterator[Bench]:
    """Directories, an API server and the driver's command, ready for checks."""
    registry, plugins = setup.directory / "plugins_registry", setup.directory / "plugins"
    cdi = setup.cdi_directory or setup.directory / "cdi"
    for directory in (registry, plugins / setup.driver, cdi):
        directory.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(
        setup.directory / "cluster", setup.node, clock, entropy, kubeconfig=setup.kubeconfig
    )
    async with cluster:
        places = {
            "kubeconfig": str(cluster.kubeconfig),
            "node": setup.node,
            "registry": str(registry),
            "plugins": str(plugins),
            "cdi": str(cdi),
            "driver": setup.driver,
            "pod_uid": entropy.uid(),
        }
        subject = Subject(setup.command, places, clock)
        try:
            yield Bench(
                driver=setup.driver,
                cluster=cluster,
                kubelet=Kubelet(registry, clock),
                subject=subject,
                cdi=CDIDirectory(cdi),
                clock=clock,
                entropy=entropy,
                options=setup.options,
                plugins=plugins,
            )
        finally:
            await subject.end()


async def run_checks(
    bench: Bench,
    checks: Sequence[Check] = CHECKS,
    *,
    done: Callable[[Finding], None] | None = None,
) -> Report:
    """Ask every check, and tell `done` of each as it ends. Without registration the rest is off."""
    findings: list[Finding] = []
    lost = ""
    for check in checks:
        if lost:
            finding = Finding(check.area, check.claim, Verdict.SKIPPED, lost, check.rule)
        else:
            finding = await _ask(bench, check)
            _go_on()
        findings.append(finding)
        if done is not None:
            done(finding)
        if check is registration.CHECKS.listed[0] and finding.verdict is Verdict.FAILED:
            lost = NOT_REGISTERED
    return Report(bench.driver, findings)


async def _ask(bench: Bench, check: Check) -> Finding:
    began = bench.clock.monotonic()
    verdict, detail = Verdict.PASSED, ""
    try:
        await check.run(bench)
    except NotApplicable as reason:
        verdict, detail = Verdict.SKIPPED, str(reason)
    except Violation as violation:
        verdict, detail = _no(check), str(violation)
    except grpc.aio.AioRpcError as error:
        verdict, detail = _no(check), f"{error.code().name}: {error.details()}"
    except (APIError, TransportError) as error:
        verdict, detail = _no(check), f"the API server: {error}"
    return Finding(
        check.area, check.claim, verdict, detail, check.rule, bench.clock.monotonic() - began
    )


def _go_on() -> None:
    """Unless the run was cancelled: a driver that fails in the midst of cleaning up hides that."""
    running = asyncio.current_task()
    if running is not None and running.cancelling():
        raise asyncio.CancelledError


def _no(check: Check) -> Verdict:
    return Verdict.FAILED if check.must else Verdict.WARNED
