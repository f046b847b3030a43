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
from dray.api.resource import Device
from dray.api.semver import Semver
from dray.cel import (
    SELECTOR_COST_MAX,
    Compilation,
    DeviceView,
    Environment,
    Selector,
    compile_derived_attribute,
    compile_selector,
)
from dray.cel._compiler import compile_any
from dray.cel._values import LISTS, Value
from dray.errors import CELError
from tests.conformance.cel.values import decoded, encoded, type_named

__all__ = ["answer", "compiled", "evaluation", "view_of"]

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
    return {
        "outputType": str(compilation.output_type),
        "maxCost": compilation.max_cost,
        "evaluations": [
            evaluation(question, compilation, device) for device in question.get("devices", ())
        ],
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
    selector = not question.get("any") and not question.get("derived")
    if result.failure is not None and not (selector and limit == SELECTOR_COST_MAX):
        return {"error": result.failure, **cost}
    if question.get("any"):
        return {"value": encoded(result.value), **cost}
    if question.get("derived"):
        return {**_attribute(result.value), **cost}
    try:
        # A selector knows no limit but the usual one, and does not tell what it cost.
        return {"match": Selector(compilation).matches(view), **cost}
    except CELError as error:
        return {"error": error.message, **cost}


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


_MEMBERS: dict[type, str] = {bool: "bool", int: "int", str: "string", Semver: "version"}


def _attribute(value: Value) -> Answer:
    """The value as a derived attribute, or why it is none."""
    if type(value) in _MEMBERS:
        return {"attribute": {_MEMBERS[type(value)]: _scalar(value)}}
    if type(value) in LISTS:
        kinds = {type(element) for element in value} or {str}
        if len(kinds) == 1 and kinds <= _MEMBERS.keys():
            return {"attribute": {f"{_MEMBERS[kinds.pop()]}s": [_scalar(item) for item in value]}}
    return {"error": ""}


def _scalar(value: Value) -> Any:
    return str(value) if type(value) is Semver else value
