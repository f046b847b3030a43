"""dray's answers to the questions of tests/oracle/cel, in the words of its program.

Not a test: the tests beside it compare recorded answers with these, and the oracle's
differential.py compares fresh ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from dray.api.codec import decode
from dray.api.resource import Device, DeviceAttribute
from dray.cel import (
    SELECTOR_COST_MAX,
    Compilation,
    DerivedAttribute,
    DeviceView,
    Environment,
    Selector,
    compile_derived_attribute,
    compile_selector,
)
from dray.cel._compiler import compile_any
from dray.cel._failures import Failure
from dray.cel._results import as_bool
from dray.cel._values import Value
from dray.cel.fleet import DeviceTable, Verdict
from dray.errors import CELError
from tests.conformance.cel.values import canonical, decoded, encoded, type_named

__all__ = ["answer", "compiled", "evaluation", "same", "view_of"]

KINDS = {"invalid": "RuleInvalid", "internal": "InternalError"}

Question = Mapping[str, Any]
Answer = dict[str, Any]


def answer(question: Question) -> Answer:
    """What dray says about an expression and each of the question's devices."""
    compilation = compiled(question)
    if compilation.error is not None:
        return {
            "kind": KINDS[compilation.error.kind],
            "error": compilation.error.detail,
            "maxCost": compilation.max_cost,
        }
    devices = question.get("devices", ())
    evaluations = [evaluation(question, compilation, device) for device in devices]
    if not any(map(question.get, ("any", "derived", "costLimit"))):
        views = [view_of(json.dumps(device)) for device in devices]
        _ask_otherwise(compilation, views, evaluations)
    return {
        "outputType": str(compilation.output_type),
        "maxCost": compilation.max_cost,
        "evaluations": evaluations,
    }


_ENDED = ("operation cancelled", "internal error: ")
"""How errors start with which upstream ends an evaluation before it is finished. What was counted
until then says nothing: the budget is spent, or upstream has crashed."""


def same(theirs: Answer, ours: Answer) -> bool:
    """Whether two evaluations agree on all that upstream does not leave to luck."""
    if theirs.get("unstable") == "answer":
        return True
    ended = theirs.get("error", "").startswith(_ENDED)
    ignored = {"unstable", "actualCost"} if ended or "unstable" in theirs else set()
    return _canonical(theirs, ignored) == _canonical(ours, ignored)


def _canonical(evaluation: Answer, without: set[str]) -> Answer:
    return {
        name: canonical(member) if name == "value" else member
        for name, member in evaluation.items()
        if name not in without
    }


def compiled(question: Question) -> Compilation:
    environment = Environment(
        consumable_capacity=question.get("consumableCapacity", False),
        list_type_attributes=question.get("listTypeAttributes", False),
        stored=question.get("stored", False),
        variables=tuple(
            (variable["name"], type_named(variable["type"]))
            for variable in question.get("variables", ())
        ),
    )
    if question.get("any"):
        return compile_any(question["expression"], environment)
    compiler = compile_derived_attribute if question.get("derived") else compile_selector
    return compiler(question["expression"], environment)


def evaluation(question: Question, compilation: Compilation, device: Question) -> Answer:
    """What becomes of the expression for one device."""
    view = view_of(json.dumps(device))
    if view.failure is not None:
        return {"error": view.failure}
    assert compilation.program is not None
    variables = {"device": view.value, **_bindings(question.get("variables", ()))}
    limit = question.get("costLimit", SELECTOR_COST_MAX)
    result = compilation.program.evaluate(variables, cost_limit=limit)
    cost = {"actualCost": result.cost}
    if result.failure is not None:
        return {"error": result.failure, **cost}
    if question.get("any"):
        return {"value": encoded(result.value), **cost}
    try:
        if question.get("derived"):
            derived, spent = DerivedAttribute(compilation).evaluate(view, cost_limit=limit)
            assert spent == result.cost
            return {"attribute": _members(derived), **cost}
        return {"match": as_bool(result.value), **cost}
    except (CELError, Failure) as error:
        return {"error": str(error), **cost}


def _ask_otherwise(
    compilation: Compilation, views: list[DeviceView], evaluations: list[Answer]
) -> None:
    """Ask in the other ways there are; an answer that differs gets a member that says so."""
    table = DeviceTable(views).verdicts(Selector(compilation))
    coded = Selector(compilation)
    coded._code = coded.code
    for view, told, exact in zip(views, table.tolist(), evaluations, strict=True):
        wanted = {name: exact[name] for name in ("match", "error") if name in exact}
        for way, selector in (("exactly", Selector(compilation)), ("in code", coded)):
            if _matched(selector, view) != wanted:
                exact[way] = _matched(selector, view)
        verdict = {True: Verdict.YES, False: Verdict.NO, None: Verdict.ERROR}[exact.get("match")]
        if told != verdict:
            exact["in a table"] = Verdict(told).name


def _matched(selector: Selector, view: DeviceView) -> Answer:
    try:
        return {"match": selector.matches(view)}
    except CELError as error:
        return {"error": error.message}


def _members(attribute: DeviceAttribute) -> Answer:
    """The attribute's JSON, with an empty list where its own encoding has none."""
    held = {
        "int": attribute.int_value,
        "bool": attribute.bool_value,
        "string": attribute.string_value,
        "version": attribute.version_value,
        "ints": attribute.int_values,
        "bools": attribute.bool_values,
        "strings": attribute.string_values,
        "versions": attribute.version_values,
    }
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in held.items()
        if value is not None
    }


@lru_cache(1024)
def view_of(device: str) -> DeviceView:
    """The device in this JSON: a driver, and what a ResourceSlice says of one of its devices."""
    members = json.loads(device)
    driver = members.pop("driver")
    return DeviceView.of(driver, decode(json.dumps({"name": "", **members}).encode(), Device))


def _bindings(variables: Iterable[Question]) -> dict[str, Value]:
    return {
        variable["name"]: decoded(variable["value"])
        for variable in variables
        if "value" in variable
    }
