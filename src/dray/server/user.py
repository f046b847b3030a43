"""Who is asking, and what for: the two values every decision about a request starts from.

Upstream counterpart: apiserver pkg/authentication/user, pkg/authorization/authorizer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

__all__ = [
    "ALL_AUTHENTICATED",
    "ALL_UNAUTHENTICATED",
    "ANONYMOUS",
    "SYSTEM",
    "SYSTEM_MASTERS",
    "Attributes",
    "Decision",
    "User",
]

SYSTEM_MASTERS: Final = "system:masters"
ALL_AUTHENTICATED: Final = "system:authenticated"
ALL_UNAUTHENTICATED: Final = "system:unauthenticated"


@dataclass(frozen=True, slots=True)
class User:
    """An identity, as some authenticator established it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS: Final = User("system:anonymous", groups=(ALL_UNAUTHENTICATED,))

# The server itself, when it writes what it keeps in order.
SYSTEM: Final = User("system:apiserver", groups=(SYSTEM_MASTERS, ALL_AUTHENTICATED))


class Attributes(msgspec.Struct, frozen=True):
    """What a request wants to do, in the words authorizers understand. One is made for every one.

    Either a resource is asked for, or, if `resource` is empty, a path. A review may name neither:
    that is the resource without a name, which only a rule for all resources allows.
    """

    user: User
    # get, list, watch, create, update, patch, delete, deletecollection; for a path, the method in
    # lower case.
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""  # plural
    subresource: str = ""
    namespace: str = ""
    # The name in the path, or the one that a field selector metadata.name=... leaves.
    name: str = ""
    path: str = ""
    field_selector: str = ""  # as the request wrote it

    @property
    def asks_for_path(self) -> bool:
        return not self.resource and self.path != ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What an authorizer thinks: yes, no, or (None) nothing at all."""

    allowed: bool | None
    reason: str = ""
