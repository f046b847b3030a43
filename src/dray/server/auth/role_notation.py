"""Policy rules in a compact notation, for roles that come with the server.

One rule per line: verbs, groups, resources and, if any, names, separated by bars; or verbs and
paths. `core` is the group without a name, `read` and `write` stand for the verbs they always come
as, and the line `events` for what everybody needs who reports any. An indented line goes on with
the one before.

    read | core events.k8s.io | events
    get update | coordination.k8s.io | leases | kube-scheduler
    get | /healthz /version
"""

from __future__ import annotations

from typing import Final

from dray.api.rbac import PolicyRule
from dray.errors import ParseError

__all__ = ["READ", "WRITE", "parse_rules"]

READ: Final = ("get", "list", "watch")
WRITE: Final = ("create", "delete", "deletecollection", "patch", "update")

_VERBS: Final = {"read": READ, "write": WRITE}
_EVENTS: Final = PolicyRule(
    verbs=("create", "patch", "update"), api_groups=("", "events.k8s.io"), resources=("events",)
)


def parse_rules(text: str) -> tuple[PolicyRule, ...]:
    """The rules a text lists; ParseError for a line that is none."""
    lines: list[str] = []
    for line in text.strip("\n").splitlines():
        if line.startswith(" ") and lines:
            lines[-1] += line
        elif line:
            lines.append(line)
    return tuple(_parse_rule(line) for line in lines)


def _parse_rule(line: str) -> PolicyRule:
    if line == "events":
        return _EVENTS
    columns = [tuple(column.split()) for column in line.split("|")]
    verbs = tuple(verb for word in columns[0] for verb in _VERBS.get(word, (word,)))
    match columns[1:]:
        case [paths] if paths and verbs:
            return PolicyRule(verbs=verbs, non_resource_urls=paths)
        case [groups, resources, *names] if groups and resources and verbs and len(names) <= 1:
            return PolicyRule(
                verbs=verbs,
                api_groups=tuple("" if group == "core" else group for group in groups),
                resources=resources,
                resource_names=names[0] if names else (),
            )
    raise ParseError(line, "must be: verbs | groups | resources [| names], or: verbs | paths")
