"""What a server would silently take out of an object, and for want of which feature gate.

A field whose feature is off is no error to Kubernetes: it is removed, and the author finds out
when nothing happens. Here it is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dray.api.codec import to_builtins
from dray.api.features import FEATURES, FeatureGates
from dray.api.gated_fields import drop_disabled_fields, drop_disabled_status_fields
from dray.api.meta import Object
from dray.api.resource import ResourceClaim

__all__ = ["removed_fields"]


def removed_fields(obj: Object, gates: FeatureGates) -> Iterator[tuple[str, str]]:
    """The path of each field that is removed, with the gate that would keep it."""
    kept = _kept(obj, gates)
    if kept == obj:
        return
    before = to_builtins(obj)
    removed = list(_missing(before, to_builtins(kept), ""))
    # A gate that brings others with it must not be blamed for theirs: those with few needs first.
    off = sorted(set(FEATURES) - set(gates), key=lambda gate: (len(_with(gates, gate)), gate))
    for gate in off:
        kept = _kept(obj, _settings(_with(gates, gate)))
        still = set(_missing(before, to_builtins(kept), ""))
        yield from ((path, gate) for path in removed if path not in still)
        removed = [path for path in removed if path in still]


def _kept(obj: Object, gates: FeatureGates) -> Object:
    kept = drop_disabled_fields(obj, None, gates=gates)
    if isinstance(kept, ResourceClaim):
        return drop_disabled_status_fields(kept, ResourceClaim(), gates=gates)
    return kept


def _missing(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name, member in before.items():
            inner = f"{path}.{name}" if path else str(name)
            if name not in after:
                yield inner
            else:
                yield from _missing(member, after[name], inner)
    elif isinstance(before, list) and isinstance(after, list):
        for index, item in enumerate(before):
            if index < len(after):
                yield from _missing(item, after[index], f"{path}[{index}]")


def _with(gates: FeatureGates, gate: str) -> frozenset[str]:
    """What is on if this gate is on too, and what it needs."""
    on = {*gates}
    waiting = [gate]
    while waiting:
        name = waiting.pop()
        on.add(name)
        waiting.extend(FEATURES[name].needs)
    return frozenset(on)


def _settings(on: frozenset[str]) -> FeatureGates:
    return FeatureGates(
        {name: name in on for name, feature in FEATURES.items() if not feature.locked}
    )
