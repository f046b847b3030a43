"""`dray conform`: play the kubelet, and the cluster behind it, against any DRA driver."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from dray.cli.errors import EXIT_INVALID, CommandError
from dray.cli.output import examples, printable
from dray.clock import SystemClock
from dray.conform.bench import Options
from dray.conform.report import Finding, Report, Verdict
from dray.conform.runner import CHECKS, NOT_REGISTERED, Setup, bench_for, run_checks
from dray.entropy import SystemEntropy
from dray.errors import APIError, ConfigurationError, TransportError

__all__ = ["command"]

EXIT_TERMINATED: Final = 128 + signal.SIGTERM  # as shells have it
COLOURS: Final = {
    Verdict.PASSED: "green",
    Verdict.FAILED: "red",
    Verdict.WARNED: "yellow",
    Verdict.SKIPPED: "cyan",
}


@click.command(
    "conform",
    short_help="Test a DRA driver, in whatever language.",
    epilog=examples(
        "dray conform --driver gpu.example.com -- ./driver --kubeconfig {kubeconfig} "
        "--node-name {node} --registry {registry} --plugins {plugins} --cdi-root {cdi}",
        "dray conform --socket-dir /var/lib/kubelet --driver gpu.example.com "
        "--kubeconfig admin.conf",
        "dray conform --list",
    ),
)
@click.option("--driver", metavar="NAME", help="The driver's name, as it registers itself.")
@click.option(
    "--socket-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="A kubelet's root: plugins_registry and plugins are below it.  [default: a new one]",
)
@click.option(
    "--cdi-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the driver writes CDI files.  [default: cdi below the socket directory]",
)
@click.option("--node", default="conform-node", show_default=True, help="The node's name.")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The API server that a running driver uses.  [default: one of our own]",
)
@click.option(
    "--kills",
    type=click.IntRange(0, 10_000),
    default=10,
    show_default=True,
    help="How often to kill the driver at a random moment of preparing.",
)
@click.option(
    "--start-seconds",
    type=click.FloatRange(min=0.1),
    default=30.0,
    show_default=True,
    help="How long the driver may take until it is registered.",
)
@click.option(
    "--publish-seconds",
    type=click.FloatRange(min=0.1),
    default=120.0,
    show_default=True,
    help="How long it may take until its devices are published, or published again.",
)
@click.option(
    "--watch-seconds",
    type=click.FloatRange(min=0.0),
    default=90.0,
    show_default=True,
    help="How long health may be watched for silence.",
)
@click.option(
    "--output",
    "-o",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The form of the report.",
)
@click.option("--list", "listing", is_flag=True, help="Show what is checked, and check nothing.")
@click.argument("words", nargs=-1, metavar="[-- COMMAND...]")
def command(
    driver: str | None,
    socket_dir: Path | None,
    cdi_dir: Path | None,
    node: str,
    kubeconfig: Path | None,
    kills: int,
    start_seconds: float,
    publish_seconds: float,
    watch_seconds: float,
    output: str,
    listing: bool,
    words: tuple[str, ...],
) -> None:
    """Check what a kubelet expects of a DRA driver.

    COMMAND starts the driver. In it, {kubeconfig}, {node}, {driver}, {registry}, {plugins}, {cdi}
    and {pod_uid} stand for what they say; KUBECONFIG and NODE_NAME are also set. The driver is
    given an API server to itself, is registered, asked, killed and started again. With {pod_uid} in
    the command, rolling updates are checked as well, with {driver} long names.

    Without COMMAND a driver that runs already is looked at, and nothing is killed.

    Ends with 0 if the driver passes all that it must, with 1 if not.
    """
    if listing:
        _show_checks()
        return
    if driver is None:
        raise CommandError("which driver? give its name with --driver")
    if socket_dir is None and not words:
        raise CommandError("where is the driver? give its command after --, or --socket-dir")
    if socket_dir is not None and not socket_dir.is_dir():
        raise CommandError(f"--socket-dir {socket_dir}: no such directory")
    setup = Setup(
        driver=driver,
        directory=(socket_dir or Path()).absolute(),
        command=words,
        cdi_directory=cdi_dir and cdi_dir.absolute(),
        node=node,
        kubeconfig=kubeconfig,
        options=Options(
            start_seconds=start_seconds,
            publish_seconds=publish_seconds,
            kills=kills,
            watch_seconds=watch_seconds,
        ),
    )
    report = asyncio.run(_unless_terminated(setup, new=socket_dir is None, quiet=output == "json"))
    if report is None:
        raise SystemExit(EXIT_TERMINATED)
    if output == "json":
        click.echo(report.as_json())
    else:
        click.echo("\n" + printable(report.lines()[-1]))
    if not report.passed:
        raise SystemExit(EXIT_INVALID)


async def _unless_terminated(setup: Setup, *, new: bool, quiet: bool) -> Report | None:
    """What was found; None if SIGTERM came first, and all that was started is gone again.

    In a `new` directory if so wanted, which is gone as well.
    """
    loop, running = asyncio.get_running_loop(), asyncio.current_task()
    assert running is not None, "a coroutine runs in a task"
    told = False

    def terminate() -> None:
        # Once: another one would interrupt the cleaning up that the first began.
        nonlocal told
        if not told:
            told = True
            running.cancel()

    loop.add_signal_handler(signal.SIGTERM, terminate)
    try:
        with ExitStack() as stack:
            if new:
                made = stack.enter_context(tempfile.TemporaryDirectory(prefix="dk-"))
                setup = replace(setup, directory=Path(made))
            return await _run(setup, quiet=quiet)
    except asyncio.CancelledError:
        if not told:
            raise
        return None
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


async def _run(setup: Setup, *, quiet: bool) -> Report:
    area = ""
    unasked = 0

    def show(finding: Finding) -> None:
        nonlocal area, unasked
        if finding.verdict is Verdict.SKIPPED and finding.detail == NOT_REGISTERED:
            unasked += 1
            return
        if finding.area != area:
            click.echo(f"\n{finding.area}" if area else finding.area)
            area = finding.area
        first, *rest = finding.lines()
        mark = click.style(f"{finding.verdict.mark:<8}", fg=COLOURS[finding.verdict])
        click.echo(f"  {mark} {printable(first)}")
        for line in rest:
            click.echo(f"           {printable(line)}")

    try:
        async with bench_for(setup, SystemClock(), SystemEntropy()) as bench:
            report = await run_checks(bench, done=None if quiet else show)
            if unasked:
                click.echo(f"\n{unasked} checks skipped: {NOT_REGISTERED}")
            return report
    except (APIError, TransportError, ConfigurationError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error


def _show_checks() -> None:
    area = ""
    for check in CHECKS:
        if check.area != area:
            click.echo(f"\n{check.area}" if area else check.area)
            area = check.area
        click.echo(f"  {'must' if check.must else 'should':<8} {check.claim}")
        if check.rule:
            click.echo(f"           why: {check.rule}")
