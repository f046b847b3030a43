"""Opaque parameters: any JSON object, within a size."""

from __future__ import annotations

import msgspec
import pytest

from dray.api.resource import OpaqueDeviceConfiguration
from dray.validation.opaque import (
    OPAQUE_PARAMETERS_BYTES_MAX,
    check_device_configuration,
    check_raw_object,
    declare_device_configuration,
)
from tests.unit.validation.builders import told


def raw(text: str | None) -> msgspec.Raw | None:
    return None if text is None else msgspec.Raw(text.encode())


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("{}", None),
        (' {"a": [1, null]} ', None),
        (None, "Required value"),
        ("", "Required value"),
        ("null", "Required value"),
        (" null ", "Required value"),
        ("[]", 'Invalid value: "<value omitted>": must be a valid JSON object'),
        ("1", 'Invalid value: "<value omitted>": must be a valid JSON object'),
        ('"' + "x" * 30 + '"', "Too long: may not be more than 30 bytes"),
    ],
)
def test_parameters_are_a_json_object(text: str | None, body: str | None) -> None:
    expected = [] if body is None else [f"p: {body}"]
    assert told(check_raw_object, raw(text), "p", bytes_max=30) == expected


@pytest.mark.parametrize("text", ["{", "{'a': 1}", "[" * 5000, '{"a": 1e999}'])
def test_what_is_no_json_is_told_as_such(text: str) -> None:
    (found,) = told(check_raw_object, raw(text), "p", bytes_max=10_000)
    assert found.startswith('p: Invalid value: "<value omitted>": error parsing data as JSON: ')


def test_stored_parameters_may_be_longer() -> None:
    value = raw('{"a": "' + "x" * 30 + '"}')
    assert told(check_raw_object, value, "p", bytes_max=30, stored=True) == []


def test_a_configuration_without_content_is_required() -> None:
    assert told(check_device_configuration, None, "c", stored=False) == ["c.opaque: Required value"]
    assert told(declare_device_configuration, None, "c") == []


def test_a_configuration_names_its_driver_and_its_parameters() -> None:
    value = '{"a": "' + "x" * OPAQUE_PARAMETERS_BYTES_MAX + '"}'
    opaque = OpaqueDeviceConfiguration(driver="", parameters=raw(value))
    assert told(check_device_configuration, opaque, "c", stored=False) == [
        "c.opaque.driver: Required value",
        "c.opaque.parameters: Too long: may not be more than 10240 bytes",
    ]
    assert told(declare_device_configuration, opaque, "c") == ["c.opaque.driver: Required value"]
