from __future__ import annotations

import pytest

from dray.api.quantity import Quantity
from dray.api.resource import Device, DeviceAttribute, DeviceCapacity
from dray.api.semver import Semver
from dray.cel import DeviceView, Environment, Reference, compile_selector
from dray.cel._nodes import Call
from dray.cel._readings import look, name_of, read, reference_of, show
from dray.cel._values import NONE, DerivedQuantity, Duration, Optional, UInt, Value

VIEW = DeviceView.of(
    "gpu.example.com",
    Device(
        attributes={"model": DeviceAttribute(string_value="A100")},
        capacity={"memory": DeviceCapacity(value=Quantity.parse("24Gi"))},
    ),
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "true"),
        (8, "8"),
        (UInt(8), "8u"),
        ("A100", '"A100"'),
        ('a"\n', r'"a\"\n"'),
        (None, "null"),
        (Quantity.parse("24Gi"), "24Gi"),
        (DerivedQuantity(Quantity.parse("1")), "1"),
        (Semver.parse("1.2.3"), "1.2.3"),
        (["a", 1], '["a", 1]'),
        ([[1]], "[[…]]"),
        (list(range(9)), "[0, 1, 2, 3, 4, 5, … 3 more]"),
        ({"a": 1, "b": 2}, "{a, b}"),
        (Optional("x"), '"x"'),
        (NONE, "none"),
        (Duration(1), "a google.protobuf.Duration"),
    ],
    ids=str,
)
def test_a_value_is_shown_in_short(value: Value, shown: str) -> None:
    assert show(value) == shown


def test_what_is_shown_is_bounded() -> None:
    assert len(show("x" * 10_000)) < 100
    assert len(show(["x" * 10_000] * 1000)) < 1000


@pytest.mark.parametrize(
    ("reference", "shown", "missing"),
    [
        (Reference("driver"), '"gpu.example.com"', False),
        (Reference("attributes", "gpu.example.com", "model"), '"A100"', False),
        (Reference("capacity", "gpu.example.com", "memory"), "24Gi", False),
        (Reference("attributes", "gpu.example.com", "nope"), "missing", True),
        (Reference("attributes", "other", "model"), "missing", True),
        (Reference("attributes", "gpu.example.com"), "{model}", False),
        (Reference("attributes"), "{gpu.example.com}", False),
    ],
    ids=str,
)
def test_a_reading_is_what_the_device_has_there(
    reference: Reference, shown: str, missing: bool
) -> None:
    reading = read(VIEW, reference)
    assert (reading.shown, reading.missing) == (shown, missing)


def test_a_device_that_cannot_be_read_has_nothing() -> None:
    assert look(DeviceView(None, "broken"), Reference("driver")) == (None, False)


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        (Reference("attributes", "d", "model"), "model"),
        (Reference("attributes", "e", "model"), "e/model"),
        (Reference("attributes", "e"), "attributes of e"),
        (Reference("capacity", "e"), "capacity of e"),
        (Reference("driver"), "driver"),
    ],
    ids=str,
)
def test_a_place_has_a_short_name_in_its_own_domain(reference: Reference, name: str) -> None:
    assert name_of(reference, "d") == name


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('device.attributes["d"].x == 1', 'device.attributes["d"].x'),
        ("device.attributes.d.x == 1", 'device.attributes["d"].x'),
        ('device.attributes["d"]["x"] == 1', 'device.attributes["d"].x'),
        ('device.driver == ""', "device.driver"),
        ("device.attributes[device.driver].x == 1", None),
        ('device.attributes["d"].x.y == 1', None),
        ("size(device.driver) == 1", None),
        ("1 == 1", None),
    ],
)
def test_a_node_may_name_a_place(text: str, path: str | None) -> None:
    checked = compile_selector(text, Environment()).checked
    assert checked is not None
    assert isinstance(checked.root, Call)
    reference = reference_of(checked.root.arguments[0], ())
    assert (None if reference is None else str(reference)) == path
