from __future__ import annotations

import pytest

from dray.api.rbac import PolicyRule
from dray.errors import ParseError
from dray.server.auth.role_notation import parse_rules


def test_a_line_is_a_rule() -> None:
    text = """
read update | core apps | pods
  pods/log
get | batch | jobs | a b
get | /healthz /version
events
"""
    assert parse_rules(text) == (
        PolicyRule(
            verbs=("get", "list", "watch", "update"),
            api_groups=("", "apps"),
            resources=("pods", "pods/log"),
        ),
        PolicyRule(
            verbs=("get",), api_groups=("batch",), resources=("jobs",), resource_names=("a", "b")
        ),
        PolicyRule(verbs=("get",), non_resource_urls=("/healthz", "/version")),
        PolicyRule(
            verbs=("create", "patch", "update"),
            api_groups=("", "events.k8s.io"),
            resources=("events",),
        ),
    )


@pytest.mark.parametrize("line", ["get", "get |", "| core | pods", "get | a | b | c | d", "get||x"])
def test_a_line_that_is_no_rule_is_refused(line: str) -> None:
    with pytest.raises(ParseError, match="must be: verbs"):
        parse_rules(line)
