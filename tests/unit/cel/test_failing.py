from __future__ import annotations

import pytest

from dray.api.resource import Device, DeviceAttribute
from dray.cel import (
    DeviceView,
    Environment,
    Selector,
    compile_selector,
    failing_issue,
    render_failing,
)

VIEW = DeviceView.of("d", Device(attributes={"model": DeviceAttribute(string_value="A")}))
A = 'device.attributes["d"]'


def selector(text: str) -> Selector:
    return Selector(compile_selector(text, Environment(stored=True)))


@pytest.mark.parametrize(
    ("text", "before"),
    [
        (f"{A}.nope == 1", A),
        (f"true && ({A}.nope == 1)", f"true && ({A}"),
        (
            f"cel.bind(a, {A}, a.model == 'A' && a.nope)",
            f"cel.bind(a, {A}, a.model == 'A' && a",
        ),
        (f"{A}.model < 5", f"{A}.model "),
        (f"'x' == {A}['nope']", f"'x' == {A}"),
        (f"[{A}.nope].exists(x, x == 2)", f"[{A}"),
        (f"{{'a': {A}.nope}}.a == 1", f"{{'a': {A}"),
        (f"[1, 2].all(x, x == {A}.nope)", f"[1, 2].all(x, x == {A}"),
        (f"[{A}].all(x, x.nope == 2)", f"[{A}].all"),
        (f"true && {A}.model", f"true && {A}"),
        (f"{A}.model.startsWith({A}.nope)", f"{A}.model.startsWith({A}"),
    ],
)
def test_the_place_is_that_of_the_smallest_failing_part(text: str, before: str) -> None:
    issue = failing_issue(selector(text), VIEW)
    assert issue is not None
    assert (issue.line, issue.column) == (1, len(before))


def test_the_place_is_shown_as_for_compile_errors() -> None:
    chosen = selector("true &&\n  device.attributes['d'].nope == 1")
    issue = failing_issue(chosen, VIEW)
    assert issue is not None
    assert render_failing(chosen, issue).split("\n") == [
        "ERROR: <input>:2:25: no such key: nope",
        " |   device.attributes['d'].nope == 1",
        " | ........................^",
    ]


def test_what_does_not_fail_has_no_place() -> None:
    assert failing_issue(selector("true"), VIEW) is None
    assert failing_issue(selector("false"), VIEW) is None
    assert failing_issue(selector("true"), DeviceView(None, "broken")) is None


def test_a_giant_is_not_searched() -> None:
    text = " || ".join(["device.attributes.d.n == 1"] * 340)
    assert failing_issue(selector(text), VIEW) is None
