"""Kinds of devices, and what makes an individual."""

from __future__ import annotations

from dray.allocator.models import VALUES_MAX, Models, SliceModel
from dray.allocator.pools import SliceRecord
from dray.api.resource import Counter, Device, DeviceAttribute, DeviceCounterConsumption
from tests.unit.allocator.builders import DRIVER, amount, capacity, device, slice_, taint


def model_of(models: Models, *devices: Device, sequence: int = 1) -> SliceModel:
    return models.of(SliceRecord(slice_(*devices), sequence))


def learned() -> Models:
    """Models that know serial numbers for what they are."""
    models = Models()
    for number in range(VALUES_MAX + 1):
        model_of(models, device(attributes={"model": "a", "uuid": str(number)}), sequence=number)
    return models


def test_names_are_no_part_of_a_model() -> None:
    models = Models()
    one = model_of(models, device("gpu-0", attributes={"model": "a"}))
    other = model_of(models, device("gpu-7", attributes={"model": "a"}), sequence=2)
    assert one is other


def test_devices_that_differ_in_anything_else_are_two_models() -> None:
    counters = DeviceCounterConsumption(
        counter_set="set", counters={"memory": Counter(value=amount("1"))}
    )
    kinds = [
        device(attributes={"model": "a"}),
        device(attributes={"model": "b"}),
        device(capacity={"memory": "1"}),
        device(capacity={"memory": capacity("1", default="1")}),
        device(taints=(taint(),)),
        device(consumes_counters=(counters,)),
        device(allow_multiple_allocations=True),
        device(binding_conditions=("ready",)),
    ]
    models = Models()
    found = {model_of(models, kind, sequence=n).index for n, kind in enumerate(kinds)}
    assert len(found) == len(kinds)


def test_an_attribute_with_many_values_is_individual() -> None:
    models = learned()
    assert models.individual(DRIVER) == {"uuid"}
    one = model_of(models, device(attributes={"model": "a", "uuid": "x"}), sequence=1000)
    other = model_of(models, device(attributes={"model": "a", "uuid": "y"}), sequence=1001)
    assert one is other


def test_what_is_individual_for_one_driver_is_not_for_another() -> None:
    assert learned().individual("nic.example.com") == frozenset()


def test_a_slice_seen_before_its_attribute_proved_individual_is_looked_at_again() -> None:
    models = Models()
    early = SliceRecord(slice_(device(attributes={"model": "a", "uuid": "early"})), 5000)
    before = models.of(early)
    for number in range(VALUES_MAX + 1):
        model_of(models, device(attributes={"model": "a", "uuid": str(number)}), sequence=number)
    after = models.of(early)
    assert after is not before
    assert after is model_of(models, device(attributes={"model": "a", "uuid": "z"}), sequence=9)


def test_an_individual_value_that_cannot_be_read_makes_another_model() -> None:
    models = learned()
    fine = model_of(models, device(attributes={"model": "a", "uuid": "x"}), sequence=1000)
    unset = device(attributes={"model": "a", "uuid": DeviceAttribute()})
    assert model_of(models, unset, sequence=1001) is not fine


def test_a_changed_slice_is_looked_at_again() -> None:
    models = Models()
    assert model_of(models, device(attributes={"model": "a"})) is not model_of(
        models, device(attributes={"model": "b"})
    )


def test_a_forgotten_slice_has_the_model_it_had() -> None:
    models = Models()
    record = SliceRecord(slice_(device()), 1)
    before = models.of(record)
    models.forget(1)
    models.forget(1)
    assert models.of(record) is before
