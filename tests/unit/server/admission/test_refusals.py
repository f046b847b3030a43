from __future__ import annotations

import pytest

from dray.api.core import Pod
from dray.api.meta import ObjectMeta
from dray.errors import Cause
from dray.server.admission.refusals import aggregate, forbidden, name_of, not_found, plain
from tests.unit.server.admission.builders import CLAIMS, PODS, claim, create, delete, pod


def test_a_refusal_names_resource_and_object_and_says_why() -> None:
    error = forbidden(create(CLAIMS, claim("c", "gpu")), "too many", causes=(Cause("Why"),))
    assert error.as_status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'resourceclaims.resource.k8s.io "c" is forbidden: too many',
        "reason": "Forbidden",
        "details": {
            "name": "c",
            "group": "resource.k8s.io",
            "kind": "resourceclaims",
            "causes": [{"reason": "Why"}],
        },
        "code": 403,
    }


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        pytest.param(ObjectMeta(name="p"), "p", id="named"),
        pytest.param(ObjectMeta(generate_name="gen-"), "gen-", id="to-be-generated"),
        pytest.param(ObjectMeta(), "Unknown", id="nameless"),
    ],
)
def test_an_object_is_called_by_what_is_known_of_its_name(metadata: ObjectMeta, name: str) -> None:
    assert name_of(create(PODS, Pod(metadata=metadata))) == name


def test_a_delete_is_called_by_the_name_it_was_asked_with() -> None:
    assert name_of(delete(PODS, pod("q"))) == "q"


def test_what_is_missing_is_named() -> None:
    error = not_found("namespaces", "x")
    assert error.message == 'namespaces "x" not found'
    assert (error.details.name, error.details.kind) == ("x", "namespaces")


def test_a_plain_error_has_a_code_and_no_reason() -> None:
    error = plain("it broke")
    assert (error.code, error.reason, error.message) == (500, "", "it broke")
    assert "details" not in error.as_status()


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        pytest.param(["a"], "a", id="one"),
        pytest.param(["a", "b"], "[a, b]", id="two"),
        pytest.param(["a", "a"], "a", id="twice-the-same"),
    ],
)
def test_several_messages_become_one(messages: list[str], text: str) -> None:
    assert aggregate(messages) == text
