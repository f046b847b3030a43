"""A pod as checks of its security see it, and the words they speak of it in.

Security contexts are carried JSON: they are read once, and as far as they have the shape they
should have. Upstream counterpart: helpers.go and visitor.go of k8s.io/pod-security-admission's
policy package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from dray.api.core import PodSpec
from dray.api.meta import ObjectMeta
from dray.api.wire import Carried
from dray.server.admission.pod_references import Item, containers_of

__all__ = [
    "Aspect",
    "Check",
    "PodView",
    "Violation",
    "listed_containers",
    "member",
    "object_of",
    "plural",
    "quoted",
    "setters_of",
    "strings",
    "unless_own_users",
    "unless_windows",
    "uses",
]


class Violation(NamedTuple):
    """What a pod must not do, and where it does."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


class PodView:
    """A pod as the checks see it: carried JSON is read once."""

    def __init__(self, metadata: ObjectMeta, spec: PodSpec) -> None:
        self.annotations = metadata.annotations
        self.spec = spec
        self.context = object_of(spec.security_context)
        self.containers = [
            (container, object_of(container.security_context)) for container in containers_of(spec)
        ]

    @property
    def is_windows(self) -> bool:
        return self.spec.os is not None and self.spec.os.name == "windows"

    @property
    def has_own_users(self) -> bool:
        return self.spec.host_users is False

    def named(self, test: Callable[[Item], bool]) -> list[str]:
        """The containers whose security context the test is about."""
        return [container.name for container, context in self.containers if test(context)]


Check = Callable[[PodView], Violation | None]


def object_of(carried: Carried) -> Item:
    value = None if carried is None else msgspec.json.decode(carried)
    return value if isinstance(value, dict) else {}


def member(item: Any, *path: str) -> Any:
    for step in path:
        item = item.get(step) if isinstance(item, dict) else None
    return item


def strings(item: Any, *path: str) -> list[str]:
    value = member(item, *path)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


# Which check applies when ----------------------------------------------------------------------


def unless_windows(check: Check, view: PodView) -> Violation | None:
    return None if view.is_windows else check(view)


def unless_own_users(check: Check, view: PodView) -> Violation | None:
    return None if view.has_own_users else check(view)


@dataclass(frozen=True, slots=True)
class Aspect:
    """One check through the versions: by the minor version each form came with."""

    forms: Mapping[int, Check]
    replaces: str = ""  # the check of baseline that this makes needless

    def form(self, minor: int) -> Check | None:
        since = max((first for first in self.forms if first <= minor), default=None)
        return None if since is None else self.forms[since]


# Words -----------------------------------------------------------------------------------------


def plural(noun: str, things: Sequence[Any]) -> str:
    return noun if len(things) == 1 else f"{noun}s"


def quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def listed_containers(names: Sequence[str]) -> str:
    return f"{plural('container', names)} {quoted(names)}"


def uses(names: Sequence[str]) -> str:
    return "uses" if len(names) == 1 else "use"


def setters_of(pod: bool, containers: Sequence[str]) -> str:
    """Who sets something: the pod, some containers, or both; empty if nobody."""
    return " and ".join(
        [*(["pod"] if pod else []), *([listed_containers(containers)] if containers else [])]
    )
