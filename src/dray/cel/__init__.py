"""Kubernetes' dialect of CEL for devices: compiling expressions, evaluating and explaining them.

An expression is compiled once, when an object that holds it is admitted or read, and gives either
a program with its worst-case cost or an error that reads as Kubernetes' own:

    text → tokens → tree (macros expanded) → types → literals → steps → cost
           _lexer   _parser _builder _macros  _checker _validate  _planner _cost

A Selector asks the program about one device at a time, `fleet` about many at once; `explain` says
which condition decided and `hints` what to write instead.

What may live here: the language, the functions Kubernetes gives it, the shape of a device. No
I/O, no clock; an answer depends on its arguments alone.
"""

from __future__ import annotations

from dray.cel._compiler import (
    Compilation,
    CompileError,
    compile_derived_attribute,
    compile_selector,
)
from dray.cel._conjuncts import Conjunct, Decision, Explanation, conjuncts, explain
from dray.cel._derived import DerivedAttribute
from dray.cel._device import DeviceView
from dray.cel._environment import Environment
from dray.cel._failing import failing_issue, render_failing
from dray.cel._hints import Hint, absent_references, hints, hints_for_error
from dray.cel._limits import COST_UNKNOWN, EXPRESSION_LENGTH_MAX, SELECTOR_COST_MAX
from dray.cel._nodes import CheckedExpression
from dray.cel._readings import Reading
from dray.cel._references import Reference
from dray.cel._requirements import Requirement, describe, requirement
from dray.cel._selector import Selector
from dray.cel._source import Issue
from dray.cel._types import Type

__all__ = [
    "COST_UNKNOWN",
    "EXPRESSION_LENGTH_MAX",
    "SELECTOR_COST_MAX",
    "CheckedExpression",
    "Compilation",
    "CompileError",
    "Conjunct",
    "Decision",
    "DerivedAttribute",
    "DeviceView",
    "Environment",
    "Explanation",
    "Hint",
    "Issue",
    "Reading",
    "Reference",
    "Requirement",
    "Selector",
    "Type",
    "absent_references",
    "compile_derived_attribute",
    "compile_selector",
    "conjuncts",
    "describe",
    "explain",
    "failing_issue",
    "hints",
    "hints_for_error",
    "render_failing",
    "requirement",
]
