"""Writes to put before upstream's validation: create, update, status update."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from tests.conformance.generate import objects
from tests.conformance.generate.case import Request, chance
from tests.conformance.generate.mutations import damaged, damaged_much
from tests.conformance.generate.versions import SERVED, written_as

# A named object; the name says what is special about it.
Variant = tuple[str, Request]


def create(name: str, root: Request, **extra: Any) -> Request:
    return {"op": "validate", "name": name, "operation": "create", **extra, "object": root}


def update(name: str, root: Request, old: Request, **extra: Any) -> Request:
    return {
        "op": "validate",
        "name": name,
        "operation": "update",
        **extra,
        "object": root,
        "old": old,
    }


def status_update(name: str, root: Request, old: Request, **extra: Any) -> Request:
    return update(name, root, old, **extra) | {"operation": "statusUpdate"}


def in_versions(
    random: Random, requests: Iterable[Request], *, others: float = 0.7
) -> Iterator[Request]:
    """The requests as v1, and some of them once more in another served version."""
    for request in requests:
        kind = request["object"].get("kind")
        first, *rest = SERVED.get(kind, ("",))
        yield request
        if rest and chance(random, others):
            # The last served version is the one with a shape, and paths, of its own.
            version = random.choice((*rest, rest[-1], rest[-1]))
            again = request | {
                "name": f"{request['name']} in {version}",
                "object": written_as(version, request["object"]),
            }
            if "old" in request:
                # Storage hands the old object out in whatever version it likes.
                again["old"] = written_as(random.choice((version, first)), request["old"])
            yield again


def creates(variants: Iterable[Variant], **extra: Any) -> Iterator[Request]:
    for name, root in variants:
        yield create(name, root, **extra)


def walked_creates(
    random: Random, name: str, root: Request, *, soup: int, thoroughness: int = 3, **extra: Any
) -> Iterator[Request]:
    """A valid object, every single damage to it, and some damaged in several places."""
    yield create(name, root, **extra)
    for damage, other in damaged(random, root, thoroughness=thoroughness):
        yield create(f"{name}: {damage}", other, **extra)
    for damage, other in damaged_much(random, root, soup):
        yield create(f"{name}: {damage}", other, **extra)


def walked_updates(
    random: Random, name: str, root: Request, *, share: float, **extra: Any
) -> Iterator[Request]:
    """Updates from a valid object to damaged ones, and of damaged ones that were stored so."""
    old = objects.stored(root)
    yield update(f"{name}: no change", old, old, **extra)
    for damage, other in damaged(random, old):
        if chance(random, share):
            yield update(f"{name}: {damage}", other, old, **extra)
        if chance(random, share / 3):
            changed = other | {"metadata": _labelled(other.get("metadata"))}
            yield update(f"{name}: stored with {damage}", changed, other, **extra)


def _labelled(metadata: Any) -> Any:
    return metadata | {"labels": {"touched": "yes"}} if isinstance(metadata, dict) else metadata
