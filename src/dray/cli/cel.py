"""`dray cel`: what a selector means, what it costs, and which devices it fits."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import BinaryIO

import click

from dray.cel import (
    Environment,
    Selector,
    compile_selector,
    explain,
    failing_issue,
    hints,
    hints_for_error,
)
from dray.cli.cel_report import Answer, lines_of, to_json
from dray.cli.devices import Inventory, Unreadable, read_device, read_devices
from dray.cli.errors import EXIT_INVALID, CommandError
from dray.cli.gates import feature_gates_option, parse_gates
from dray.cli.manifests import STANDARD_INPUT, ManifestError, read_file
from dray.cli.output import examples
from dray.cli.trial import try_on

__all__ = ["command"]


@click.command(
    "cel",
    short_help="Try a device selector.",
    epilog=examples(
        """dray cel 'device.driver == "gpu.example.com"'""",
        "dray cel - --slices slices.yaml < selector.cel",
        "kubectl get resourceslices -o yaml | dray cel 'EXPR' --slices -",
        "dray cel 'EXPR' --device gpu.yaml --driver gpu.example.com",
    ),
)
@click.argument("expression", metavar="EXPR|-")
@click.option(
    "--slices",
    multiple=True,
    type=click.Path(allow_dash=True),
    metavar="FILE|DIR|-",
    help="ResourceSlices with the devices to try it on. Repeatable.",
)
@click.option(
    "--device",
    type=click.Path(allow_dash=True),
    metavar="FILE|-",
    help="One device to look at closely: a slice with one, or a device with --driver.",
)
@click.option("--driver", metavar="NAME", help="The driver of a device without its slice.")
@click.option(
    "--strict", is_flag=True, help="Exit with 1 also if the selector fails on any device."
)
@click.option("-f", "--filename", hidden=True, multiple=True)
@click.option(
    "--new/--stored",
    "new",
    default=True,
    help="Compile as for a new object, or as for one that is stored already.",
)
@feature_gates_option
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to answer."
)
def command(
    expression: str,
    slices: tuple[str, ...],
    device: str | None,
    driver: str | None,
    strict: bool,
    filename: tuple[str, ...],
    new: bool,
    feature_gates: tuple[str, ...],
    output: str,
) -> int:
    """Compile a device selector as a Kubernetes 1.37 API server does, and try it on devices.

    Says whether it is accepted, what it may cost and what it reads; with devices, how many match
    and why the others do not. Exits with 0 if it is accepted and, where there are devices, one
    matches; with 1 if not; with 2 if something cannot be read. An expression that begins with -
    is written after --.
    """
    if filename:
        raise click.UsageError("files with devices are given with --slices or --device, not -f")
    if slices and device is not None:
        raise click.UsageError("--slices and --device exclude each other")
    if driver is not None and device is None:
        raise click.UsageError("--driver is for --device")
    inputs = (expression, *slices, *([] if device is None else [device]))
    if inputs.count(STANDARD_INPUT) > 1:
        raise click.UsageError("only one of EXPR, --slices and --device can be standard input")
    text = _expression(expression)
    environment = _environment(feature_gates, stored=not new)
    try:
        answer = _answer(text, environment, slices, device, driver)
    except Unreadable as error:
        if output == "json":
            click.echo(to_json(_unreadable(text, environment, error)))
        raise
    if output == "json":
        click.echo(to_json(answer))
    else:
        for line in lines_of(answer):
            click.echo(line)
    return 0 if _good(answer, strict=strict) else EXIT_INVALID


def _unreadable(text: str, environment: Environment, error: Unreadable) -> Answer:
    """What can be said without the devices."""
    compilation = compile_selector(text, environment)
    selector = Selector(compilation) if compilation.ok else None
    return Answer(compilation, selector, hints(compilation), unreadable=error.problems)


def _answer(
    text: str,
    environment: Environment,
    slices: tuple[str, ...],
    device: str | None,
    driver: str | None,
) -> Answer:
    # What cannot be read is said before anything else, whatever the expression is.
    inventory = read_devices(slices, _standard_input()) if slices else Inventory((), ())
    found = None if device is None else read_device(device, driver, _standard_input())
    devices = inventory.devices if found is None else (found,)
    views = [one.view for one in devices]
    compilation = compile_selector(text, environment)
    if not compilation.ok:
        return Answer(compilation, None, hints(compilation, views), notes=inventory.notes)
    selector = Selector(compilation)
    said = hints(compilation, [] if found is not None else views)
    if found is None:
        trial = try_on(selector, devices) if slices else None
        return Answer(compilation, selector, said, trial, notes=inventory.notes)
    explanation = explain(selector, found.view)
    if explanation.error is not None:
        advice = hints_for_error(selector, found.view, explanation.error)
    else:
        advice = () if explanation.verdict == "true" else hints(compilation, views)
    issue = failing_issue(selector, found.view)
    return Answer(compilation, selector, said, None, found, explanation, issue, advice)


def _good(answer: Answer, *, strict: bool) -> bool:
    if not answer.accepted:
        return False
    if answer.trial is not None:
        return bool(answer.trial.matched) and not (strict and answer.trial.failed)
    return answer.explanation is None or answer.explanation.verdict == "true"


def _expression(given: str) -> str:
    if given != STANDARD_INPUT:
        try:
            given.encode()
        except UnicodeEncodeError as error:
            # Python keeps a byte that is no UTF-8 as half a surrogate.
            byte = ord(given[error.start]) & 0xFF
            raise CommandError(f"EXPR: not UTF-8: byte {byte:#04x}") from error
        return given
    try:
        data = read_file(STANDARD_INPUT, _standard_input())
    except ManifestError as error:
        raise CommandError(str(error.in_file("standard input"))) from error
    try:
        # The line's end belongs to the file, not to the expression.
        return data.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        wrong = f"byte {data[error.start]:#04x}"
        raise CommandError(f"standard input: not UTF-8: {wrong}") from error


def _environment(gates: Sequence[str], *, stored: bool) -> Environment:
    on = parse_gates(gates)
    return Environment(
        consumable_capacity="DRAConsumableCapacity" in on,
        list_type_attributes="DRAListTypeAttributes" in on,
        stored=stored,
    )


def _standard_input() -> BinaryIO | None:
    # Closed by whoever started us, Python has no stream for it at all.
    return None if sys.stdin is None else sys.stdin.buffer
