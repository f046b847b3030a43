"""Validation of claims and templates against recordings of upstream, error by error.

What a server decides outside of validation is played here: admin access, which depends on a
namespace, and who may write what into a status, which is left out.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from dray.api.resource import ResourceClaim, ResourceClaimTemplate
from dray.api.scheme import decode_any, to_hub
from dray.errors import FieldError, FieldErrorType
from dray.validation.resource_claim_spec import admin_access_forbidden, requests_with_admin_access
from dray.validation.resource_claim_status import results_with_admin_access
from tests.conformance.validation_cases import Case, answer, comparable, read_cases

RECORDINGS = ("claims", "claim-updates", "claim-statuses", "templates")

# The namespaces the recordings were made with, and whether they allow admin access.
NAMESPACES = {"default": False, "admin": True}

AUTHORIZATION = re.compile(r"status\.(allocation|devices): Forbidden: changing status\.")


def placed(request: dict[str, Any]) -> dict[str, Any]:
    """The request with its object in the namespace that its path would name."""
    request = copy.deepcopy(request)
    metadata = request["object"]["metadata"] = request["object"].get("metadata") or {}
    metadata["namespace"] = metadata.get("namespace") or "default"
    return request


def admin_access_errors(request: dict[str, Any]) -> list[FieldError]:
    """What a server that knows NAMESPACES adds before what validation finds."""
    new = to_hub(decode_any(request["object"])[2].value)
    paths: tuple[str, ...] = ()
    if request["operation"] == "statusUpdate":
        old = to_hub(decode_any(request["old"])[2].value)
        paths = results_with_admin_access(new.status, old.status)
    elif request["operation"] == "create" and isinstance(new, ResourceClaim):
        paths = requests_with_admin_access(new.spec)
    elif request["operation"] == "create" and isinstance(new, ResourceClaimTemplate):
        paths = requests_with_admin_access(new.spec.spec)
    namespace = new.metadata.namespace
    if not paths or NAMESPACES.get(namespace):
        return []
    if namespace in NAMESPACES:
        return [admin_access_forbidden(paths[0])]
    detail = (
        f'could not retrieve namespace to verify admin access: namespaces "{namespace}" not found'
    )
    return [FieldError(FieldErrorType.INTERNAL, paths[0], None, detail)]


def difference(case: Case) -> tuple[str, list[str], list[str]] | None:
    request = placed(case.request)
    errors = [*admin_access_errors(request), *answer(request)]
    ours = comparable([str(error) for error in errors], ordered=case.ordered)
    # Who may write what is the server's business.
    texts = [text for text in case.texts if not AUTHORIZATION.match(text)]
    theirs = comparable(texts, ordered=case.ordered)
    return None if ours == theirs else (case.name, ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS)
def test_errors_are_upstreams_word_for_word(recording: str) -> None:
    cases = list(read_cases(recording))
    assert sum(bool(case.texts) for case in cases) > 100
    assert [found for case in cases if (found := difference(case))] == []
