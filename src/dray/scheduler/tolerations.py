"""Which taints keep a pod off a node: those with an effect on scheduling that it does not tolerate.

Device taints are the allocator's. Upstream counterpart: component-helpers' scheduling/corev1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dray.api.core import TAINT_EFFECT_NO_EXECUTE, TAINT_EFFECT_NO_SCHEDULE, Taint, Toleration
from dray.api.node_taints import tolerates

__all__ = ["tolerated", "untolerated"]

# The effects that keep new pods away; PreferNoSchedule merely advises against.
_KEEPING_AWAY: Final = (TAINT_EFFECT_NO_SCHEDULE, TAINT_EFFECT_NO_EXECUTE)


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first taint that keeps a pod with these tolerations away, if any does."""
    for taint in taints:
        if taint.effect in _KEEPING_AWAY and not tolerated(taint, tolerations):
            return taint
    return None


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any of the tolerations withstands the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)
