"""Validation of claims and templates against recordings of upstream, error by error.

What a server decides outside of validation is played here: admin access, which depends on a
namespace, and who may write what into a status, which is left out.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from tests.conformance.validation_cases import Case, answer, read_cases

from dray.api.resource import ResourceClaim, ResourceClaimTemplate
from dray.api.scheme import decode_any, to_hub
from dray.errors import FieldError, FieldErrorType
from dray.validation.resource_claim_spec import admin_access_forbidden, requests_with_admin_access
from dray.validation.resource_claim_status import results_with_admin_access

RECORDINGS = ("claims", "claim-updates", "claim-statuses", "templates")

# The namespaces the recordings were made with, and whether they allow admin access.
NAMESPACES = {"default": False, "admin": True}

AUTHORIZATION = re.compile(r"status\.(allocation|devices): Forbidden: changing status\.")

# What a parser expected where is worded by the tool it was made with.
SYNTAX_ERROR = re.compile(r"(?<=ERROR: <input>:)\d+:\d+: Syntax error: .*", re.DOTALL)

# An empty list or map means what an absent one does, and most types of dray do not keep the
# difference; upstream shows it where it prints a whole value.
EMPTY = re.compile(r"(?<=[: ])(\[\]|\{\})")


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


def comparable(texts: list[str], *, ordered: bool) -> list[str]:
    texts = [
        SYNTAX_ERROR.sub("Syntax error", EMPTY.sub("null", text))
        for text in texts
        if not AUTHORIZATION.match(text)
    ]
    return texts if ordered else sorted(texts)


def difference(case: Case) -> tuple[str, list[str], list[str]] | None:
    request = placed(case.request)
    errors = [*admin_access_errors(request), *answer(request)]
    ours = comparable([str(error) for error in errors], ordered=case.ordered)
    theirs = comparable(case.texts, ordered=case.ordered)
    return None if ours == theirs else (case.name, ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS)
def test_errors_are_upstreams_word_for_word(recording: str) -> None:
    cases = list(read_cases(recording))
    assert sum(bool(case.texts) for case in cases) > 100
    assert [found for case in cases if (found := difference(case))] == []
