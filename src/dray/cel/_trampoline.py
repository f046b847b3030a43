"""Recursion that uses no stack.

An expression may nest 250 deep and its tree a few thousand, more than Python's stack allows. So
whatever walks a tree is written as a generator that yields the walk of each child and gets its
answer back; `run` drives it with a list for a stack. An exception ends the whole run.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

__all__ = [
    "Answer",
    "Steps",
    "done",
    "run",
]

Answer = TypeVar("Answer")

Steps: TypeAlias = Generator["Steps[Any]", Any, Answer]


class _Done(Generator[Any, Any, Answer]):
    """A walk that is over before it starts: `run` takes its answer without starting it."""

    __slots__ = ("answer",)

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def send(self, _: Any) -> Any:
        raise StopIteration(self.answer)

    def throw(self, *_: Any) -> Any:
        raise StopIteration(self.answer)


def done(answer: Answer) -> Steps[Answer]:
    """A walk that is over before it starts."""
    return _Done(answer)


def run(steps: Steps[Answer]) -> Answer:
    """What `steps` returns."""
    stack: list[Steps[Any]] = [steps]
    answer: Any = None
    while True:
        try:
            child = stack[-1].send(answer)
        except StopIteration as done:
            stack.pop()
            if not stack:
                result: Answer = done.value
                return result
            answer = done.value
        else:
            if type(child) is _Done:
                answer = child.answer
            else:
                stack.append(child)
                answer = None
