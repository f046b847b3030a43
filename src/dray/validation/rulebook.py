"""What a kind's module offers: its rules for each operation, from both sides.

A kind checks what is its own, metadata included; what the registry checks of every object, and
how the two sides are merged, is the package's business. Upstream counterpart: the strategies of
pkg/registry and the validation functions generated for each version.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dray.api.features import FeatureGates
from dray.validation.findings import Findings

__all__ = ["Context", "Rulebook", "Verdict"]


class Context(NamedTuple):
    """What rules may depend on besides the objects."""

    gates: FeatureGates
    version: str | None  # of the request, where it is not the hub's


class Verdict(NamedTuple):
    """What both sides found."""

    handwritten: Findings
    declared: Findings


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The rules of one kind. Updates get the new object first.

    The objects' type is Any because a table holds rulebooks of all kinds: the key is the type.
    """

    namespaced: bool
    create: Callable[[Any, Context], Verdict]
    update: Callable[[Any, Any, Context], Verdict]
    status_update: Callable[[Any, Any, Context], Verdict] | None = None
