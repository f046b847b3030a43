"""Evaluating expressions that are deeper than a stack.

Steps call each other, a few Python calls per level of the tree, and Python lets a thousand nest. So
a tall tree is cut into pieces, and each piece runs on the stack of a thread of its own while the
caller waits for it. The answer is the same however deep the caller already is. No selector written
by hand is tall enough to be cut.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from inspect import currentframe
from queue import SimpleQueue
from threading import Thread
from typing import Final

from dray.cel._attributes import Step
from dray.cel._failures import Abort, Failure
from dray.cel._frame import Frame
from dray.cel._nodes import (
    Broken,
    Call,
    Comprehension,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    MessageLiteral,
    Node,
    Select,
)
from dray.cel._values import Value

__all__ = ["HEIGHT_ON_ONE_STACK_MAX", "children", "heights", "is_deep", "on_fresh_stack"]

HEIGHT_ON_ONE_STACK_MAX: Final = 50
"""Levels of the tree between two cuts. One takes at most five calls, and a few cuts may be missed
where the levels are parts of one path; a thousand calls are never reached."""


def heights(root: Node) -> dict[int, int]:
    """The height of every node's tree, by id; a leaf has none and is left out."""
    found: dict[int, int] = {}
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, seen = waiting.pop()
        below = children(node)
        if seen:
            found[node.id] = 1 + max((found.get(child.id, 0) for child in below), default=0)
        elif below:
            waiting.append((node, True))
            waiting.extend((child, False) for child in below)
    return found


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below one."""
    return _CHILDREN[type(node)](node)


def _call_children(node: Call) -> tuple[Node, ...]:
    return node.arguments if node.target is None else (node.target, *node.arguments)


_CHILDREN: Final[dict[type, Callable[..., tuple[Node, ...]]]] = {
    Literal: lambda _: (),
    Identifier: lambda _: (),
    Broken: lambda _: (),
    Select: lambda node: (node.operand,),
    Call: _call_children,
    ListLiteral: lambda node: node.elements,
    MapLiteral: lambda node: tuple(
        part for entry in node.entries for part in (entry.key, entry.value)
    ),
    MessageLiteral: lambda node: tuple(field.value for field in node.fields),
    Comprehension: lambda node: (
        node.range,
        node.initial,
        node.condition,
        node.step,
        node.result,
    ),
}


CALLS_ON_ONE_STACK_MAX: Final = 400
"""Calls after which what may be deep itself gets a stack of its own: Python lets 1,000 nest, and a
piece of a tree between two cuts takes 250."""


def is_deep() -> bool:
    """Whether this stack has come to where something deep had better go on elsewhere."""
    frame = currentframe()
    for _ in range(CALLS_ON_ONE_STACK_MAX):
        if frame is None:
            return False
        frame = frame.f_back
    return frame is not None


def on_fresh_stack(step: Step) -> Step:
    """The same step, but for the stack it uses."""

    def hop(frame: Frame) -> Value:
        try:
            worker = _IDLE.pop()
        except IndexError:
            worker = _Worker()
        try:
            value = worker.run(step, frame)
        except (Failure, Abort):
            _release(worker)
            raise
        _release(worker)
        return value

    return hop


def _release(worker: _Worker) -> None:
    if len(_IDLE) < IDLE_MAX:
        _IDLE.append(worker)
    else:
        worker.stop()


IDLE_MAX: Final = 16
"""Threads kept for the next hop: making one takes longer than most evaluations."""


class _Worker:
    """A thread that works for whoever holds it, one step at a time."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[tuple[Future[Value], Step, Frame] | None] = SimpleQueue()
        Thread(target=self._work, name="cel", daemon=True).start()

    def run(self, step: Step, frame: Frame) -> Value:
        answer: Future[Value] = Future()
        self._tasks.put((answer, step, frame))
        return answer.result()

    def stop(self) -> None:
        self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            answer, step, frame = task
            try:
                answer.set_result(step(frame))
            except (Failure, Abort) as error:
                answer.set_exception(error)
            finally:
                # Whatever else ends the thread must not leave the caller waiting.
                if not answer.done():
                    answer.cancel()
            del task, answer, frame


_IDLE: Final[list[_Worker]] = []
