from __future__ import annotations

from dray.api.resource import Device, DeviceAttribute, DeviceID
from dray.cel import DeviceView, Environment, Selector, compile_selector
from dray.cli.devices import Found
from dray.cli.trial import EXAMPLES_MAX, TABLE_MIN, try_on


def found(name: str, driver: str = "d", **cores: int) -> Found:
    attributes = {key: DeviceAttribute(int_value=value) for key, value in cores.items()}
    return Found(DeviceID(driver, "p", name), DeviceView.of(driver, Device(attributes=attributes)))


def selector(text: str) -> Selector:
    return Selector(compile_selector(text, Environment()))


CORES = 'device.attributes["d"].cores'


def test_every_device_is_counted_once() -> None:
    devices = [found(f"a{n}", cores=n % 3) for n in range(60)] + [found("b"), found("c", "e")]
    trial = try_on(selector(f"{CORES} == 2"), devices)
    assert (len(trial.matched), trial.unmatched, trial.failed, trial.total) == (20, 40, 2, 62)
    assert [(one.text, one.count) for one in trial.reasons] == [
        ("cores is 0, wanted 2", 20),
        ("cores is 1, wanted 2", 20),
    ]
    assert all(len(one.examples) == EXAMPLES_MAX for one in trial.reasons)


def test_reasons_come_in_the_order_of_the_conditions() -> None:
    devices = [found("a", "e", cores=1), found("b", cores=1), found("c", cores=1)]
    trial = try_on(selector(f'{CORES} == 2 && device.driver == "d"'), devices)
    assert [(one.conjunct, one.count) for one in trial.reasons] == [(0, 2), (1, 1)]


def test_an_error_has_a_place_and_advice_for_each_driver() -> None:
    devices = [found("a", cores=2), found("b"), found("c", "e")]
    (failed,) = try_on(selector(f"{CORES} == 2"), devices).errors
    assert (failed.text, failed.count) == ("no such key: cores", 2)
    assert failed.issue is not None
    assert failed.issue.column == CORES.index(".cores")
    assert [hint.text for hint in failed.hints] == [
        "not every device has it; this is false without it",
        "or with a default",
        "devices of driver e do not have it; this asks for the driver first",
    ]


def test_names_of_no_device_are_told() -> None:
    trial = try_on(selector('device.attributes["d"].?core.orValue(1) == 2'), [found("a", cores=1)])
    assert [str(one) for one in trial.absent] == ['device.attributes["d"].core']


def test_no_devices_are_no_trouble() -> None:
    trial = try_on(selector("true"), [])
    assert (trial.total, trial.reasons, trial.errors, trial.absent) == (0, (), (), ())


def test_many_devices_get_the_answers_that_few_get() -> None:
    devices = [found(f"a{n}", cores=n % 3) for n in range(TABLE_MIN)] + [found("b")]
    text = selector(f"{CORES} == 2 || {CORES} == 1 && 2 / {CORES} > 1")
    many = try_on(text, devices)
    few = [try_on(text, devices[low : low + 50]) for low in range(0, len(devices), 50)]
    assert len(many.matched) == sum(len(one.matched) for one in few)
    assert many.failed == sum(one.failed for one in few) == 1
    assert many.unmatched == sum(one.unmatched for one in few)


def test_what_helps_every_device_comes_first() -> None:
    devices = [found("c", "e"), found("b"), found("a", cores=2)]
    (failed,) = try_on(selector(f"{CORES} == 2"), devices).errors
    assert len(failed.hints) == 3
    assert failed.hints[0].expression is not None
    first = selector(failed.hints[0].expression)
    assert [first.matches(one.view) for one in devices] == [False, False, True]


def test_one_mistake_is_told_once_for_all_drivers() -> None:
    devices = [found("c", "e"), found("b"), found("a", cores=2)]
    (hint,) = next(
        failed.hints
        for failed in try_on(selector(f'{CORES} == "2"'), devices).errors
        if failed.count == 2
    )
    assert hint.text.startswith("cores is a number (2)")
    assert hint.expression == f"has({CORES}) && {CORES} == 2"
