from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.api.quantity import Quantity
from dray.api.resource import Device, DeviceAttribute, DeviceCapacity
from dray.api.semver import Semver
from dray.cel._device import DeviceView, device_value
from dray.cel._failures import Failure
from dray.cel._values import MapWithDefault, Value

DRIVER = "gpu.example.com"


def attributes_of(**attributes: DeviceAttribute) -> Value:
    return device_value(DRIVER, attributes, {})["attributes"]


def text(value: str) -> DeviceAttribute:
    return DeviceAttribute(string_value=value)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        pytest.param(DeviceAttribute(int_value=0), 0, id="int"),
        pytest.param(DeviceAttribute(bool_value=False), False, id="bool"),
        pytest.param(DeviceAttribute(string_value=""), "", id="string"),
        pytest.param(DeviceAttribute(version_value="1.2.3"), Semver(1, 2, 3), id="version"),
        pytest.param(DeviceAttribute(int_values=(1, 2)), [1, 2], id="ints"),
        pytest.param(DeviceAttribute(bool_values=(True,)), [True], id="bools"),
        pytest.param(DeviceAttribute(string_values=()), [], id="strings"),
        pytest.param(DeviceAttribute(version_values=("1.0.0",)), [Semver(1, 0, 0)], id="versions"),
    ],
)
def test_an_attribute_has_the_value_that_is_set(attribute: DeviceAttribute, value: Value) -> None:
    found = attributes_of(model=attribute)[DRIVER]["model"]
    assert (type(found), found) == (type(value), value)


MEMBERS: dict[str, Value] = {
    "int_values": (1,),
    "bool_values": (True,),
    "string_values": ("a",),
    "version_values": ("1.0.0",),
    "int_value": 1,
    "bool_value": True,
    "string_value": "a",
    "version_value": "1.0.0",
}
"""In the order in which upstream looks for the one that is set."""


@given(st.sets(st.sampled_from(list(MEMBERS)), min_size=1))
def test_of_several_values_the_first_in_upstreams_order_counts(chosen: set[str]) -> None:
    several = DeviceAttribute(**{name: MEMBERS[name] for name in chosen})
    first = next(name for name in MEMBERS if name in chosen)
    alone = DeviceAttribute(**{first: MEMBERS[first]})
    assert attributes_of(model=several) == attributes_of(model=alone)


@pytest.mark.parametrize(
    ("attribute", "failure"),
    [
        pytest.param(DeviceAttribute(), "unsupported attribute value", id="no-value"),
        pytest.param(
            DeviceAttribute(version_value="1.2"),
            "parse semantic version: No Major.Minor.Patch elements found",
            id="no-version",
        ),
        pytest.param(
            DeviceAttribute(version_values=("1.0.0", "")),
            "parse semantic version: Version string empty",
            id="one-of-several-no-version",
        ),
    ],
)
@pytest.mark.parametrize("name", ["odd", "example.com/odd"])
def test_an_attribute_that_cannot_be_read_fails_the_device(
    name: str, attribute: DeviceAttribute, failure: str
) -> None:
    attributes = {"model": text("H100"), name: attribute}
    view = DeviceView.of(DRIVER, Device(name="gpu-0", attributes=attributes))
    assert view.failure == f"attribute {name}: {failure}"
    with pytest.raises(Failure, match=name):
        device_value(DRIVER, attributes, {})


def test_names_without_a_domain_belong_to_the_drivers() -> None:
    value = device_value(
        DRIVER,
        {"model": text("H100"), "example.com/model": text("other"), "example.com/a/b": text("c")},
        {"memory": DeviceCapacity(value=Quantity.parse("80Gi"))},
    )
    assert value["attributes"] == {
        DRIVER: {"model": "H100"},
        "example.com": {"model": "other", "a/b": "c"},
    }
    assert value["capacity"] == {DRIVER: {"memory": Quantity.parse("80Gi")}}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["model", f"{DRIVER}/model"], id="plain-first"),
        pytest.param([f"{DRIVER}/model", "model"], id="plain-last"),
    ],
)
def test_of_two_names_for_one_thing_the_one_with_the_domain_wins(names: list[str]) -> None:
    attributes = {name: text(name) for name in names}
    capacity = {name: DeviceCapacity(value=Quantity.parse(str(len(name)))) for name in names}
    value = device_value(DRIVER, attributes, capacity)
    full = f"{DRIVER}/model"
    assert value["attributes"] == {DRIVER: {"model": full}}
    assert value["capacity"] == {DRIVER: {"model": Quantity.parse(str(len(full)))}}


def test_the_drivers_domain_comes_first() -> None:
    attributes = {"b.example.com/x": text("1"), "model": text("2"), "a.example.com/x": text("3")}
    found = device_value(DRIVER, attributes, {})["attributes"]
    assert list(found) == [DRIVER, "b.example.com", "a.example.com"]


def test_an_unknown_domain_is_empty_and_no_domain_is_made_up() -> None:
    value = device_value(DRIVER, {}, {})
    for by_domain in (value["attributes"], value["capacity"]):
        assert type(by_domain) is MapWithDefault
        assert by_domain["unknown"] == {}
        assert len(by_domain) == 0


@pytest.mark.parametrize(("set_to", "seen"), [(None, False), (False, False), (True, True)])
def test_sharing_is_off_unless_said(set_to: bool | None, seen: bool) -> None:
    view = DeviceView.of(DRIVER, Device(name="gpu-0", allow_multiple_allocations=set_to))
    assert view.failure is None
    assert view.value["allowMultipleAllocations"] is seen
    assert view.value["driver"] == DRIVER
