"""Metadata rules, one by one; the texts are upstream's."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.meta import (
    LabelSelector,
    LabelSelectorRequirement,
    ManagedFieldsEntry,
    ObjectMeta,
    OwnerReference,
)
from dray.api.wire import Time, replace
from dray.validation.meta import (
    ANNOTATIONS_BYTES_MAX,
    name_is_dns_label,
    validate_annotations,
    validate_common_create,
    validate_common_update,
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from tests.unit.validation.builders import texts

EARLIER, LATER = Time.parse("2026-01-01T00:00:00Z"), Time.parse("2026-01-02T00:00:00Z")
OWNER = OwnerReference(api_version="batch/v1", kind="Job", name="job", uid="1")


def meta(**fields: Any) -> ObjectMeta:
    """Metadata of a stored object in a namespace."""
    basics = {"name": "thing", "namespace": "default", "uid": "u", "resource_version": "1"}
    return ObjectMeta(**{**basics, **fields})


def found(**fields: Any) -> list[str]:
    return texts(validate_object_meta(meta(**fields), namespaced=True))


def found_on_update(new: dict[str, Any], **old: Any) -> list[str]:
    stored = meta(**old)
    return texts(validate_object_meta_update(replace(stored, **new), stored))


def paths(errors: list[str]) -> list[str]:
    return [error.partition(": ")[0] for error in errors]


# Names and namespaces --------------------------------------------------------------------------


def test_plain_metadata_is_fine() -> None:
    assert found(labels={"app": "x"}, annotations={"Example.com/Note": "any text\n"}) == []


def test_a_name_or_a_prefix_for_one_is_required() -> None:
    assert found(name="") == ["metadata.name: Required value: name or generateName is required"]


def test_a_prefix_may_end_in_a_dash_and_a_name_may_not() -> None:
    assert found(generate_name="job-", name="job-x1") == []
    assert paths(found(name="job-")) == ["metadata.name"]


def test_a_bad_prefix_is_told_beside_the_name_made_of_it() -> None:
    assert paths(found(generate_name="Job-", name="Job-x1")) == [
        "metadata.generateName",
        "metadata.name",
    ]


def test_a_kind_without_a_rule_for_prefixes_expects_a_generated_name() -> None:
    errors = validate_object_meta(
        meta(name="", generate_name="X-"), namespaced=True, generate_name_rule=False
    )
    assert texts(errors) == [
        (
            'metadata.name: Internal error: generateName was specified ("X-"), but no name was'
            " generated"
        ),
        "metadata.name: Required value: name or generateName is required",
    ]


def test_a_kind_chooses_the_rule_for_its_names() -> None:
    errors = validate_object_meta(meta(name="a.b"), namespaced=True, name_rule=name_is_dns_label)
    assert texts(errors) == ['metadata.name: Invalid value: "a.b": must not contain dots']


@pytest.mark.parametrize(
    ("namespaced", "namespace", "error"),
    [
        pytest.param(True, "", "metadata.namespace: Required value", id="missing"),
        pytest.param(
            True,
            "a.b",
            'metadata.namespace: Invalid value: "a.b": must not contain dots',
            id="malformed",
        ),
        pytest.param(
            False, "x", "metadata.namespace: Forbidden: not allowed on this type", id="cluster-wide"
        ),
    ],
)
def test_only_namespaced_kinds_have_a_namespace(
    namespaced: bool, namespace: str, error: str
) -> None:
    errors = validate_object_meta(meta(namespace=namespace), namespaced=namespaced)
    assert texts(errors) == [error]


# Labels, annotations, selectors ----------------------------------------------------------------


def test_labels_are_told_by_key_and_by_value_under_the_whole_map() -> None:
    errors = found(labels={"bad key": "x", "app": "-"})
    assert paths(errors) == ["metadata.labels", "metadata.labels"]
    assert '"bad key"' in errors[0]
    assert '"-"' in errors[1]


def test_annotation_keys_are_label_keys_in_any_case() -> None:
    assert validate_annotations({"Example.COM/x": ""}, "a") == []
    assert paths(texts(validate_annotations({"a/b/c": ""}, "a"))) == ["a"]


def test_annotations_together_are_bounded_in_bytes() -> None:
    full = {"k": "é" * ((ANNOTATIONS_BYTES_MAX - 1) // 2) + "x"}
    assert validate_annotations(full, "a") == []
    assert texts(validate_annotations({**full, "l": ""}, "a")) == [
        "a: Too long: may not be more than 262144 bytes"
    ]


@pytest.mark.parametrize(
    ("operator", "values", "path"),
    [
        ("In", (), "s.matchExpressions[0].values"),
        ("Exists", ("x",), "s.matchExpressions[0].values"),
        ("Gt", ("1",), "s.matchExpressions[0].operator"),
        ("In", ("-",), "s.matchExpressions[0].values[0]"),
    ],
)
def test_a_selector_clause_has_values_as_its_operator_needs_them(
    operator: str, values: tuple[str, ...], path: str
) -> None:
    clause = LabelSelectorRequirement(key="app", operator=operator, values=values)
    selector = LabelSelector(match_expressions=(clause,))
    assert paths(texts(validate_label_selector(selector, "s"))) == [path]


def test_a_selector_may_be_allowed_values_no_label_has() -> None:
    clause = LabelSelectorRequirement(key="app", operator="In", values=("-",))
    selector = LabelSelector(match_expressions=(clause,))
    assert validate_label_selector(selector, "s", any_value=True) == []


# Owners, finalizers, managers ------------------------------------------------------------------


def test_an_owner_is_named_in_full() -> None:
    assert found(owner_references=(OwnerReference(),)) == [
        f"metadata.ownerReferences[0].{name}: Required value: must not be empty"
        for name in ("apiVersion", "kind", "name", "uid")
    ]


@pytest.mark.parametrize("version", ["a/b/c", "a/", "/"])
def test_an_owner_has_a_group_and_a_version(version: str) -> None:
    assert found(owner_references=(replace(OWNER, api_version=version),)) == [
        (
            f'metadata.ownerReferences[0].apiVersion: Invalid value: "{version}": must be'
            " <group>/<version> or <version>"
        )
    ]


def test_events_own_nothing() -> None:
    event = replace(OWNER, api_version="v1", kind="Event")
    assert found(owner_references=(event,)) == [
        (
            'metadata.ownerReferences[0]: Invalid value: {"apiVersion":"v1","kind":"Event",'
            '"name":"job","uid":"1"}: /v1, Kind=Event is disallowed from being an owner'
        )
    ]
    assert found(owner_references=(replace(event, api_version="events.k8s.io/v1"),)) == []


def test_what_was_judged_once_is_judged_by_other_rules_all_the_same() -> None:
    odd, stored = meta(finalizers=("a b",)), meta(resource_version="1")
    for _again in range(2):
        assert texts(validate_object_meta_update(odd, odd, standard_finalizers=False)) == []
        (error,) = texts(validate_common_create(odd, namespaced=True))
        assert error.startswith("metadata.finalizers: Invalid value: ")
    assert texts(validate_common_create(stored, namespaced=True)) == []
    (error,) = texts(validate_object_meta_update(stored, replace(stored, name="other")))
    assert error.startswith("metadata.name: Invalid value: ")


def test_an_object_has_one_controller() -> None:
    controller = replace(OWNER, controller=True)
    (error,) = found(owner_references=(controller, replace(controller, name="other")))
    assert error.startswith("metadata.ownerReferences: Invalid value: [{")
    assert error.endswith('Found "true" in references for Job/job and Job/other')


def test_controllers_of_one_name_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []

    def show(value: Any) -> Any:
        shown.append(value)
        return ["shown"]

    monkeypatch.setattr("dray.validation.meta.as_wire", show)
    controller = replace(OWNER, controller=True)
    other, third = replace(controller, name="other"), replace(controller, name="third")
    references = (controller, *[other, third, controller] * 1000)
    assert [error.rpartition(" ")[2] for error in found(owner_references=references)] == [
        "Job/other",
        "Job/third",
        "Job/job",
    ]
    assert shown == [references]


def test_an_answer_does_not_name_controllers_without_end() -> None:
    controllers = tuple(replace(OWNER, name=f"job-{index}", controller=True) for index in range(99))
    assert len(found(owner_references=controllers[:17])) == 16
    assert len(found(owner_references=controllers)) == 16


def test_finalizers_are_standard_or_qualified() -> None:
    assert found(finalizers=("example.com/x", "kubernetes", "orphan")) == []
    assert found(finalizers=("x",)) == [
        (
            'metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer'
            " name nor is it fully qualified"
        )
    ]


def test_dependents_are_orphaned_or_deleted_first_but_not_both() -> None:
    assert found(finalizers=("orphan", "foregroundDeletion")) == [
        (
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer'
            " orphan and foregroundDeletion cannot be both set"
        )
    ]


def test_managed_fields_say_who_did_what() -> None:
    entry = ManagedFieldsEntry(manager="a\u2028b", operation="Patch", fields_type="V2")
    assert found(managed_fields=(entry, ManagedFieldsEntry(manager="é" * 65))) == [
        (
            'metadata.managedFields[0].operation: Unsupported value: "Patch": supported values:'
            ' "Apply", "Update"'
        ),
        'metadata.managedFields[0].fieldsType: Invalid value: "V2": must be `FieldsV1`',
        (
            'metadata.managedFields[0].manager: Invalid value: "a\\u2028b": invalid character'
            " U+2028 (at position 1)"
        ),
        "metadata.managedFields[1].operation: Required value: must not be empty",
        "metadata.managedFields[1].manager: Too long: may not be more than 128 bytes",
    ]


# Updates ---------------------------------------------------------------------------------------


def test_an_update_starts_from_a_known_version() -> None:
    assert found_on_update({"resource_version": ""}) == [
        'metadata.resourceVersion: Invalid value: "": must be specified for an update'
    ]


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("name", "other", 'metadata.name: Invalid value: "other"'),
        ("namespace", "other", 'metadata.namespace: Invalid value: "other"'),
        ("uid", "v", 'metadata.uid: Invalid value: "v"'),
        (
            "creation_timestamp",
            LATER,
            'metadata.creationTimestamp: Invalid value: "2026-01-02T00:00:00Z"',
        ),
        ("deletion_timestamp", None, "metadata.deletionTimestamp: Invalid value: null"),
        (
            "deletion_grace_period_seconds",
            5,
            "metadata.deletionGracePeriodSeconds: Invalid value: 5",
        ),
    ],
)
def test_what_the_server_decided_stays(field: str, value: Any, shown: str) -> None:
    old = {"creation_timestamp": EARLIER, "deletion_timestamp": EARLIER}
    assert found_on_update({field: value}, **old) == [f"{shown}: field is immutable"]


def test_generations_only_grow() -> None:
    assert found_on_update({"generation": 3}, generation=2) == []
    assert found_on_update({"generation": 1}, generation=2) == [
        "metadata.generation: Invalid value: 1: must not be decremented"
    ]
    assert found(generation=-1) == [
        "metadata.generation: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_nothing_more_may_hold_back_a_deletion() -> None:
    finalizers = ("example.com/b", "example.com/a", "example.com/old")
    deleting = {"deletion_timestamp": EARLIER, "finalizers": ("example.com/old",)}
    assert found_on_update({"finalizers": finalizers}, **deleting) == [
        (
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being"
            ' deleted, found new finalizers []string{"example.com/a", "example.com/b"}'
        )
    ]
    assert found_on_update({"finalizers": ()}, **deleting) == []


def test_an_update_looks_at_the_new_metadata_too() -> None:
    new = {"labels": {"-": ""}, "finalizers": ("x",)}
    assert paths(found_on_update(new)) == ["metadata.labels", "metadata.finalizers[0]"]


# The registry's round --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a/b", "..", "100%"])
def test_any_name_is_a_segment_of_a_path(name: str) -> None:
    assert paths(texts(validate_common_create(meta(name=name), namespaced=True))) == [
        "metadata.name"
    ]


def test_the_registry_accepts_names_and_finalizers_that_kinds_may_refuse() -> None:
    loose = meta(name="UPPER:case", finalizers=("bare",))
    assert validate_common_create(loose, namespaced=True) == []
    assert validate_common_update(loose, loose, namespaced=True) == []


def test_the_registry_sees_changes_as_well() -> None:
    errors = validate_common_update(meta(uid="v", name="."), meta(name="."), namespaced=True)
    assert paths(texts(errors)) == ["metadata.name", "metadata.uid"]
