"""The pod security standards: what a pod does against the level its namespace asks for.

Restricted runs the checks of baseline, too, except those that it has a stricter form of. Upstream
counterpart: registry.go of k8s.io/pod-security-admission's policy package.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from dray.api.core import PodSpec
from dray.api.meta import ObjectMeta
from dray.server.admission.pod_security_baseline import BASELINE
from dray.server.admission.pod_security_policy import LevelVersion
from dray.server.admission.pod_security_restricted import RESTRICTED
from dray.server.admission.pod_security_view import Check, PodView, Violation

__all__ = ["describe", "violations"]

# The newest version any check knows of; newer ones mean the same.
_NEWEST: Final = 37


def violations(asked: LevelVersion, metadata: ObjectMeta, spec: PodSpec) -> list[Violation]:
    """All that a pod does against a level."""
    if asked.level == "privileged":
        return []
    view = PodView(metadata, spec)
    checks = _checks(asked.level, min(asked.minor, _NEWEST))
    return [found for check in checks if (found := check(view)) is not None]


def describe(found: Iterable[Violation]) -> str:
    """Violations as a refusal lists them."""
    return ", ".join(str(violation) for violation in found)


@lru_cache(maxsize=2 * (_NEWEST + 1))  # every level in every version
def _checks(level: str, minor: int) -> tuple[Check, ...]:
    stricter = [
        (aspect.replaces, form)
        for aspect in (RESTRICTED if level == "restricted" else ())
        if (form := aspect.form(minor)) is not None
    ]
    replaced = {replaces for replaces, _ in stricter}
    baseline = [
        form
        for name, aspect in BASELINE.items()
        if name not in replaced and (form := aspect.form(minor)) is not None
    ]
    return (*baseline, *(form for _, form in stricter))
