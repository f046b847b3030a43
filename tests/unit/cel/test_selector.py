from __future__ import annotations

import pytest

from dray.cel import Environment, Selector, compile_selector
from dray.cel._selector import ASKED_BEFORE_CODE_IS_MADE
from dray.errors import CELError
from tests.unit.cel.devices import DRIVER, selector, version, view

GPU = view({"model": "A100", "index": 3, "flag": True}, {"memory": "40Gi"}, shared=True)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (f'device.driver == "{DRIVER}"', True),
        ('$D.model == "A100" && $K.memory.compareTo(quantity("40Gi")) >= 0', True),
        ('$D.model in ["H100", "B200"]', False),
        ("$D.flag", True),
        ("device.allowMultipleAllocations", True),
        ('$D.?nope.orValue("x") == "x"', True),
        ("dyn(optional.of(true))", True),
    ],
)
def test_a_device_fits_or_does_not(text: str, fits: bool) -> None:
    asked = selector(text)
    for _ in range(2 * ASKED_BEFORE_CODE_IS_MADE):
        assert asked.matches(GPU) is fits


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('$D.nope == "x"', "no such key: nope"),
        ("$D.model", "CEL result of type string could not be converted to bool"),
        ('$D.index.isGreaterThan(semver("1.0.0"))', "no such overload: isGreaterThan"),
    ],
)
def test_no_answer_is_an_error_before_and_after_code_is_made(text: str, why: str) -> None:
    asked = selector(text)
    for _ in range(2 * ASKED_BEFORE_CODE_IS_MADE):
        with pytest.raises(CELError, match=why):
            asked.matches(GPU)


def test_a_device_that_cannot_be_read_fits_nothing() -> None:
    with pytest.raises(CELError, match="attribute v: parse semantic version: "):
        selector("true").matches(view({"v": version("1.2")}))


def test_what_does_not_compile_is_no_selector() -> None:
    with pytest.raises(CELError, match="undefined field 'model'") as caught:
        Selector(compile_selector("device.model == 1", Environment()))
    assert caught.value.source == "device.model == 1"


def test_devices_that_look_alike_to_a_selector_project_alike() -> None:
    asked = selector('$D.model == "A100"')
    assert asked.projection(view({"model": "A100", "uuid": "1"})) == asked.projection(
        view({"model": "A100", "uuid": "2"})
    )
    assert asked.projection(view({"model": "A100"})) != asked.projection(view())


def test_a_selector_knows_what_it_reads() -> None:
    assert [str(place) for place in selector('$D.model == "A100"').references] == [
        f'device.attributes["{DRIVER}"].model'
    ]


def test_a_caller_who_has_left_gets_no_answer() -> None:
    long = selector("lists.range(300).all(x, [1, 2].exists(y, y == 2))")
    with pytest.raises(CELError, match="operation interrupted"):
        long.matches(GPU, cancelled=lambda: True)
