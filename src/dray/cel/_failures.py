"""How an evaluation ends without a value.

A Failure is CEL's own error: `&&`, `||`, `all`, `exists` and `!=` may absorb it, whatever else
meets it passes it on. An Abort ends the whole evaluation and nothing absorbs it: the budget is
spent, the caller has lost interest, or upstream would have crashed at this point.

Upstream counterparts: cel-go common/types/err.go; what its program.Eval recovers from.
"""

from __future__ import annotations

from dray.cel._values import Value, type_of

__all__ = ["Abort", "Failure", "no_such_overload"]


class Failure(Exception):
    """An error value of CEL; the text is upstream's."""


class Abort(Exception):
    """The evaluation cannot go on; the text is upstream's where upstream has one."""


def no_such_overload(function: str, *arguments: Value) -> Failure:
    """What a function of a library answers to arguments it does not take.

    Operators and the functions of the standard library say `no such overload` and no more.
    """
    shown = ", ".join(type_of(argument).name for argument in arguments)
    return Failure(f"no such overload: {function}({shown})")
