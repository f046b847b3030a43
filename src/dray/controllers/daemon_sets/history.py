"""The templates that a daemon set has had: each is kept in a revision, and can be returned to.

A revision holds the patch that gives a daemon set its template. Whether that is the one of now is
told by comparing patches, never by hashes. kubectl compares them too, byte by byte: a patch is
written as Go writes one. Upstream counterpart: constructHistory in update.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Raw

from dray.api.apps import LABEL_CONTROLLER_REVISION_HASH, ControllerRevision, DaemonSet
from dray.api.codec import carried_values, encode, to_builtins
from dray.api.core import Pod
from dray.api.meta import ObjectMeta
from dray.controllers.ownership import controller_reference
from dray.controllers.template_hash import hashed_name, template_hash

__all__ = [
    "History",
    "hash_of",
    "history_of",
    "holds",
    "is_going",
    "make_revision",
    "patch_of",
    "surplus",
]


@dataclass(frozen=True, slots=True)
class History:
    """The revisions of one daemon set."""

    # Of the template of now, the highest number first, and last what is on its way out: more than
    # one only after a mishap.
    current: Sequence[ControllerRevision]
    # Of former templates, the lowest number first.
    old: Sequence[ControllerRevision]

    @property
    def number(self) -> int:
        """The one that the template of now is to have: returned to, it gets a new one."""
        return max((each.revision for each in self.old), default=0) + 1


def history_of(daemon_set: DaemonSet, revisions: Iterable[ControllerRevision]) -> History:
    """Revisions told apart."""
    patch = patch_of(daemon_set)
    ordered = sorted(revisions, key=lambda each: (each.revision, each.metadata.name))
    current = [each for each in reversed(ordered) if holds(each, patch)]
    old = [each for each in ordered if each not in current]
    return History(sorted(current, key=is_going), old)


def is_going(revision: ControllerRevision) -> bool:
    """Whether it is deleted and only held by somebody."""
    return revision.metadata.deletion_timestamp is not None


def holds(revision: ControllerRevision, patch: Raw) -> bool:
    """Whether a revision holds this very patch, however it spells it."""
    data = revision.data
    if data is None or data == patch:
        return data == patch
    return _as_go_writes(carried_values(bytes(data))) == bytes(patch)


def patch_of(daemon_set: DaemonSet) -> Raw:
    """The strategic patch that gives a daemon set the template that this one has."""
    template = {**to_builtins(daemon_set.spec.template), "$patch": "replace"}
    return Raw(_as_go_writes({"spec": {"template": template}}))


def make_revision(daemon_set: DaemonSet, number: int) -> ControllerRevision:
    """What keeps the template of now."""
    metadata, template = daemon_set.metadata, daemon_set.spec.template
    mark = template_hash(template, daemon_set.status.collision_count)
    return ControllerRevision(
        metadata=ObjectMeta(
            name=hashed_name(metadata.name, mark),
            namespace=metadata.namespace,
            labels={**template.metadata.labels, LABEL_CONTROLLER_REVISION_HASH: mark},
            # Why the template changed is among them.
            annotations=metadata.annotations,
            owner_references=(controller_reference(daemon_set),),
        ),
        data=patch_of(daemon_set),
        revision=number,
    )


def hash_of(revision: ControllerRevision) -> str:
    """What its pods are labelled with."""
    return revision.metadata.labels.get(LABEL_CONTROLLER_REVISION_HASH, "")


def surplus(
    history: History, limit: int | None, pods: Iterable[Pod]
) -> Sequence[ControllerRevision]:
    """The oldest of what is beyond a limit, but for what pods are still of."""
    if limit is None:
        return ()
    staying = [each for each in history.old if not is_going(each)]
    count = max(0, len(staying) - limit)
    live = {pod.metadata.labels.get(LABEL_CONTROLLER_REVISION_HASH, "") for pod in pods}
    return [each for each in staying if hash_of(each) not in live][:count]


# Go's encoder writes these so, in case the text ends up in a web page.
_ESCAPES: Final = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def _as_go_writes(value: Any) -> bytes:
    """JSON with sorted members, as Go writes what it has read without a type."""
    text = encode(value, ordered=True)
    for plain, escaped in _ESCAPES:  # none of which JSON has outside of its strings
        text = text.replace(plain, escaped)
    return text
