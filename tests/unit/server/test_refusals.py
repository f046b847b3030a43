from __future__ import annotations

from typing import Any

import pytest

from dray.errors import APIError, Cause, FieldError, FieldErrorType
from dray.server import refusals
from dray.server.registry import Registry
from dray.server.resources import Resource


def resource(group: str, plural: str) -> Resource:
    found = Registry().find(group, "v1", plural)
    assert found is not None
    return found.resource


MAPS = resource("", "configmaps")
CLAIMS = resource("resource.k8s.io", "resourceclaims")
EVENTS = resource("events.k8s.io", "events")
WRONG = FieldError(FieldErrorType.REQUIRED, "spec.x")


@pytest.mark.parametrize(
    ("error", "code", "reason", "message", "details"),
    [
        pytest.param(
            refusals.not_found(CLAIMS, "c"),
            404,
            "NotFound",
            'resourceclaims.resource.k8s.io "c" not found',
            {"name": "c", "group": "resource.k8s.io", "kind": "resourceclaims"},
            id="not-found",
        ),
        pytest.param(
            refusals.no_such_resource(),
            404,
            "NotFound",
            "the server could not find the requested resource",
            {},
            id="no-such-resource",
        ),
        pytest.param(
            refusals.method_not_allowed(),
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
            {},
            id="method",
        ),
        pytest.param(
            refusals.already_exists(MAPS, "a"),
            409,
            "AlreadyExists",
            'configmaps "a" already exists',
            {"name": "a", "kind": "configmaps"},
            id="exists",
        ),
        pytest.param(
            refusals.already_exists(MAPS, "a", terminating=True),
            409,
            "AlreadyExists",
            'object is being deleted: configmaps "a" already exists',
            {"name": "a", "kind": "configmaps"},
            id="exists-still",
        ),
        pytest.param(
            refusals.modified(MAPS, "a"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
            "please apply your changes to the latest version and try again",
            {"name": "a", "kind": "configmaps"},
            id="modified",
        ),
        pytest.param(
            refusals.conflict(CLAIMS, "c", "no", subresource="status"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on resourceclaims/status.resource.k8s.io "c": no',
            {"name": "c", "group": "resource.k8s.io", "kind": "resourceclaims/status"},
            id="conflict-of-a-subresource",
        ),
        pytest.param(
            refusals.precondition_failed(MAPS, "a", "u1", "u2"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on configmaps "a": Precondition failed: UID in '
            "precondition: u1, UID in object meta: u2",
            {"name": "a", "kind": "configmaps"},
            id="uid",
        ),
        pytest.param(
            refusals.forbidden(MAPS, "a", "no", causes=[Cause("X", "y")]),
            403,
            "Forbidden",
            'configmaps "a" is forbidden: no',
            {"name": "a", "kind": "configmaps", "causes": [{"reason": "X", "message": "y"}]},
            id="forbidden",
        ),
        pytest.param(
            refusals.forbidden(MAPS, "", "no"),
            403,
            "Forbidden",
            "configmaps is forbidden: no",
            {"kind": "configmaps"},
            id="forbidden-without-a-name",
        ),
        pytest.param(
            refusals.invalid_options("ListOptions", [WRONG]),
            422,
            "Invalid",
            'ListOptions.meta.k8s.io "" is invalid: spec.x: Required value',
            {
                "group": "meta.k8s.io",
                "kind": "ListOptions",
                "causes": [
                    {
                        "reason": "FieldValueRequired",
                        "message": "Required value",
                        "field": "spec.x",
                    }
                ],
            },
            id="options",
        ),
        pytest.param(
            refusals.too_large_revision(9, 5),
            504,
            "Timeout",
            "Timeout: Too large resource version: 9, current: 5",
            {
                "causes": [
                    {
                        "reason": "ResourceVersionTooLarge",
                        "message": "Too large resource version",
                    }
                ],
                "retryAfterSeconds": 1,
            },
            id="the-future",
        ),
    ],
)
def test_a_refusal_says_what_clients_look_for(
    error: APIError, code: int, reason: str, message: str, details: Any
) -> None:
    status = error.as_status()
    assert (status["code"], status["reason"], status["message"]) == (code, reason, message)
    assert status["details"] == details


def test_both_faces_of_events_break_the_rules_of_one() -> None:
    assert refusals.invalid(EVENTS, "e", [WRONG]).as_status()["details"]["kind"] == "Event"
    assert "group" not in refusals.invalid(EVENTS, "e", [WRONG]).as_status()["details"]
    assert refusals.invalid(CLAIMS, "c", [WRONG]).as_status()["details"]["group"] == CLAIMS.group


def test_a_body_of_another_kind_is_named() -> None:
    error = refusals.wrong_kind(MAPS, "apps/v1", "Deployment")
    assert str(error) == (
        'Deployment in version "v1" cannot be handled as a ConfigMap: no kind "Deployment" is '
        'registered for version "apps/v1"'
    )


def test_an_error_may_have_no_reason() -> None:
    assert "reason" not in refusals.generic(500, "", "odd").as_status()


def test_a_success_names_what_it_was_about() -> None:
    assert refusals.success(CLAIMS, "c", "u") == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {
            "name": "c",
            "group": "resource.k8s.io",
            "kind": "resourceclaims",
            "uid": "u",
        },
    }
    assert refusals.success(code=201)["code"] == 201
    assert "details" not in refusals.success()


def test_of_very_many_mistakes_the_first_are_told() -> None:
    errors = [FieldError(FieldErrorType.REQUIRED, f"spec.x{n}") for n in range(5000)]
    error = refusals.invalid(MAPS, "a", errors)
    assert error.errors == tuple(errors[: refusals.ERRORS_MAX])
