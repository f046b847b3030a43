"""Which pod security policy a namespace asks for, by its labels.

Three modes, each with a level and a version of it: `enforce` refuses pods, `warn` tells clients,
`audit` would tell auditors and is only read. A label that makes no sense counts as the strictest
where it enforces and as none where it only tells. Upstream counterpart: k8s.io/pod-security-
admission's api/helpers.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from dray.errors import FieldError, FieldErrorType

__all__ = ["LABEL_PREFIX", "LATEST", "LevelVersion", "Policy", "policy_of"]

LABEL_PREFIX: Final = "pod-security.kubernetes.io/"

_STRICTNESS: Final = {"privileged": 0, "baseline": 1, "restricted": 2}
_VERSION: Final = re.compile(r"v1\.(0|[1-9][0-9]{0,8})")

# As a minor version: above every other.
LATEST: Final = 10**9


class LevelVersion(NamedTuple):
    """What is asked of pods: a level, as some minor version of Kubernetes understood it."""

    level: str = "privileged"
    minor: int = LATEST

    @property
    def strictness(self) -> int:
        return _STRICTNESS[self.level]

    def __str__(self) -> str:
        version = "latest" if self.minor == LATEST else f"v1.{self.minor}"
        return f"{self.level}:{version}"


@dataclass(frozen=True, slots=True)
class Policy:
    """What a namespace asks of its pods."""

    enforce: LevelVersion
    warn: LevelVersion


_PRIVILEGED: Final = Policy(LevelVersion(), LevelVersion())


def policy_of(labels: Mapping[str, str]) -> tuple[Policy, list[FieldError]]:
    """The policy of a namespace with these labels, and what is wrong with them."""
    if not any(label.startswith(LABEL_PREFIX) for label in labels):
        return _PRIVILEGED, []
    errors: list[FieldError] = []
    enforce = _read(labels, "enforce", "restricted", errors)
    _read(labels, "audit", "privileged", errors)
    policy = Policy(enforce=enforce, warn=_read(labels, "warn", "privileged", errors))
    # Whoever is refused pods is warned of what makes them, unless labels say otherwise.
    if (
        f"{LABEL_PREFIX}warn" not in labels
        and labels.get(f"{LABEL_PREFIX}enforce") in _STRICTNESS
        and enforce.strictness > policy.warn.strictness
    ):
        minor = policy.warn.minor if f"{LABEL_PREFIX}warn-version" in labels else enforce.minor
        policy = replace(policy, warn=LevelVersion(enforce.level, minor))
    return policy, errors


def _read(
    labels: Mapping[str, str], mode: str, fallback: str, errors: list[FieldError]
) -> LevelVersion:
    level, minor = "privileged", LATEST
    label = f"{LABEL_PREFIX}{mode}"
    if label in labels:
        level = labels[label]
        if level not in _STRICTNESS:
            errors.append(_invalid(label, level, f"must be one of {', '.join(_STRICTNESS)}"))
            level = fallback
    label = f"{label}-version"
    if label in labels and labels[label] != "latest":
        match = _VERSION.fullmatch(labels[label])
        if match is None:
            errors.append(_invalid(label, labels[label], 'must be "latest" or "v1.x"'))
        else:
            minor = int(match[1])
    return LevelVersion(level, minor)


def _invalid(label: str, value: str, rule: str) -> FieldError:
    return FieldError(FieldErrorType.INVALID, f"metadata.labels[{label}]", value, rule)
