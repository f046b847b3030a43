"""What must hold of any text that is taken for an expression, whoever wrote it.

Compiling gives a Compilation. What compiles is asked about devices in every way there is, and all
ways agree: the exact program, generated code, columns, the parts of the selector. Nothing but a
CELError leaves the public calls, nothing changes a device or an expression, and no budget is
exceeded by more than the step that exceeds it. Not a test: tests/conformance/cel/test_fuzz.py and
the target beside this file bring the texts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from dray.cel import (
    SELECTOR_COST_MAX,
    Compilation,
    DerivedAttribute,
    DeviceView,
    Environment,
    Selector,
    absent_references,
    compile_derived_attribute,
    compile_selector,
    conjuncts,
    describe,
    explain,
    failing_issue,
    hints,
    hints_for_error,
    render_failing,
    requirement,
)
from dray.cel._compiler import _kept, compile_any
from dray.cel._failures import Failure
from dray.cel._results import as_bool
from dray.cel.fleet import DeviceTable, Verdict
from dray.errors import CELError

__all__ = ["ENVIRONMENTS", "STORED", "examine", "from_depth"]

STORED = Environment(stored=True)
ENVIRONMENTS = (
    Environment(),
    Environment(list_type_attributes=True),
    Environment(consumable_capacity=False),
    STORED,
)
EXPLAINED_COST_MAX = 100_000
"""Beyond, what all parts cost together may take longer than anyone waits for a test."""

EXPLAINED_DEVICES_MAX = 3
COSTLY = 20_000
COSTLY_DEVICES_MAX = 2
"""Nobody waits for an expression that costs this much, on a dozen devices, in every way."""

Answer = TypeVar("Answer")
_WORDS = {Verdict.YES: "true", Verdict.NO: "false", Verdict.ERROR: "error"}


def from_depth(frames: int, call: Callable[[], Answer]) -> Answer:
    """The answer of a call that is made when this many frames are on the stack."""
    frame, on_stack = sys._getframe(), 0
    while frame.f_back is not None:
        frame, on_stack = frame.f_back, on_stack + 1

    def descend(left: int) -> Answer:
        return call() if left <= 0 else descend(left - 1)

    return descend(frames - on_stack)


def examine(
    text: str,
    views: Sequence[DeviceView],
    *,
    environments: Sequence[Environment] = ENVIRONMENTS,
    explained: bool = True,
) -> bool:
    """Whether the text is a selector; an AssertionError says what is not as it must be."""
    held = repr([view.value for view in views])
    compilations = [compile_selector(text, environment) for environment in environments]
    for compilation in compilations:
        _examine_compilation(compilation, views)
    # What was compiled in between must not show.
    _kept.cache_clear()
    again = compile_selector(text, environments[0])
    assert again.error == compilations[0].error, "the second compilation ends otherwise"
    assert again.max_cost == compilations[0].max_cost, "the second compilation costs otherwise"
    asked = {id(one.program): one for one in compilations if one.ok}
    # What the environments disagree about are the types of attributes; two of them cover that.
    for compilation in list(asked.values())[:: max(1, len(asked) - 1)]:
        _examine_selector(compilation, views)
        if explained:
            _examine_explanations(Selector(compilation), views)
    _examine_derived(compile_derived_attribute(text, STORED), views)
    _examine_any(compile_any(text, STORED), views)
    assert repr([view.value for view in views]) == held, "a device was changed"
    return bool(asked)


def _examine_compilation(compilation: Compilation, views: Sequence[DeviceView]) -> None:
    if compilation.error is None:
        assert compilation.program is not None
        assert compilation.max_cost >= 0
        assert not compilation.issues
    else:
        assert compilation.error.detail
        assert compilation.program is None
        _refuses(lambda: Selector(compilation))
    for hint in hints(compilation, views):
        assert hint.text


def _refuses(call: Callable[[], object]) -> None:
    try:
        call()
    except CELError:
        return
    raise AssertionError("what does not compile was accepted")


def _examine_selector(compilation: Compilation, views: Sequence[DeviceView]) -> None:
    assert compilation.program is not None
    readable = [view for view in views if view.failure is None]
    if readable and compilation.program.evaluate({"device": readable[0].value}).cost > COSTLY:
        views = views[:COSTLY_DEVICES_MAX]
    answers = [_exact(compilation, view) for view in views]
    selector, coded = Selector(compilation), Selector(compilation)
    coded._code = coded.code
    for view, wanted in zip(views, answers, strict=True):
        assert _matched(selector, view) == wanted, "matches differs from the program"
        assert _matched(coded, view) == wanted, "code differs from the program"
    told = [Verdict(one) for one in DeviceTable(views).verdicts(selector).tolist()]
    assert [_WORDS[one] for one in told] == [word for word, _ in answers], "columns differ"
    again = [_exact(compilation, view) for view in views]
    assert again == answers, "the second answer is another"


def _exact(compilation: Compilation, view: DeviceView) -> tuple[str, str]:
    """The answer of the exact program: a word, and the text of the error."""
    if view.failure is not None:
        return "error", view.failure
    assert compilation.program is not None
    variables = {"device": view.value}
    came = compilation.program.evaluate(variables)
    assert 0 <= came.cost <= SELECTOR_COST_MAX + 1
    if not came.aborted and came.cost > 0:
        tight = compilation.program.evaluate(variables, cost_limit=came.cost)
        assert (tight.failure, tight.cost) == (came.failure, came.cost), "a budget that suffices"
        short = compilation.program.evaluate(variables, cost_limit=came.cost - 1)
        assert (short.aborted, short.cost) == (True, came.cost), "a budget that does not suffice"
    if came.failure is not None:
        return "error", came.failure
    try:
        return ("true" if as_bool(came.value) else "false"), ""
    except Failure as failure:
        return "error", str(failure)


def _matched(selector: Selector, view: DeviceView) -> tuple[str, str]:
    try:
        return ("true" if selector.matches(view) else "false"), ""
    except CELError as error:
        return "error", error.message


def _examine_explanations(selector: Selector, views: Sequence[DeviceView]) -> None:
    absent_references(selector, views)
    for conjunct in conjuncts(selector):
        requirement(conjunct)
    if selector.compilation.max_cost > EXPLAINED_COST_MAX:
        return
    for view in views[:EXPLAINED_DEVICES_MAX]:
        explanation = explain(selector, view)
        verdicts = {one.verdict for one in explanation.decisions}
        deciding = explanation.deciding
        if explanation.verdict == "true":
            assert verdicts == {"true"}, "a device fits and a part says no"
        else:
            assert deciding is not None, "no part decides"
            assert deciding.verdict == explanation.verdict, "the deciding part says otherwise"
            assert deciding.error == explanation.error, "the deciding part has another error"
        assert all(describe(one, view) for one in explanation.decisions)
        if explanation.error is not None:
            issue = failing_issue(selector, view)
            if issue is not None:
                assert render_failing(selector, issue)
            hints_for_error(selector, view, explanation.error, views)


def _examine_derived(compilation: Compilation, views: Sequence[DeviceView]) -> None:
    if not compilation.ok:
        return
    derived = DerivedAttribute(compilation)
    for view in views[:EXPLAINED_DEVICES_MAX]:
        with suppress(CELError):
            assert derived.evaluate(view)[1] <= SELECTOR_COST_MAX


def _examine_any(compilation: Compilation, views: Sequence[DeviceView]) -> None:
    if compilation.program is None:
        return
    for view in views[:EXPLAINED_DEVICES_MAX]:
        if view.failure is None:
            came = compilation.program.evaluate({"device": view.value})
            assert came.cost <= SELECTOR_COST_MAX + 1
