"""What `dray cel` has to say, as text for people and as JSON for programs.

The JSON carries the name of its schema, documented in docs/reference/cli.md: members may be added
under that name, none is ever changed or removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from dray.cel import (
    COST_UNKNOWN,
    EXPRESSION_LENGTH_MAX,
    SELECTOR_COST_MAX,
    Compilation,
    Explanation,
    Hint,
    Issue,
    Reference,
    Selector,
    conjuncts,
    describe,
    render_failing,
)
from dray.cli.devices import Found
from dray.cli.manifests import ManifestError
from dray.cli.output import indented, printable
from dray.cli.trial import Failed, Reason, Trial

__all__ = ["SCHEMA", "Answer", "lines_of", "to_json"]

SCHEMA: Final = "dray.dev/cel/v1"

TOO_COMPLEX: Final = "too complex, exceeds cost limit"
"""What a server says of an expression that compiles but may cost too much."""

_SHOWN_MAX: Final = 10
"""Lines of one kind in the text; JSON has them all."""

_REASONS_SHOWN_MAX: Final = 4
"""Lines for one condition, of which devices may have thousands of values."""

_NAMES_SHOWN_MAX: Final = 5
_LABEL_WIDTH: Final = 9


@dataclass(frozen=True, slots=True)
class Answer:
    """All there is to say about an expression, and the devices it was tried on."""

    compilation: Compilation
    selector: Selector | None  # of an expression that compiles
    hints: tuple[Hint, ...]
    trial: Trial | None = None
    found: Found | None = None
    explanation: Explanation | None = None  # of the device that was found
    issue: Issue | None = None  # where the selector fails on it
    device_hints: tuple[Hint, ...] = ()
    notes: tuple[str, ...] = ()
    unreadable: tuple[ManifestError, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether a server would take the expression."""
        return self.compilation.ok and self.compilation.max_cost <= SELECTOR_COST_MAX

    @property
    def refusal(self) -> str | None:
        error = self.compilation.error
        if error is not None:
            return error.detail
        return None if self.accepted else TOO_COMPLEX


def lines_of(answer: Answer) -> Iterator[str]:
    """The answer for people."""
    for note in answer.notes:
        yield _labelled("note", printable(note, characters_max=600))
    if answer.refusal is not None:
        yield _labelled("refused", _block(answer.refusal))
    if answer.selector is not None:
        if answer.accepted:
            yield _labelled("accepted", _type(answer.compilation))
        yield _labelled("cost", _cost(answer.compilation))
        reads = sorted(map(str, _reads(answer.selector)))
        yield from _listed("reads", reads or ["nothing of a device"])
    yield from _hint_lines("hint", _unsaid(answer.hints, answer.trial))
    if answer.trial is not None and answer.selector is not None:
        yield ""
        yield from _trial_lines(answer.trial, answer.selector)
        yield from _absent_lines(answer.trial, answer.hints)
    if answer.explanation is not None and answer.found is not None:
        yield ""
        yield from _device_lines(answer)


def _reads(selector: Selector) -> set[Reference]:
    """What it reads, also where something wider that it reads covers it."""
    return {*selector.references}.union(*(one.references for one in conjuncts(selector)))


# Text ------------------------------------------------------------------------------------------


def _unsaid(hints: Iterable[Hint], trial: Trial | None) -> list[Hint]:
    """What is not said further down, with an error or with a name that no device has."""
    absent = () if trial is None else trial.absent
    said = _said_with_errors(trial)
    return [hint for hint in hints if hint.reference not in absent and not _is_said(hint, said)]


def _is_said(hint: Hint, said: Iterable[str]) -> bool:
    # With an error the same may be said with a guard on top.
    return any(text == hint.text or text.startswith(f"{hint.text};") for text in said)


def _hint_lines(label: str, hints: Iterable[Hint]) -> Iterator[str]:
    """Hints, each with the expression to use instead below it, uncut so that it can be pasted."""
    for hint in hints:
        text = printable(hint.text, characters_max=400)
        expression = hint.expression
        shown = expression is not None and not hint.text.endswith(f" {expression}")
        if shown and not text.endswith("?") and "write " not in text:
            text += ":"
        yield _labelled(label, text)
        if shown and expression is not None:
            for line in expression.split("\n"):
                yield _labelled("", f"  {printable(line, characters_max=EXPRESSION_LENGTH_MAX)}")


def _said_with_errors(trial: Trial | None) -> set[str]:
    errors = () if trial is None else trial.errors[:_SHOWN_MAX]
    return {hint.text for failed in errors for hint in failed.hints}


def _trial_lines(trial: Trial, selector: Selector) -> Iterator[str]:
    count = _counted(trial.total, "device")
    parts = [f"{len(trial.matched):,} matched", f"{trial.unmatched:,} not"]
    if trial.failed:
        parts.append(f"{trial.failed:,} failed")
    yield _labelled("devices", f"{count}: {', '.join(parts)}")
    width = len(f"{trial.total:,}")
    if trial.matched:
        names = _names(trial.matched, len(trial.matched))
        yield _labelled("match", f"{len(trial.matched):{width},}  {names}")
    for index, line in enumerate(_reason_lines(trial, width)):
        yield _labelled("" if index else "no match", line)
    for failed in trial.errors[:_SHOWN_MAX]:
        yield _labelled("error", _group(failed, width, failed.text))
        yield from _error_details(selector, failed.issue, failed.hints)


def _reason_lines(trial: Trial, width: int) -> Iterator[str]:
    """A few lines for each condition, so that one with many values does not hide the others."""
    by_conjunct = [
        list(reasons) for _, reasons in groupby(trial.reasons, key=lambda one: one.conjunct)
    ]
    for reasons in by_conjunct[:_SHOWN_MAX]:
        # A line that says that there is one more is no shorter than that one.
        few = len(reasons) <= _REASONS_SHOWN_MAX + 1
        shown = reasons if few else reasons[:_REASONS_SHOWN_MAX]
        for reason in shown:
            yield _group(reason, width, reason.text)
        others = reasons[len(shown) :]
        if others:
            count = sum(reason.count for reason in others)
            yield f"{count:{width},}  the same with {_counted(len(others), 'other value')}"
    more = trial.unmatched - sum(
        reason.count for reasons in by_conjunct[:_SHOWN_MAX] for reason in reasons
    )
    if more > 0:
        yield f"{more:{width},}  more that are not told apart"


def _absent_lines(trial: Trial, hints: Sequence[Hint]) -> Iterator[str]:
    said = _said_with_errors(trial)
    for reference in trial.absent[:_SHOWN_MAX]:
        yield _labelled("absent", printable(f"no device has {reference}"))
        for hint in hints:
            if hint.reference == reference and not _is_said(hint, said):
                yield from _hint_lines("  hint", [hint])


def _device_lines(answer: Answer) -> Iterator[str]:
    explanation, found, selector = answer.explanation, answer.found, answer.selector
    assert explanation is not None
    assert found is not None
    assert selector is not None
    said = {"true": "matches", "false": "does not match", "error": "has no answer"}
    name = printable(f"{found} of {found.id.driver}", characters_max=200)
    yield _labelled("device", f"{name}: {said[explanation.verdict]}")
    for decision in explanation.decisions:
        mark = " *" if decision is explanation.deciding else ""
        line = printable(describe(decision, found.view), characters_max=300)
        yield _labelled(f"{decision.verdict}{mark}", line)
        written = printable(" ".join(decision.conjunct.text.split()), characters_max=200)
        if written not in line:
            yield _labelled("", f"  {written}")
    if explanation.error is not None:
        yield _labelled("error", printable(explanation.error))
        yield from _error_details(selector, answer.issue, answer.device_hints)
    elif answer.device_hints:
        yield from _hint_lines("hint", answer.device_hints)


def _error_details(selector: Selector, issue: Issue | None, hints: Iterable[Hint]) -> Iterator[str]:
    if issue is not None:
        for line in render_failing(selector, issue).split("\n")[1:]:
            yield _labelled("", printable(line, characters_max=400))
    yield from _hint_lines("  hint", hints)


def _group(group: Reason | Failed, width: int, text: str) -> str:
    shown = printable(text, characters_max=300)
    return f"{group.count:{width},}  {shown} ({_names(group.examples, group.count)})"


def _names(found: Sequence[Found], count: int) -> str:
    shown = [printable(str(one), characters_max=130) for one in found[:_NAMES_SHOWN_MAX]]
    return ", ".join([*shown, "…"] if count > len(shown) else shown)


def _type(compilation: Compilation) -> str:
    return f"result type {compilation.output_type}"


def _cost(compilation: Compilation) -> str:
    cost = compilation.max_cost
    if cost == COST_UNKNOWN or cost > 1000 * SELECTOR_COST_MAX:
        return f"unknown, and {SELECTOR_COST_MAX:,} is the limit"
    return f"at most {cost:,} of {SELECTOR_COST_MAX:,}"


def _block(text: str) -> str:
    """An error with the lines of its carets, aligned below each other."""
    margin = " " * (_LABEL_WIDTH + 1)
    return indented(text).replace("\n    ", f"\n{margin}")


def _labelled(label: str, text: str) -> str:
    return f"{label:{_LABEL_WIDTH}} {text}".rstrip()


def _listed(label: str, texts: Sequence[str]) -> Iterator[str]:
    for index, text in enumerate(texts[:_SHOWN_MAX]):
        yield _labelled("" if index and label != "hint" else label, printable(text))
    if len(texts) > _SHOWN_MAX:
        yield _labelled("", f"and {len(texts) - _SHOWN_MAX} more")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


# JSON ------------------------------------------------------------------------------------------


def to_json(answer: Answer) -> str:
    """The answer for programs, as one JSON object."""
    compilation, selector = answer.compilation, answer.selector
    cost = compilation.max_cost
    return json.dumps(
        {
            "schema": SCHEMA,
            # One that is refused for its length may be a whole file, given by mistake.
            "expression": compilation.expression[: 2 * EXPRESSION_LENGTH_MAX],
            "accepted": answer.accepted,
            "error": answer.refusal,
            "issues": [_issue(issue) for issue in compilation.issues],
            "type": None if compilation.output_type is None else str(compilation.output_type),
            "cost": None if selector is None or cost == COST_UNKNOWN else cost,
            "costLimit": SELECTOR_COST_MAX,
            "reads": [] if selector is None else _places(_reads(selector)),
            "conjuncts": [] if selector is None else [one.text for one in conjuncts(selector)],
            "hints": [_hint(hint) for hint in answer.hints],
            "devices": None if answer.trial is None else _trial(answer.trial),
            "device": _device(answer),
            "notes": list(answer.notes),
            "unreadable": [
                {
                    "file": error.file,
                    "line": error.line or None,
                    "column": error.column or None,
                    "message": error.rule,
                }
                for error in answer.unreadable
            ],
        },
        indent=2,
    )


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "total": trial.total,
        "matched": len(trial.matched),
        "unmatched": trial.unmatched,
        "failed": trial.failed,
        "matches": [_id(found) for found in trial.matched],
        "reasons": [
            {
                "conjunct": reason.conjunct,
                "text": reason.text,
                "count": reason.count,
                "examples": [_id(found) for found in reason.examples],
            }
            for reason in trial.reasons
        ],
        "errors": [
            {
                "text": failed.text,
                "count": failed.count,
                "examples": [_id(found) for found in failed.examples],
                "issue": None if failed.issue is None else _issue(failed.issue),
                "hints": [_hint(hint) for hint in failed.hints],
            }
            for failed in trial.errors
        ],
        "absent": _places(trial.absent),
    }


def _device(answer: Answer) -> dict[str, Any] | None:
    explanation, found = answer.explanation, answer.found
    if explanation is None or found is None:
        return None
    deciding = explanation.deciding
    return {
        **_id(found),
        "verdict": explanation.verdict,
        "error": explanation.error,
        "issue": None if answer.issue is None else _issue(answer.issue),
        "deciding": None if deciding is None else explanation.decisions.index(deciding),
        "conjuncts": [
            {
                "text": decision.conjunct.text,
                "verdict": decision.verdict,
                "error": decision.error,
                "description": describe(decision, found.view),
                "readings": [
                    {
                        **_place(reading.reference),
                        "shown": reading.shown,
                        "missing": reading.missing,
                    }
                    for reading in decision.readings
                ],
            }
            for decision in explanation.decisions
        ],
        "hints": [_hint(hint) for hint in answer.device_hints],
    }


def _id(found: Found) -> dict[str, Any]:
    return {"driver": found.id.driver, "pool": found.id.pool, "device": found.id.device}


def _issue(issue: Issue) -> dict[str, Any]:
    known = issue.line > 0
    return {
        "message": issue.message,
        "line": issue.line if known else None,
        # An empty expression is refused before its first column.
        "column": max(issue.column + 1, 1) if known else None,
    }


def _places(references: Iterable[Reference]) -> list[dict[str, Any]]:
    return [_place(one) for one in sorted(references, key=str)]


def _place(reference: Reference) -> dict[str, Any]:
    return {
        "path": str(reference),
        "field": reference.field,
        "domain": reference.domain,
        "name": reference.name,
    }


def _hint(hint: Hint) -> dict[str, Any]:
    path = None if hint.reference is None else str(hint.reference)
    return {"text": hint.text, "path": path, "expression": hint.expression}
