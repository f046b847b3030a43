from __future__ import annotations

from dray.api.resource import Device, DeviceAttribute, DeviceID
from dray.cel import DeviceView, Environment, Selector, compile_selector, hints
from dray.cli.cel_report import TOO_COMPLEX, Answer, lines_of
from dray.cli.devices import Found
from dray.cli.trial import try_on


def answer(text: str, devices: list[Found]) -> Answer:
    compilation = compile_selector(text, Environment())
    selector = Selector(compilation)
    views = [one.view for one in devices]
    return Answer(compilation, selector, hints(compilation, views), try_on(selector, devices))


def found(number: int) -> Found:
    attributes = {"x": DeviceAttribute(int_value=number)}
    return Found(
        DeviceID("d", "p", f"n{number}"), DeviceView.of("d", Device(attributes=attributes))
    )


def test_long_lists_are_cut_and_the_rest_is_counted() -> None:
    said = list(lines_of(answer("device.attributes['d'].x == 1000", [found(n) for n in range(50)])))
    assert said[-1] == "          46  the same with 46 other values"
    assert len(said) < 20


def test_a_condition_with_many_values_does_not_hide_the_next() -> None:
    text = "device.attributes['d'].x < 40 && device.driver == 'e'"
    said = list(lines_of(answer(text, [found(n) for n in range(50)])))
    assert said[-2:] == [
        "           6  the same with 6 other values",
        '          40  driver is "d", wanted "e" (p/n0, p/n1, p/n2, …)',
    ]


def test_many_names_are_not_all_shown() -> None:
    said = list(lines_of(answer("true", [found(n) for n in range(50)])))
    assert said[-1] == "match     50  p/n0, p/n1, p/n2, p/n3, p/n4, …"


def test_a_hint_is_given_once_where_it_belongs() -> None:
    said = list(lines_of(answer("device.attributes['d'].?y.orValue(0) == 1", [found(1)])))
    assert said[-2:] == [
        'absent    no device has device.attributes["d"].y',
        "  hint    y is not among the attributes of d: x",
    ]
    assert sum("hint" in line for line in said) == 1


def test_what_may_cost_too_much_is_refused_in_a_servers_words() -> None:
    refused = answer("['a'].join(',') == device.driver", [])
    assert not refused.accepted
    assert refused.refusal == TOO_COMPLEX
    assert "cost      unknown, and 1,000,000 is the limit" in list(lines_of(refused))
