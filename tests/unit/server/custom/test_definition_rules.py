# ruff: noqa: E501 - what upstream says stands on one line each
from __future__ import annotations

from typing import Any

import pytest

from dray.server.custom.definition_rules import definition_errors, definition_warnings
from tests.unit.server.custom.definitions import SIZE, definition, spec_of, typed, version


def told(document: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    before = None if old is None else typed(old)
    return [str(error) for error in definition_errors(typed(document), before)]


SCALE = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}


def test_what_all_versions_say_alike_is_told_once_and_for_all() -> None:
    bad = {"type": "object", "properties": {"a": {}}}
    same = definition(versions=[version("v1", bad), version("v2", bad)])
    assert [each.partition(":")[0] for each in told(same)] == [
        "spec.validation.openAPIV3Schema.properties[a].type"
    ]
    other = definition(versions=[version("v1"), version("v2", bad)])
    assert [each.partition(":")[0] for each in told(other)] == [
        "spec.versions[1].schema.openAPIV3Schema.properties[a].type"
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {
                "subresources": {
                    "scale": {"specReplicasPath": "size", "statusReplicasPath": ".spec.x"}
                }
            },
            [
                'spec.subresources.scale.specReplicasPath: Invalid value: "size": must be a simple json path starting with .',
                'spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.x": should be a json path under .status',
            ],
        ),
        (
            {"subresources": {"scale": {}}},
            [
                "spec.subresources.scale.specReplicasPath: Required value",
                "spec.subresources.scale.statusReplicasPath: Required value",
            ],
        ),
        (
            {"subresources": {"scale": {**SCALE, "labelSelectorPath": ".x"}}},
            [
                'spec.subresources.scale.labelSelectorPath: Invalid value: ".x": should be a json path under either .spec or .status'
            ],
        ),
        (
            {"additionalPrinterColumns": [{"name": "A", "type": "colour", "jsonPath": "spec"}]},
            [
                'spec.additionalPrinterColumns[0].type: Invalid value: "colour": must be one of boolean,date,integer,number,string',
                'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec": must be a simple json path starting with .',
            ],
        ),
        ({"additionalPrinterColumns": [{"type": "string", "format": "odd"}]}, None),
        (
            {"selectableFields": [{"jsonPath": ".spec.color"}]},
            [
                'spec.selectableFields[0].jsonPath: Invalid value: ".spec.color": is an invalid path: does not refer to a valid field'
            ],
        ),
        (
            {
                "selectableFields": [
                    {"jsonPath": ".spec"},
                    {"jsonPath": ".spec.size"},
                    {"jsonPath": ".spec.size"},
                ]
            },
            [
                'spec.selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
                'spec.selectableFields[2].jsonPath: Duplicate value: ".spec.size"',
            ],
        ),
        (
            {"deprecationWarning": "x"},
            [
                'spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions'
            ],
        ),
        (
            {"deprecated": True, "deprecationWarning": ""},
            ['spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string'],
        ),
        ({"deprecated": True, "deprecationWarning": "x" * 257}, None),
        ({"deprecated": True, "deprecationWarning": "a\x07"}, None),
    ],
)
def test_a_version_is_judged_in_all_its_parts(
    changes: dict[str, Any], expected: list[str] | None
) -> None:
    found = told(definition(**changes))
    assert found
    if expected is not None:
        assert found == expected


def test_webhooks_say_whom_to_call() -> None:
    assert told(definition(conversion={"strategy": "Webhook"})) == [
        "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
        "spec.conversion.conversionReviewVersions: Required value",
    ]
    hook = {"clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"]}
    assert told(definition(conversion={"strategy": "Webhook", "webhook": hook})) == []
    assert len(told(definition(conversion={"strategy": "None", "webhook": hook}))) == 2


def test_a_status_of_its_own_leaves_little_to_say_at_the_root() -> None:
    schema = {**SIZE, "anyOf": [{"required": ["spec"]}]}
    assert told(definition(schema)) == []
    (said,) = told(definition(schema, subresources={"status": {}}))
    assert "only [Description Type Format" in said
    assert (
        "fields are allowed at the root of the schema if the status subresource is enabled" in said
    )


def test_the_root_is_never_null() -> None:
    (said,) = told(definition({**SIZE, "nullable": True}))
    assert said == (
        "spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root"
    )


def test_rules_are_compiled() -> None:
    schema = spec_of(a={"type": "integer", "x-kubernetes-validations": [{"rule": "self >"}]})
    (said,) = told(definition(schema))
    assert "compilation failed" in said


def test_rules_of_an_unchanged_schema_may_stay_expensive() -> None:
    # Dear enough for one rule, and cheap enough for all.
    rule = "self.matches('a.*b') && self.matches('b.*a')"
    text = {"type": "string", "x-kubernetes-validations": [{"rule": rule}]}
    schema = spec_of(a={"type": "array", "maxItems": 50, "items": text})
    assert told(definition(schema))
    assert told(definition(schema), definition(schema)) == []


def test_a_good_definition_is_fine() -> None:
    assert told(definition(subresources={"status": {}, "scale": SCALE})) == []


def test_unknown_formats_are_warned_of_once() -> None:
    schema = spec_of(a={"type": "string", "format": "colour"})
    assert definition_warnings(typed(definition(schema)), None) == ['unrecognized format "colour"']
    assert definition_warnings(typed(definition(schema)), typed(definition(schema))) == []


def test_sets_of_objects_are_warned_of() -> None:
    item = {"type": "object", "x-kubernetes-map-type": "atomic"}
    schema = spec_of(a={"type": "array", "items": item, "x-kubernetes-list-type": "set"})
    (warning,) = definition_warnings(typed(definition(schema)), None)
    assert 'items of type "object"' in warning
