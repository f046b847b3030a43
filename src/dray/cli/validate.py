"""`dray validate`: whether a server would take these objects, and if not, why not and where."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import click

from dray.api.wire import Time
from dray.cli.errors import EXIT_INVALID, EXIT_UNREADABLE, CommandError
from dray.cli.gates import feature_gates_option, parse_gates
from dray.cli.manifests import (
    EmptyList,
    Manifest,
    ManifestError,
    find_files,
    read_documents,
    read_file,
)
from dray.cli.output import examples, painted, printable
from dray.cli.report import Summary, lines_of, to_json
from dray.cli.verdicts import Judge, Verdict
from dray.clock import SystemClock

__all__ = ["command"]


@click.command(
    "validate",
    short_help="Check manifests without a cluster.",
    epilog=examples(
        "dray validate -f claim.yaml",
        "dray validate -f manifests/ -f extra.json",
        "kubectl get resourceclaims -A -o yaml | dray validate -f -",
        "dray validate -f slice.yaml --feature-gates DRAListTypeAttributes=true",
    ),
)
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    required=True,
    type=click.Path(allow_dash=True),
    metavar="FILE|DIR|-",
    help="A file, a directory with all below it, or - for standard input. Repeatable.",
)
@feature_gates_option
@click.option(
    "--strict/--no-strict",
    default=True,
    help="Whether unknown and duplicate fields are errors or warnings.",
)
@click.option(
    "--ignore-unknown-kinds", is_flag=True, help="Pass over objects of kinds that dray has not."
)
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to answer."
)
@click.option("-q", "--quiet", is_flag=True, help="Errors only: no warnings, no summary.")
def command(
    filenames: tuple[str, ...],
    feature_gates: tuple[str, ...],
    strict: bool,
    ignore_unknown_kinds: bool,
    output: str,
    quiet: bool,
) -> int:
    """Check manifests by the rules of a Kubernetes 1.37 API server, without a cluster.

    Reads YAML and JSON with any number of documents, lists included, so dumps of a live cluster
    work too. Exits with 0 if all objects are valid, 1 if not, 2 if something cannot be read.
    """
    judge = Judge(
        now=Time(SystemClock().now()),
        gates=parse_gates(feature_gates),
        strict=strict,
        ignore_unknown_kinds=ignore_unknown_kinds,
    )
    verdicts: list[Verdict] = []
    unreadable: list[ManifestError] = []
    empty_lists = 0
    for found in _read(filenames, _standard_input()):
        if isinstance(found, ManifestError):
            unreadable.append(found)
            click.echo(painted(printable(str(found)), "red"), err=True)
            continue
        if isinstance(found, EmptyList):
            empty_lists += 1
            continue
        verdict = judge.judge(*found)
        verdicts.append(verdict)
        if output == "text":
            _tell(verdict, quiet=quiet)
    if not verdicts and not unreadable and not empty_lists:
        raise CommandError(f"no objects in {', '.join(filenames)}")
    if output == "json":
        click.echo(to_json(verdicts, unreadable))
    elif not quiet:
        _tell_summary(Summary.of(verdicts, unreadable))
    if unreadable:
        return EXIT_UNREADABLE
    return 0 if all(verdict.valid for verdict in verdicts) else EXIT_INVALID


def _read(
    paths: Sequence[str], standard_input: BinaryIO | None
) -> Iterator[tuple[Manifest, str] | EmptyList | ManifestError]:
    for path in find_files(paths):
        if isinstance(path, ManifestError):
            yield path
            continue
        try:
            data = read_file(path, standard_input)
        except ManifestError as error:
            yield error.in_file(path)
            continue
        for found in read_documents(data):
            if isinstance(found, ManifestError):
                yield found.in_file(path)
            else:
                yield found if isinstance(found, EmptyList) else (found, path)


def _standard_input() -> BinaryIO | None:
    # Closed by whoever started us, Python has no stream for it at all.
    return None if sys.stdin is None else sys.stdin.buffer


def _tell(verdict: Verdict, *, quiet: bool) -> None:
    for line in lines_of(verdict, warnings=not quiet):
        click.echo(line)


def _tell_summary(summary: Summary) -> None:
    colour = "red" if summary.invalid or summary.unreadable else "green"
    click.echo(painted(str(summary), colour), err=True)
