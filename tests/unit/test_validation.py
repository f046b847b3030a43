"""The entry points: which rules run, in which order, for which kinds."""

from __future__ import annotations

import pytest

from dray.api.core import Pod
from dray.api.meta import Object, ObjectMeta
from dray.api.resource import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
    ResourceSlice,
)
from dray.api.wire import replace
from dray.errors import InternalError
from dray.validation import validate_create, validate_status_update, validate_update
from tests.unit.validation.builders import device, resource_slice, texts

KINDS: list[type[Object]] = [
    DeviceClass,
    DeviceTaintRule,
    Pod,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
    ResourceSlice,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_has_rules(kind: type[Object]) -> None:
    nameless = kind(metadata=ObjectMeta(resource_version="1"))
    assert "metadata.name: Required value: name or generateName is required" in texts(
        validate_create(nameless)
    )
    assert "metadata.name: Required value: name or generateName is required" in texts(
        validate_update(nameless, nameless)
    )


def test_a_kind_without_rules_is_a_bug_of_the_caller() -> None:
    with pytest.raises(InternalError, match="no rules for Object"):
        validate_create(Object())


def test_a_kind_without_status_has_no_status_to_update() -> None:
    with pytest.raises(InternalError, match="ResourceSlice has no status"):
        validate_status_update(resource_slice(), resource_slice())


def test_on_create_the_registry_adds_nothing_to_what_the_kind_found() -> None:
    slice_ = replace(resource_slice(), metadata=ObjectMeta(name="a/b"))
    (text,) = texts(validate_create(slice_))
    assert text.startswith('metadata.name: Invalid value: "a/b": a lowercase RFC 1123 subdomain')


def test_on_update_the_registry_speaks_first() -> None:
    old = resource_slice()
    new = replace(resource_slice(device("")), metadata=replace(old.metadata, name="a/b"))
    assert [error.field for error in validate_update(new, old)] == [
        "metadata.name",
        "metadata.name",
        "spec.devices[0].name",
    ]
