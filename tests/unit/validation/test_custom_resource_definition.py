"""Definitions of custom resources."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from dray.api.apiextensions import (
    CustomResourceConversion,
    CustomResourceDefinition,
    CustomResourceDefinitionCondition,
    CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec,
    CustomResourceDefinitionStatus,
    CustomResourceDefinitionVersion,
    CustomResourceValidation,
)
from dray.api.defaults import default
from dray.api.wire import replace
from dray.validation.custom_resource_definition import APPROVED_ANNOTATION
from tests.unit.validation.pod_builders import paths
from tests.unit.validation.workload_builders import (
    NOW,
    created,
    metadata,
    status_updated,
    updated,
)

SCHEMA = CustomResourceValidation(open_api_v3_schema=Raw(b'{"type":"object"}'))
NAMES = CustomResourceDefinitionNames(plural="things", kind="Thing")
ESTABLISHED = CustomResourceDefinitionCondition(type="Established", status="True")


def version(name: str = "v1", **fields: Any) -> CustomResourceDefinitionVersion:
    whole = {"served": True, "storage": True, "schema": SCHEMA, **fields}
    return CustomResourceDefinitionVersion(name=name, **whole)


def definition(
    *, name: str = "", stored: tuple[str, ...] = (), established: bool = False,
    annotations: dict[str, str] | None = None, **spec: Any
) -> CustomResourceDefinition:  # fmt: skip
    whole = {
        "group": "example.com",
        "names": NAMES,
        "scope": "Cluster",
        "versions": (version(),),
        **spec,
    }
    made = CustomResourceDefinitionSpec(**whole)
    meta = metadata(
        name=name or f"{made.names.plural}.{made.group}",
        namespace="",
        annotations=annotations or {},
    )
    status = CustomResourceDefinitionStatus(
        stored_versions=stored, conditions=(ESTABLISHED,) if established else ()
    )
    return default(CustomResourceDefinition(metadata=meta, spec=made, status=status), now=NOW)


def test_a_plain_definition_may_be_created_and_written_back() -> None:
    plain = definition()
    assert created(plain) == updated(plain, plain) == status_updated(plain, plain) == []


def test_a_definition_is_called_after_what_it_defines() -> None:
    assert created(definition(name="other.example.com")) == [
        (
            'metadata.name: Invalid value: "other.example.com": '
            'must be spec.names.plural+"."+spec.group'
        )
    ]


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        pytest.param({"group": "com"}, ["spec.group"], id="group-without-domain"),
        pytest.param({"scope": ""}, ["spec.scope"], id="no-scope"),
        pytest.param({"scope": "World"}, ["spec.scope"], id="unknown-scope"),
        pytest.param(
            {"versions": (version(schema=None),)},
            ["spec.versions[0].schema.openAPIV3Schema"],
            id="no-schema",
        ),
        pytest.param(
            {"versions": (version("V1"),)}, ["spec.versions[0].name", "spec.version"], id="version"
        ),
        pytest.param(
            {"versions": (version(), version("v2"))},
            ["spec.versions", "status.storedVersions"],
            id="two-stored",
        ),
        pytest.param(
            {"versions": (version(), version(storage=False))}, ["spec.versions"], id="twice"
        ),
        pytest.param(
            {"names": replace(NAMES, list_kind="Thing")}, ["spec.names.listKind"], id="one-kind"
        ),
        pytest.param(
            {"names": replace(NAMES, short_names=("T",), categories=("A",), singular="S")},
            ["spec.names.singular", "spec.names.shortNames[0]", "spec.names.categories[0]"],
            id="odd-names",
        ),
        pytest.param(
            {"conversion": CustomResourceConversion(strategy="Magic")},
            ["spec.conversion.strategy"],
            id="conversion",
        ),
        pytest.param(
            {"preserve_unknown_fields": True}, ["spec.preserveUnknownFields"], id="preserve"
        ),
    ],
)
def test_what_a_definition_may_not_be(spec: dict[str, Any], where: list[str]) -> None:
    assert paths(created(definition(**spec))) == where


def test_a_definition_of_nothing_is_told_all_that_is_missing() -> None:
    empty = default(CustomResourceDefinition(metadata=metadata(namespace="")), now=NOW)
    assert paths(created(empty)) == [
        "metadata.name",
        "spec.group",
        "spec.scope",
        "spec.versions",
        "spec.names.plural",
        "spec.names.singular",
        "spec.names.kind",
        "spec.names.listKind",
        "status.storedVersions",
    ]


def test_what_objects_are_stored_under_is_for_life() -> None:
    new = definition(names=replace(NAMES, plural="items"), group="other.com", name="one")
    old = definition(name="one")
    assert paths(updated(new, old)) == ["spec.group", "spec.names.plural"]


def test_what_is_established_keeps_its_kind_and_scope() -> None:
    changed: dict[str, Any] = {"names": replace(NAMES, kind="Item"), "scope": "Namespaced"}
    assert updated(definition(**changed), definition()) == []
    assert paths(updated(definition(**changed), definition(established=True))) == [
        "spec.scope",
        "spec.names.kind",
    ]


def test_versions_stay_while_objects_are_stored_in_them() -> None:
    old = definition(stored=("v0", "v1"))
    assert [text.split(";")[0] for text in updated(old, old)] == [
        'status.storedVersions[0]: Invalid value: "v0": missing from spec.versions'
    ]
    assert updated(
        definition(stored=("v2",), versions=(version(), version("v2", storage=False))), old
    ) == ['status.storedVersions: Invalid value: ["v2"]: must have the storage version v1']


def test_a_definition_from_before_schemas_goes_on_without() -> None:
    bare = definition(versions=(version(schema=None),))
    assert updated(bare, bare) == [
        (
            "spec.versions[0].schema.openAPIV3Schema: Required value: "
            "because otherwise all fields are pruned"
        )
    ]
    unserved = definition(versions=(version(schema=None, served=False),))
    assert updated(unserved, bare) == []


@pytest.mark.parametrize(
    ("approval", "fine"),
    [
        ("", False),
        ("no", False),
        ("http://[", False),
        ("https://example.com/1", True),
        ("unapproved, for now", True),
    ],
)
def test_groups_of_kubernetes_are_not_for_everybody(approval: str, fine: bool) -> None:
    made = definition(group="x.k8s.io", annotations={APPROVED_ANNOTATION: approval})
    path = f"metadata.annotations[{APPROVED_ANNOTATION}]"
    assert paths(created(made)) == ([] if fine else [path])
    # What is there already is nobody's business.
    assert updated(made, made) == []


def test_accepted_names_are_names() -> None:
    names = CustomResourceDefinitionNames(plural="T!", kind="Thing")
    new = replace(definition(), status=CustomResourceDefinitionStatus(accepted_names=names))
    assert paths(status_updated(new, definition())) == ["status.acceptedNames.plural"]


def test_versions_are_shown_as_upstream_has_them_inside() -> None:
    (error, *_) = created(definition(versions=(version(storage=False),)))
    assert error.startswith(
        'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,'
        '"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,'
        '"AdditionalPrinterColumns":null,"SelectableFields":null}]: '
    )


def test_a_stored_version_counts_for_one_version_only() -> None:
    errors = created(definition(versions=(version(), version()), stored=("v1",)))
    assert any("must have the storage version v1" in error for error in errors)
