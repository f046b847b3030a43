"""What Schemathesis does differently for a Kubernetes API server; loaded by it alone."""

# mypy: disable-error-code="import-not-found,untyped-decorator"
# Schemathesis is not installed where types are checked.

from __future__ import annotations

from typing import Any

import schemathesis

# A watch has no end of its own, and a future revision is waited for.
WAITS = ("watch", "timeoutSeconds", "resourceVersion", "sendInitialEvents")


@schemathesis.hook
def map_query(context: Any, query: Any) -> Any:
    if isinstance(query, dict):
        for name in WAITS:
            query.pop(name, None)
    return query


@schemathesis.hook
def filter_case(context: Any, case: Any) -> bool:
    return "/watch/" not in case.operation.path


@schemathesis.check
def success_is_documented(context: Any, response: Any, case: Any) -> None:
    documented = set(case.operation.definition.raw.get("responses", {}))
    if response.status_code < 300 and str(response.status_code) not in documented:
        raise AssertionError(
            f"{case.operation.label} answers {response.status_code}, documented are "
            f"{sorted(documented)}"
        )
