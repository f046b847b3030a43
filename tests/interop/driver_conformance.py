"""Runs the conformance kit against upstream's example driver, which is written in Go.

Run as `python -m tests.interop.driver_conformance`. It guards both sides: a kit that asks too much
would fail a driver that thousands have read, and a kit that asks too little would pass what is
known to be wrong with it. What fails is listed with its reason; anything else is drift.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from dray.clock import SystemClock
from dray.conform.bench import Options
from dray.conform.report import Report, Verdict
from dray.conform.runner import Setup, bench_for, run_checks
from dray.entropy import SystemEntropy
from tests.interop.build import build

DRIVER = "gpu.example.com"
PROGRAM = "dra-example-kubeletplugin"

EXPECTED_FAILURES = {
    "a bad claim does not keep others of the same call from being prepared": (
        "upstream's helper reads all claims first, and fails the call if one cannot be had; only a "
        "warning"
    ),
    "a device that is prepared for one claim is refused to another": (
        "it trusts the scheduler, and prepares whatever a claim was given"
    ),
    "after a reboot that lost the CDI files, preparing again writes them": (
        "a claim in its checkpoint is answered from there, and its file is not looked at"
    ),
    "CDI files that vanish while the driver runs are written again by preparing": (
        "likewise; only a warning"
    ),
}
EXPECTED_SKIPS = {
    "every version of the service that is offered sends a first report at once",
    "reports name devices that are published",
    "values are in range: known states, timeouts, short messages",
    "no device is silent for longer than its timeout",
    "several streams can be open, and one that is cut can be opened again",
    "after a crash health is reported again",
}


def command(program: Path) -> tuple[str, ...]:
    return (
        str(program),
        "--kubeconfig={kubeconfig}",
        "--node-name={node}",
        "--driver-name={driver}",
        "--pod-uid={pod_uid}",
        "--kubelet-registrar-directory-path={registry}",
        "--kubelet-plugins-directory-path={plugins}",
        "--cdi-root={cdi}",
        "--num-devices=4",
        "--healthcheck-port=-1",
    )


async def judge(directory: Path, program: Path) -> Report:
    options = Options(kills=5, watch_seconds=0.0)
    setup = Setup(DRIVER, directory, command(program), options=options)
    async with bench_for(setup, SystemClock(), SystemEntropy()) as bench:
        return await run_checks(bench)


def drift(report: Report) -> list[str]:
    """What is not as expected, a line each."""
    told = []
    for finding in report.findings:
        no = finding.verdict in (Verdict.FAILED, Verdict.WARNED)
        if no and finding.claim not in EXPECTED_FAILURES:
            told.append(f"fails: {finding.claim}: {finding.detail}")
        if finding.verdict is Verdict.PASSED and finding.claim in EXPECTED_FAILURES:
            told.append(f"passes by now: {finding.claim}")
        if (finding.verdict is Verdict.SKIPPED) and finding.claim not in EXPECTED_SKIPS:
            told.append(f"skipped: {finding.claim}: {finding.detail}")
    claims = {finding.claim for finding in report.findings}
    expected = {*EXPECTED_FAILURES, *EXPECTED_SKIPS}
    return told + [f"no such check: {claim}" for claim in sorted(expected - claims)]


def main() -> int:
    program = build(PROGRAM)
    with tempfile.TemporaryDirectory(prefix="dk-") as directory:
        report = asyncio.run(judge(Path(directory), program))
    sys.stdout.write("\n".join([*report.lines(), ""]))
    found = drift(report)
    for line in found:
        sys.stdout.write(f"unexpected: {line}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
