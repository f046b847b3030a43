from __future__ import annotations

import importlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cel import DeviceView, Selector, compile_selector
from dray.cel._program import Program
from dray.cel._values import Value
from dray.cel.fleet import EVALUATIONS_BEFORE_CODE_PAYS, DeviceTable, Verdict
from dray.errors import CELError
from tests.unit.cel.devices import STORED, selector, version, view
from tests.unit.cel.expressions import devices, selectors

MODELS = ("A100", "H100", "L4")
NO, ERROR, YES = Verdict.NO, Verdict.ERROR, Verdict.YES


def verdicts(text: str, *views: DeviceView) -> list[int]:
    found: list[int] = DeviceTable(views).verdicts(selector(text)).tolist()
    return found


def one_by_one(asked: Selector, views: list[DeviceView]) -> list[int]:
    found: list[int] = []
    for device in views:
        try:
            found.append(YES if asked.matches(device) else NO)
        except CELError:
            found.append(ERROR)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('$D.model == "A100"', [YES, NO, ERROR]),
        ('$D.model == "A100" || true', [YES, YES, YES]),
        ('$D.model == "A100" && false', [NO, NO, NO]),
        ('!($D.model == "A100")', [NO, YES, ERROR]),
        ('has($D.model) ? $D.model == "A100" : false', [YES, NO, NO]),
        ('has($D.model) && $D.model == "A100"', [YES, NO, NO]),
        ('$D.model == "A100" ? true : false', [YES, NO, ERROR]),
        ("true", [YES, YES, YES]),
        ("$D.model", [ERROR, ERROR, ERROR]),
    ],
)
def test_logic_is_arithmetic_on_no_error_yes(text: str, expected: list[int]) -> None:
    assert verdicts(text, view({"model": "A100"}), view({"model": "H100"}), view()) == expected


@pytest.mark.parametrize("text", ["true", "device.driver != ''", "$D.?x.hasValue() || true"])
def test_a_device_that_cannot_be_read_is_an_error_and_harms_no_other(text: str) -> None:
    broken = view({"v": version("1.2")})
    assert verdicts(text, view(), broken, view()) == [YES, ERROR, YES]
    assert verdicts(text, view(), broken) == [YES, ERROR]


def test_what_ends_an_evaluation_is_not_absorbed() -> None:
    """Upstream crashes on a version sought among texts, whatever `||` has on its other side."""
    views = view({"v": version("1.2.3")}), view({"v": "1.2.3"})
    assert verdicts('$D.v in ["1.2.3"] || true', *views) == [ERROR, YES]
    assert verdicts('true || $D.v in ["1.2.3"]', *views) == [YES, YES]


def test_an_error_is_raised_only_for_who_visits_the_device() -> None:
    asked = selector('$D.model == "A100"')
    table = DeviceTable([view({"model": "A100"}), view()])
    assert table.verdicts(asked).tolist() == [YES, ERROR]
    with pytest.raises(CELError, match="no such key: model"):
        asked.matches(table.views[1])


def test_an_empty_fleet_has_no_verdicts() -> None:
    assert verdicts("$D.x == 1") == []


def test_many_distinct_values_are_no_obstacle() -> None:
    count = 3 * EVALUATIONS_BEFORE_CODE_PAYS
    views = [view({"uuid": f"u{n}", "index": n, "model": MODELS[n % 3]}) for n in range(count)]
    asked = selector('$D.uuid == "u7" || ($D.index < 5 && $D.uuid != $D.model)')
    assert DeviceTable(views).verdicts(asked).tolist() == one_by_one(asked, views)


def test_a_selector_that_may_exceed_its_budget_is_asked_as_a_whole() -> None:
    views = [view(capacity={"m": amount}) for amount in ("1", "2", "1")]
    assert DeviceTable(views).verdicts(selector('$K.m != quantity("1")')).tolist() == [NO, YES, NO]


def test_each_distinct_value_is_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = selector("$D.model.startsWith('A')")
    views = [view({"model": MODELS[n % 3], "uuid": str(n)}) for n in range(300)]
    evaluations: list[Program] = []
    run = Program.run

    def counting(program: Program, variables: dict[str, Value], *, share: int) -> Value:
        evaluations.append(program)
        return run(program, variables, share=share)

    monkeypatch.setattr(Program, "run", counting)
    DeviceTable(views).verdicts(asked)
    assert len(evaluations) == 3


@given(selectors, st.lists(devices(), min_size=1, max_size=8))
def test_columns_say_what_asking_one_by_one_says(text: str, views: list[DeviceView]) -> None:
    compilation = compile_selector(text, STORED)
    if not compilation.ok:
        return
    asked = Selector(compilation)
    assert DeviceTable(views).verdicts(asked).tolist() == one_by_one(asked, views), text


def test_without_numpy_the_import_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, "dray.cel.fleet")
    with pytest.raises(ModuleNotFoundError, match=r"needs NumPy: pip install '\.\[fleet\]'"):
        importlib.import_module("dray.cel.fleet")
