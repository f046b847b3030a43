"""The entry points: which rules run, in which order, for which kinds."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.meta import Object, ObjectMeta
from dray.api.scheme import Kind, kinds
from dray.api.wire import replace
from dray.errors import InternalError
from dray.validation import validate_create, validate_status_update, validate_update
from tests.unit.validation.builders import device, resource_slice, texts

every_kind = pytest.mark.parametrize(
    "kind", list(kinds()), ids=lambda kind: f"{kind.group}-{kind.name}"
)
NAMELESS = "metadata.name: Required value: name or generateName is required"


def hub_type(kind: Kind) -> type[Any]:
    return kind.hub.type


@every_kind
def test_every_kind_has_rules(kind: Kind) -> None:
    nameless = hub_type(kind)(metadata=ObjectMeta(resource_version="1"))
    assert NAMELESS in texts(validate_update(nameless, nameless))
    named = hub_type(kind)(metadata=ObjectMeta(name="a/b"))
    assert validate_create(named)


@every_kind
def test_a_status_that_is_served_has_rules(kind: Kind) -> None:
    nameless = hub_type(kind)(metadata=ObjectMeta(resource_version="1"))
    if "status" in kind.subresources:
        assert NAMELESS in texts(validate_status_update(nameless, nameless))
    else:
        with pytest.raises(InternalError, match=f"{kind.name} has no status"):
            validate_status_update(nameless, nameless)


@every_kind
def test_rules_and_scheme_agree_on_namespaces(kind: Kind) -> None:
    old = hub_type(kind)(metadata=ObjectMeta(name="a", resource_version="1"))
    missing = "metadata.namespace: Required value"
    assert (missing in texts(validate_update(old, old))) is kind.namespaced


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
