"""The answer of `dray explain` as text: short first, details after.

Long lists are cut with a word on how much is left out; JSON has more. Names and values come from
other people's files, so every line goes through `printable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import yaml

from dray.allocator.answers import HolderFacts, RequestReport
from dray.cli.explain_answer import Answer, AssignedDevice, Reason, Step, Verdict
from dray.cli.output import painted, printable
from dray.cli.snapshot import Subject, SubjectKind

__all__ = ["lines_of"]

REASONS_MAX: Final = 10
NAMES_MAX: Final = 5
DEVICES_MAX: Final = 40
REQUESTS_MAX: Final = 20
HOLDERS_MAX: Final = 5
LINES_MAX: Final = 1_000
"""Nodes that are told one by one, if asked for."""

FLOW_CHARACTERS_MAX: Final = 160
"""Of a value on one line; longer ones get lines of their own."""

_COLOURS: Final = {
    Verdict.FITS: "green",
    Verdict.ALLOCATED: "green",
    Verdict.DOES_NOT_FIT: "red",
    Verdict.UNSCHEDULED: "red",
    Verdict.BLOCKED: "red",
    Verdict.UNJUDGED: "yellow",
}

_FITTING: Final = frozenset({Verdict.FITS, Verdict.UNSCHEDULED})


def lines_of(answer: Answer) -> Iterator[str]:
    """The answer for people."""
    # An error in a selector comes with the selector and a mark below it.
    for line in answer.headline.split("\n"):
        yield painted(printable(line), _COLOURS[answer.verdict])
    yield from _problems(answer.subject)
    stopped = answer.verdict is Verdict.UNJUDGED and any(one.error for one in answer.reasons)
    if stopped:
        yield "  A scheduler that meets this error stops, whatever other nodes have."
        yield from _hints(answer)
    yield from _devices(answer)
    yield from _reasons(answer)
    yield from _closest(answer)
    yield from _suggestions(answer)
    if not stopped:
        yield from _hints(answer)
    yield from _each(answer)
    yield from _section("notes", answer.notes)
    yield from _afterword(answer)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines under a title; nothing if there are none."""
    shown = list(lines)
    if shown:
        yield ""
        yield f"{title}:"
        yield from (f"  {printable(line)}".rstrip() for line in shown)


# Problems, devices -----------------------------------------------------------------------------


def _problems(subject: Subject | None) -> Iterator[str]:
    problems = subject.problems if subject is not None else ()
    hints = [problem.hint for problem in problems if problem.hint]
    if len(problems) == 1:
        # The sentence above has said what it is.
        yield from (f"  {printable(hint)}" for hint in hints)
    elif problems:
        yield from _section("in the way", map(str, problems))


def _devices(answer: Answer) -> Iterator[str]:
    if not answer.devices:
        return
    proposed = answer.verdict in _FITTING and not _allocated(answer.subject)
    where = f"on {answer.first}" if proposed else "devices"
    rows: list[tuple[str, ...]] = [("CLAIM", "REQUEST", "DEVICE", "WHAT", "TAKES")]
    rows += (_device_row(device) for device in answer.devices[:DEVICES_MAX])
    lines = _table(rows)
    more = len(answer.devices) - DEVICES_MAX
    yield from _section(where, [*lines, *([f"and {more} more"] if more > 0 else [])])
    if proposed and len(answer.fitting) > 1:
        yield ""
        yield printable(f"also on {_names(answer.fitting[1:])}")


def _allocated(subject: Subject | None) -> bool:
    """Whether its devices are those it has, and not those it would get."""
    return subject is not None and not subject.claims and subject.extended is None


def _device_row(device: AssignedDevice) -> tuple[str, ...]:
    takes = ", ".join(f"{_local(name)} {amount}" for name, amount in device.consumed)
    return (
        str(device.claim),
        device.request,
        f"{device.id.driver}/{device.id.pool}/{device.id.device}",
        ", ".join(f"{_local(name)} {value}" for name, value in device.traits),
        takes or ("nothing (admin access)" if device.admin_access else "all of it"),
    )


def _local(name: str) -> str:
    return name.rpartition("/")[2]


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Rows with their columns below each other; columns that are empty but for a title go."""
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    for row in zip(*columns, strict=True):
        cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


# Nodes -----------------------------------------------------------------------------------------


def _reasons(answer: Answer) -> Iterator[str]:
    reasons = answer.reasons
    if not reasons or answer.only is not None:
        return
    shown = reasons if len(reasons) <= REASONS_MAX + 1 else reasons[:REASONS_MAX]
    counts = [_nodes(len(reason.nodes)) for reason in shown]
    width = max(map(len, counts))
    lines = []
    for count, reason in zip(counts, shown, strict=True):
        told = reason.error and reason.error in answer.headline
        text = "cannot be judged, for the error above" if told else reason.text
        lines.append(f"{count:>{width}}  {text}{_with_devices(reason)}")
        lines.append(f"{'':{width}}  {_names(reason.nodes)}")
    others = reasons[len(shown) :]
    if others:
        left = _nodes(sum(len(reason.nodes) for reason in others))
        lines.append(f"{left:>{width}}  for {len(others)} other reasons (-o json has all)")
    title = "why not" if not answer.fitting else "why not elsewhere"
    yield from _section(title, lines)


def _with_devices(reason: Reason) -> str:
    count = len(reason.with_devices)
    if not count:
        return ""
    if count == len(reason.nodes):
        return "; its devices would do" if count == 1 else "; their devices would do"
    return f"; the devices of {count:,} of them would do"


def _nodes(count: int) -> str:
    return f"{count:,} node" if count == 1 else f"{count:,} nodes"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_MAX])
    more = len(names) - NAMES_MAX
    return f"{shown} and {more:,} more" if more > 0 else shown


def _each(answer: Answer) -> Iterator[str]:
    if answer.lines is None:
        return
    shown = answer.lines[:LINES_MAX]
    width = max((len(line.node) for line in shown), default=0)
    lines = [f"{line.node:{width}}  {line.text}" for line in shown]
    more = len(answer.lines) - len(shown)
    if more > 0:
        lines.append(f"and {_nodes(more)} more")
    yield from _section("every node", lines)


# The closest node ------------------------------------------------------------------------------


def _closest(answer: Answer) -> Iterator[str]:
    report = answer.closest
    if report is None:
        return
    lines: list[str] = []
    for request in report.requests[:REQUESTS_MAX]:
        lines += _request(request, answer)
    more = len(report.requests) - REQUESTS_MAX
    if more > 0:
        lines.append(f"and {more} more requests")
    lines += (f"conflict: {conflict.text}" for conflict in report.conflicts)
    lines += (f"trouble: {trouble.text}" for trouble in report.pools)
    if report.undecided:
        lines.append("the search was given up: there may be a way that was not found")
    title = f"closest is {report.node}" if answer.only is None else "devices"
    yield from _section(title, lines)


def _request(request: RequestReport, answer: Answer) -> Iterator[str]:
    origin = _origin(request, answer.subject)
    enough = "too few" if request.short else "enough"
    yield f"request {request.request} ({origin}): {enough}"
    devices = f"{request.devices} device{'' if request.devices == 1 else 's'}"
    if not request.devices:
        yield f"  {request.wanted} wanted; no devices"
    else:
        would = f"{request.candidates or 'none'} would do"
        free = f", {request.free or 'none'} of those free" if request.candidates else ""
        yield f"  {request.wanted} wanted; {devices}, {would}{free}"
    holders = dict(answer.holders)
    for exclusion in request.exclusions:
        examples = ", ".join(str(device.device) for device in exclusion.examples)
        more = ", …" if exclusion.count > len(exclusion.examples) else ""
        if not isinstance(exclusion.facts, HolderFacts):
            yield f"  {exclusion.text}: {examples}{more}"
            continue
        yield f"  {exclusion.count} in use: {examples}{more}"
        known = [(name, count) for name, count in exclusion.facts.holders if name]
        for name, count in known[:HOLDERS_MAX]:
            yield f"    {count} by {holders.get(name, f'claim {name}')}"
        if len(known) > HOLDERS_MAX:
            yield f"    and {len(known) - HOLDERS_MAX} more claims"


def _origin(request: RequestReport, subject: Subject | None) -> str:
    """Which claim a request is of, and where that is from."""
    for wanted in subject.claims if subject is not None else ():
        if str(wanted.name) == request.claim:
            made = f", from template {wanted.template}" if wanted.template else ""
            return f"claim {request.claim}{made}"
    return "extended resources of the pod"


# What to do ------------------------------------------------------------------------------------


def _suggestions(answer: Answer) -> Iterator[str]:
    suggestions = answer.suggestions
    helpless = not suggestions and not answer.hints
    if helpless and answer.closest is not None and answer.closest.requests:
        yield ""
        yield "No change of a request or two, and no claims to free, were found that would help."
    lines: list[str] = []
    for number, suggestion in enumerate(suggestions, 1):
        unsure = "" if suggestion.checked else " (nobody can say whether that is enough)"
        lines.append(f"{number}. on {suggestion.node}: {suggestion.text}{unsure}")
        lines += (f"   {line}" for step in suggestion.steps for line in _step(step))
    if any(step.path for one in suggestions for step in one.steps if "Claim" in step.object):
        lines.append("The spec of a claim or template cannot be edited: replace it, and the pod.")
    checked = all(one.checked for one in suggestions)
    yield from _section("what would help (each was tried)" if checked else "what would help", lines)


def _step(step: Step) -> Iterator[str]:
    note = f" ({step.note})" if step.note and (step.path or step.command) else step.note
    if step.command:
        yield f"{step.command}{note}"
        return
    if not step.path:
        yield note
        return
    if step.value is None:
        yield f"{step.object}: remove {step.path}{note}"
    elif isinstance(step.value, str) and "\n" in step.value:
        yield f"{step.object}: {step.path}: |-"
        yield from (f"  {line}" for line in step.value.split("\n"))
    elif len(flow := _flow(step.value)) <= FLOW_CHARACTERS_MAX:
        yield f"{step.object}: {step.path}: {flow}{note}"
    else:
        yield f"{step.object}: {step.path}:{note}"
        block = yaml.dump(step.value, Dumper=_Block, width=2**20, sort_keys=False)
        yield from (f"  {line}" for line in block.rstrip().split("\n"))


class _Block(yaml.SafeDumper):
    """YAML that keeps the lines of texts apart."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # YAML has no block form for lines that end in blanks.
    block = "\n" in text and not any(line != line.rstrip() for line in text.split("\n"))
    tag = "tag:yaml.org,2002:str"
    return dumper.represent_scalar(tag, text, style="|" if block else None)


_Block.add_representer(str, _text)


def _flow(value: Any) -> str:
    """A value as YAML on one line."""
    text: str = yaml.safe_dump(value, default_flow_style=True, width=2**20, sort_keys=False)
    return text.removesuffix("\n...\n").strip()


def _hints(answer: Answer) -> Iterator[str]:
    lines: list[str] = []
    for hint in answer.hints:
        lines.append(f"{hint.where}: {hint.text}")
        if hint.expression is not None:
            lines += (f"  {line}" for line in hint.expression.split("\n"))
    yield from _section("selectors that look wrong", lines)


def _afterword(answer: Answer) -> Iterator[str]:
    pending = answer.subject is not None and answer.subject.kind is SubjectKind.POD
    if answer.verdict in _FITTING and pending:
        yield ""
        yield (
            "Not looked at: cpu, memory and ports, volumes, and where other pods are. "
            "If it stays Pending, look there."
        )
