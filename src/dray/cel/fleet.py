"""Many devices at once: a selector's verdicts as one array.

A DeviceTable holds what expressions read of its devices as columns, made when first read: for each
device the number of its value among the distinct ones. Fleets have few distinct values, so each
part of a selector between `&&`, `||`, `!` and `?:` is evaluated once per distinct combination of
what it reads, by the exact program on a device that has it, and the answer is spread over the
others.

The answers are ordered no < error < yes, which makes CEL's logic arithmetic: `&&` is the minimum,
`||` the maximum, `!` the difference to yes; false beats an error in the first, true in the second.
An error stays an answer until somebody visits that device: then `Selector.matches` raises what
upstream would report. Nothing here raises for a device nobody visits.

Evaluations that end rather than fail (upstream would crash, the budget is spent) are not absorbed
by `||` and do not fit this order; devices that meet one are asked about one by one.

The arithmetic is NumPy's: whoever does not ask about fleets need not import this module.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

try:
    import numpy as np
    from numpy.typing import NDArray
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "dray.cel.fleet needs NumPy: pip install '.[fleet]' in a checkout of dray",
        name=error.name,
    ) from error

from dray.cel._codegen import SURPRISES
from dray.cel._device import DeviceView
from dray.cel._environment import DEVICE_VARIABLE
from dray.cel._failures import Abort, Failure
from dray.cel._logic import And, Atom, Choice, Logic, Not, Or, atoms
from dray.cel._projections import reader
from dray.cel._references import Reference
from dray.cel._selector import Selector
from dray.cel._values import Value
from dray.errors import CELError

__all__ = ["DeviceTable", "Verdict", "Verdicts"]

COMBINATIONS_PER_DEVICE_MAX: Final = 4
"""Combined codes up to this many per device are counted in an array; beyond, they are sorted."""

EVALUATIONS_BEFORE_CODE_PAYS: Final = 200
"""Distinct combinations from which on code is made for a part."""


class Verdict(IntEnum):
    """What a selector says of a device, in the order that makes logic arithmetic."""

    NO = 0
    ERROR = 1
    YES = 2


Verdicts: TypeAlias = NDArray[np.uint8]
"""A Verdict for each device of a table."""

_Codes: TypeAlias = NDArray[np.int64]
_Ask: TypeAlias = Callable[[int], int | None]
"""The verdict on the device at an index; None if only the whole selector can tell."""


@dataclass(frozen=True, slots=True)
class _Column:
    """For each device the number of its value, of `count` distinct ones."""

    codes: _Codes
    count: int


class DeviceTable:
    """Devices side by side. The table does not change; a fleet that does gets a new one."""

    def __init__(self, views: Iterable[DeviceView]) -> None:
        self.views: Sequence[DeviceView] = tuple(views)
        self._failed = np.fromiter(
            (view.failure is not None for view in self.views), np.bool_, len(self.views)
        )
        self._columns: dict[Reference, _Column] = {}

    def __len__(self) -> int:
        return len(self.views)

    def verdicts(
        self, selector: Selector, *, cancelled: Callable[[], bool] | None = None
    ) -> Verdicts:
        """What the selector says of every device; ask `selector.matches` what an error is.

        `cancelled` is asked from time to time whether to give up, which raises a CELError.
        """
        inquiry = _Inquiry(self, selector, cancelled)
        logic = selector.logic
        found = inquiry.of_whole() if logic is None else inquiry.of_parts(logic)
        found[self._failed] = Verdict.ERROR
        return found

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Which devices cannot be read."""
        return self._failed

    def groups(self, read: Iterable[Reference]) -> tuple[_Codes, int, _Codes, _Codes]:
        """Devices grouped by what they have at some places.

        Each device's group, how many numbers there are, those in use, and a member of each.
        """
        # Devices that cannot be read are a group of their own, whatever is read.
        codes, count = self._failed.astype(np.int64), 2
        for reference in read:
            column = self._column(reference)
            codes = codes * column.count + column.codes
            count *= column.count
            if count > COMBINATIONS_PER_DEVICE_MAX * len(self):
                # Combinations that do not occur take no room once the codes are renumbered.
                used, codes = np.unique(codes, return_inverse=True)
                count = len(used)
        member_of = np.full(count, -1, np.int64)
        member_of[codes] = np.arange(len(self))
        groups = np.flatnonzero(member_of >= 0)
        return codes, count, groups, member_of[groups]

    def _column(self, reference: Reference) -> _Column:
        found = self._columns.get(reference)
        if found is None:
            found = self._columns[reference] = self._read(reference)
        return found

    def _read(self, reference: Reference) -> _Column:
        read = reader(reference)
        values: Iterable[Hashable] = (
            None if view.failure is not None else read(view.value) for view in self.views
        )
        numbers: dict[Hashable, int] = {}
        codes = [numbers.setdefault(value, len(numbers)) for value in values]
        return _Column(np.array(codes, np.int64), len(numbers))


class _Inquiry:
    """One selector asked about one table."""

    def __init__(
        self, table: DeviceTable, selector: Selector, cancelled: Callable[[], bool] | None
    ) -> None:
        self._table = table
        self._views = table.views
        self._selector = selector
        self._cancelled = cancelled
        self._undecided = np.zeros(len(table), np.bool_)
        self._share = 1

    def of_whole(self) -> Verdicts:
        return self._grouped(self._selector.references, self._ask_whole)

    def of_parts(self, logic: Logic) -> Verdicts:
        """What the parts say together; the whole is asked where they cannot tell."""
        self._share = sum(1 for _ in atoms(logic))
        found = self._combined(logic)
        answers: dict[Hashable, int] = {}
        for index in np.flatnonzero(self._undecided & ~self._table.failed).tolist():
            seen = self._selector.projection(self._views[index])
            if seen not in answers:
                answers[seen] = self._ask_whole(index)
            found[index] = answers[seen]
        return found

    def _ask_whole(self, index: int) -> int:
        try:
            return _YES if self._selector.matches(self._views[index]) else _NO
        except CELError:
            return _ERROR

    def _combined(self, logic: Logic) -> Verdicts:
        match logic:
            case And(left, right):
                return np.minimum(self._combined(left), self._combined(right))
            case Or(left, right):
                return np.maximum(self._combined(left), self._combined(right))
            case Not(operand):
                return np.subtract(np.uint8(_YES), self._combined(operand))
            case Choice(condition, truthy, falsy):
                chosen = self._combined(condition)
                found = np.where(chosen == _YES, self._combined(truthy), self._combined(falsy))
                found[chosen == _ERROR] = _ERROR
                return found
            case Atom():
                return self._grouped(logic.references, self._asking(logic), logic)

    def _asking(self, atom: Atom) -> _Ask:
        run, views, share = atom.program.run, self._views, self._share

        def ask(index: int) -> int | None:
            try:
                return _verdict(run({DEVICE_VARIABLE: views[index].value}, share=share))
            except Failure:
                return _ERROR
            except Abort:
                return None

        return ask

    def _asking_code(self, atom: Atom, ask: _Ask) -> _Ask:
        code, views = atom.code, self._views
        if code is None:
            return ask

        def ask_code(index: int) -> int | None:
            try:
                return _verdict(code(views[index].value))
            except SURPRISES:
                return ask(index)

        return ask_code

    def _grouped(self, read: Iterable[Reference], ask: _Ask, atom: Atom | None = None) -> Verdicts:
        """Ask about one device of each group that agrees in what is read, and tell the others."""
        if not len(self._table):
            return np.zeros(0, np.uint8)
        codes, count, groups, members = self._table.groups(read)
        if atom is not None and len(groups) > EVALUATIONS_BEFORE_CODE_PAYS:
            ask = self._asking_code(atom, ask)
        given: list[int] = []
        unreadable = self._table.failed[members].tolist()
        for group, member, failed in zip(
            groups.tolist(), members.tolist(), unreadable, strict=True
        ):
            if self._cancelled is not None and self._cancelled():
                raise CELError("operation interrupted", source=self._selector.expression)
            answer = _NO if failed else ask(member)
            if answer is None:
                self._undecided |= codes == group
                answer = _NO
            given.append(answer)
        answers = np.full(count, _NO, np.uint8)
        answers[groups] = given
        return answers[codes]


# Plain numbers where there is one per device: making an enum's member of each would take longer
# than asking.
_NO, _ERROR, _YES = map(int, (Verdict.NO, Verdict.ERROR, Verdict.YES))


def _verdict(value: Value) -> int:
    if value is True:
        return _YES
    return _NO if value is False else _ERROR
