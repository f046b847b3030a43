"""A selector tried on devices: how many fit, and for each reason how many do not.

Devices that do not fit are grouped by what the deciding condition says of them, those without an
answer by the error. Every device is asked; the reasons are worked out for a bounded number of them,
and the rest is counted as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from dray.cel import (
    Decision,
    DeviceView,
    Environment,
    Hint,
    Issue,
    Reference,
    Selector,
    absent_references,
    compile_selector,
    conjuncts,
    describe,
    explain,
    failing_issue,
    hints_for_error,
)
from dray.cli.devices import Found
from dray.errors import CELError

__all__ = ["Failed", "Reason", "Trial", "try_on"]

EXPLAINED_MAX: Final = 20_000
"""Devices whose reason is worked out, at some 50 µs each."""

TABLE_MIN: Final = 200
"""Devices from which on they are asked side by side, where NumPy is at hand."""

EXAMPLES_MAX: Final = 3
HINTS_MAX: Final = 3
REASONS_KEPT_MAX: Final = 1000
ERRORS_HINTED_MAX: Final = 20


@dataclass(slots=True)
class Reason:
    """Devices that do not fit for the same reason."""

    conjunct: int  # counted from 0
    text: str
    count: int = 0
    examples: list[Found] = field(default_factory=list)


@dataclass(slots=True)
class Failed:
    """Devices on which the selector fails with the same error."""

    text: str
    count: int = 0
    examples: list[Found] = field(default_factory=list)
    by_driver: dict[str, Found] = field(default_factory=dict)  # one device of each
    issue: Issue | None = None
    hints: tuple[Hint, ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of asking all devices."""

    matched: tuple[Found, ...]
    unmatched: int
    failed: int
    reasons: tuple[Reason, ...]
    errors: tuple[Failed, ...]
    absent: tuple[Reference, ...]

    @property
    def total(self) -> int:
        return len(self.matched) + self.unmatched + self.failed


def try_on(selector: Selector, devices: Sequence[Found]) -> Trial:
    """Ask a selector about devices."""
    matched: list[Found] = []
    unmatched: list[Found] = []
    errors: dict[str, Failed] = {}
    for found, verdict in zip(devices, _verdicts(selector, devices), strict=True):
        if verdict is not None:
            (matched if verdict else unmatched).append(found)
            continue
        error = explain(selector, found.view).error
        assert error is not None
        group = errors.setdefault(error, Failed(error))
        _count(group, found)
        if len(group.by_driver) < EXAMPLES_MAX:
            group.by_driver.setdefault(found.id.driver, found)
    views = [found.view for found in devices]
    for group in list(errors.values())[:ERRORS_HINTED_MAX]:
        _explain(selector, group, views)
    return Trial(
        matched=tuple(matched),
        unmatched=len(unmatched),
        failed=sum(group.count for group in errors.values()),
        reasons=_reasons(selector, unmatched[:EXPLAINED_MAX]),
        errors=tuple(sorted(errors.values(), key=lambda group: -group.count)),
        absent=absent_references(selector, views),
    )


def _verdicts(selector: Selector, devices: Sequence[Found]) -> Iterator[bool | None]:
    """Whether each device fits; None where there is no answer."""
    if len(devices) >= TABLE_MIN:
        try:
            from dray.cel.fleet import DeviceTable, Verdict  # noqa: PLC0415  (NumPy is optional)
        except ImportError:
            pass
        else:
            answers = {Verdict.YES: True, Verdict.NO: False, Verdict.ERROR: None}
            found = DeviceTable([found.view for found in devices]).verdicts(selector)
            yield from (answers[Verdict(one)] for one in found.tolist())
            return
    for found_device in devices:
        try:
            yield selector.matches(found_device.view)
        except CELError:
            yield None


def _explain(selector: Selector, group: Failed, views: Sequence[DeviceView]) -> None:
    group.issue = failing_issue(selector, group.examples[0].view)
    # A driver that has no such attribute at all needs another hint than one with a few without.
    failing = [found.view for found in group.by_driver.values()]
    hints = {
        hint.text: hint
        for view in failing
        for hint in hints_for_error(selector, view, group.text, views)
    }
    # What helps most of them comes first.
    order = sorted(hints.values(), key=lambda hint: -_helped(hint, failing))
    # The same mistake, mended for one driver's devices, is not told again for another's.
    distinct = {hint.text.partition(";")[0]: hint for hint in reversed(order)}
    group.hints = tuple(hint for hint in order if hint in distinct.values())[:HINTS_MAX]


def _helped(hint: Hint, views: Sequence[DeviceView]) -> int:
    """How many of these devices have an answer with what is suggested."""
    if hint.expression is None:
        return 0
    compilation = compile_selector(hint.expression, Environment(stored=True))
    if not compilation.ok:
        return 0
    instead = Selector(compilation)
    return sum(explain(instead, view).error is None for view in views)


def _reasons(selector: Selector, unmatched: Sequence[Found]) -> tuple[Reason, ...]:
    order = {id(conjunct): index for index, conjunct in enumerate(conjuncts(selector))}
    reasons: dict[tuple[int, str], Reason] = {}
    # Devices that agree in what is read share a decision, and their driver's words for it.
    texts: dict[tuple[int, str], tuple[Decision, str]] = {}
    for found in unmatched:
        deciding = explain(selector, found.view).deciding
        if deciding is None:
            continue
        index = order[id(deciding.conjunct)]
        driver = found.id.driver
        known = texts.get((id(deciding), driver))
        text = describe(deciding, found.view) if known is None else known[1]
        texts[id(deciding), driver] = deciding, text  # held, so that its id stays its own
        key = (index, text)
        if key not in reasons and len(reasons) >= REASONS_KEPT_MAX:
            continue
        _count(reasons.setdefault(key, Reason(index, text)), found)
    return tuple(sorted(reasons.values(), key=lambda one: (one.conjunct, -one.count)))


def _count(group: Reason | Failed, found: Found) -> None:
    group.count += 1
    if len(group.examples) < EXAMPLES_MAX:
        group.examples.append(found)
