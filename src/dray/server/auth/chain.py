"""All authorizers, one after the other, and the refusal when none of them allows.

The first that says yes or no decides. Members of system:masters are not asked about: they are who
repairs the roles when nobody else can.

Upstream counterparts: apiserver pkg/authorization/union, pkg/authorization/authorizerfactory,
pkg/endpoints/handlers/responsewriters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from dray.errors import Forbidden, StatusDetails, quote
from dray.server.user import SYSTEM_MASTERS, Attributes, Decision

__all__ = ["Authorizer", "Chain", "forbid", "forbidden"]

_SUPERUSER: Final = Decision(True)


class Authorizer(Protocol):
    """Somebody who may have an opinion on a request."""

    def authorize(self, attributes: Attributes) -> Decision: ...


class Chain:
    """Authorizers in the order they are asked, each under the name that goes before its reasons."""

    def __init__(self, authorizers: Mapping[str, Authorizer]) -> None:
        self._authorizers = tuple(authorizers.items())

    def authorize(self, attributes: Attributes) -> Decision:
        """The first opinion; or none, with what each gave as the reason for having none."""
        if SYSTEM_MASTERS in attributes.user.groups:
            return _SUPERUSER
        reasons: list[str] = []
        for name, authorizer in self._authorizers:
            decision = authorizer.authorize(attributes)
            if decision.allowed is not None:
                return decision
            if decision.reason:
                reasons.append(f"{name}: {decision.reason}")
        return Decision(None, "\n".join(reasons))


def forbidden(attributes: Attributes, decision: Decision) -> Forbidden:
    """The answer to a request that is not allowed."""
    sentence = _sentence(attributes)
    if decision.reason:
        sentence = f"{sentence}: {decision.reason}"
    return forbid(attributes.group, attributes.resource, attributes.name, sentence)


def forbid(group: str, resource: str, name: str, sentence: str) -> Forbidden:
    """A refusal about a resource, one object of it, or (without a resource) the request itself."""
    about = f"{resource}.{group}" if group and resource else resource
    subject = f"{about} {quote(name)} is " if about and name else f"{about} is " if about else ""
    return Forbidden(
        f"{subject}forbidden: {sentence}", StatusDetails(name=name, group=group, kind=resource)
    )


# What a refusal repeats must not read as a web page.
_WITHOUT_MARKUP: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def _sentence(attributes: Attributes) -> str:
    who = f"User {quote(attributes.user.name)} cannot {attributes.verb}"
    if attributes.asks_for_path:
        return f"{who} path {quote(attributes.path)}".translate(_WITHOUT_MARKUP)
    resource = attributes.resource
    if attributes.subresource:
        resource = f"{resource}/{attributes.subresource}"
    scope = "at the cluster scope"
    if attributes.namespace:
        scope = f"in the namespace {quote(attributes.namespace)}"
    what = f"resource {quote(resource)} in API group {quote(attributes.group)}"
    return f"{who} {what} {scope}".translate(_WITHOUT_MARKUP)
