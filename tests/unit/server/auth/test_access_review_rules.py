from __future__ import annotations

import pytest

from dray.api.authorization import (
    FieldSelectorAttributes,
    FieldSelectorRequirement,
    LabelSelectorAttributes,
    NonResourceAttributes,
    ResourceAttributes,
    SelfSubjectAccessReviewSpec,
    SubjectAccessReviewSpec,
)
from dray.api.meta import LabelSelectorRequirement, ManagedFieldsEntry, ObjectMeta
from dray.server.auth.access_review_rules import (
    check_access_review,
    check_local_access_review,
    check_self_access_review,
)

PODS = ResourceAttributes(verb="get", resource="pods")
PATH = NonResourceAttributes(path="/x", verb="get")
EITHER = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
SELECTOR = "spec.resourceAttributes.fieldSelector"
LABELS = "spec.resourceAttributes.labelSelector"


def self_review(
    resource: ResourceAttributes | None = None, path: NonResourceAttributes | None = None
) -> list[str]:
    spec = SelfSubjectAccessReviewSpec(resource_attributes=resource, non_resource_attributes=path)
    return [str(error) for error in check_self_access_review(ObjectMeta(), spec)]


@pytest.mark.parametrize(
    ("resource", "path", "errors"),
    [
        pytest.param(PODS, None, [], id="resource"),
        pytest.param(None, PATH, [], id="path"),
        pytest.param(None, None, [f"spec: Invalid value: null: {EITHER}"], id="neither"),
        pytest.param(
            PODS,
            PATH,
            [f'spec: Invalid value: {{"Path":"/x","Verb":"get"}}: {EITHER}'],
            id="both",
        ),
    ],
)
def test_a_question_is_about_a_resource_or_about_a_path(
    resource: ResourceAttributes | None, path: NonResourceAttributes | None, errors: list[str]
) -> None:
    assert self_review(resource, path) == errors


def test_a_question_about_somebody_says_about_whom() -> None:
    spec = SubjectAccessReviewSpec(resource_attributes=PODS)
    (error,) = check_access_review(ObjectMeta(), spec)
    assert str(error) == (
        'spec.user: Invalid value: "": at least one of user or group must be specified'
    )
    for known in (
        SubjectAccessReviewSpec(resource_attributes=PODS, user="bob"),
        SubjectAccessReviewSpec(resource_attributes=PODS, groups=("dev",)),
    ):
        assert not check_access_review(ObjectMeta(), known)


def test_a_question_has_no_name() -> None:
    spec = SubjectAccessReviewSpec(resource_attributes=PODS, user="bob")
    managed = ObjectMeta(managed_fields=(ManagedFieldsEntry(manager="x"),))
    assert not check_access_review(managed, spec)
    (error,) = check_access_review(ObjectMeta(name="x"), spec)
    assert str(error) == 'metadata: Invalid value: {"name":"x"}: must be empty'


def test_a_local_question_is_about_its_namespace() -> None:
    there = ResourceAttributes(verb="get", resource="pods", namespace="there")
    about = SubjectAccessReviewSpec(user="bob", resource_attributes=there)
    assert not check_local_access_review(ObjectMeta(namespace="there"), about)
    assert [
        str(error) for error in check_local_access_review(ObjectMeta(namespace="here"), about)
    ] == [
        'spec.resourceAttributes.namespace: Invalid value: "there": must match metadata.namespace'
    ]
    path = SubjectAccessReviewSpec(user="bob", non_resource_attributes=PATH)
    named = ObjectMeta(namespace="here", name="x")
    assert [str(error) for error in check_local_access_review(named, path)] == [
        (
            'metadata: Invalid value: {"name":"x","namespace":"here"}:'
            " must be empty except for namespace"
        ),
        (
            'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}:'
            " disallowed on this kind of request"
        ),
    ]


@pytest.mark.parametrize(
    ("selector", "errors"),
    [
        pytest.param(FieldSelectorAttributes(raw_selector="a=b"), [], id="text"),
        pytest.param(
            FieldSelectorAttributes(),
            [
                (
                    f"{SELECTOR}.requirements: Required value: when {SELECTOR} is specified,"
                    " requirements or rawSelector is required"
                )
            ],
            id="neither",
        ),
        pytest.param(
            FieldSelectorAttributes(
                raw_selector="a=b",
                requirements=(FieldSelectorRequirement(key="a", operator="In", values=("b",)),),
            ),
            [
                (
                    f'{SELECTOR}.rawSelector: Invalid value: "a=b":'
                    " may not specified at the same time as requirements"
                )
            ],
            id="both",
        ),
        pytest.param(
            FieldSelectorAttributes(
                requirements=(
                    FieldSelectorRequirement(operator="In"),
                    FieldSelectorRequirement(key="a", operator="Exists", values=("b",)),
                    FieldSelectorRequirement(key="a", operator="FromTheFuture"),
                )
            ),
            [
                f"{SELECTOR}.requirements[0].key: Required value: must be specified",
                (
                    f"{SELECTOR}.requirements[0].values: Required value:"
                    " must be specified when `operator` is 'In' or 'NotIn'"
                ),
                (
                    f"{SELECTOR}.requirements[1].values: Forbidden:"
                    " may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                ),
            ],
            id="requirements",
        ),
    ],
)
def test_a_field_selector_must_make_sense(
    selector: FieldSelectorAttributes, errors: list[str]
) -> None:
    asked = ResourceAttributes(verb="list", resource="pods", field_selector=selector)
    assert self_review(asked) == errors


def test_a_label_selector_must_make_sense() -> None:
    selector = LabelSelectorAttributes(
        requirements=(
            LabelSelectorRequirement(key="a b", operator="In"),
            LabelSelectorRequirement(key="a", operator="In", values=("b c",)),
        )
    )
    asked = ResourceAttributes(verb="list", resource="pods", label_selector=selector)
    found = self_review(asked)
    assert [error.split(": ")[0] for error in found] == [
        f"{LABELS}.requirements[0].values",
        f"{LABELS}.requirements[0].key",
        f"{LABELS}.requirements[1].values[0]",
    ]
    assert '"a b": name part must consist of' in found[1]
