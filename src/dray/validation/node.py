"""Node: a machine pods run on.

Not checked: the form of pod networks, the annotations from before nodes had taints and other
avoidance of pods, the configuration a node may be told to fetch, and what a node says of growing
pods, which belongs to a feature dray does not have. Upstream counterparts: ValidateNode and
ValidateNodeUpdate in pkg/apis/core/validation, pkg/registry/core/node.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from dray.api import names
from dray.api.core import (
    TAINT_EFFECT_NO_EXECUTE,
    TAINT_EFFECT_NO_SCHEDULE,
    TAINT_EFFECT_PREFER_NO_SCHEDULE,
    Node,
    NodeAddress,
    Taint,
)
from dray.errors import FieldError, FieldErrorType, quote
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta, validate_object_meta_update
from dray.validation.pod_resources import check_amount
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import byte_length, check_label_key
from dray.validation.shown import as_internal

__all__ = ["RULEBOOK"]

FEATURE_NAME_BYTES_MAX: Final = 253

_EFFECTS: Final = (
    TAINT_EFFECT_NO_SCHEDULE,
    TAINT_EFFECT_PREFER_NO_SCHEDULE,
    TAINT_EFFECT_NO_EXECUTE,
)
_FEATURE_NAME: Final = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_FEATURE_RULE: Final = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g.,"
    " MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
_FEATURES: Final = "status.declaredFeatures"


def _create(new: Node, _context: Context) -> Verdict:
    found = Findings()
    _check_node(found, new)
    return Verdict(found, Findings())


def _update(new: Node, old: Node, _context: Context) -> Verdict:
    found = Findings()
    _check_node(found, new)
    _check_update(found, new, old)
    return Verdict(found, Findings())


def _update_status(new: Node, old: Node, _context: Context) -> Verdict:
    found = Findings()
    _check_update(found, new, old)
    return Verdict(found, Findings())


def _check_node(found: Findings, node: Node) -> None:
    found.extend(validate_object_meta(node.metadata, namespaced=False))
    _check_taints(found, node.spec.taints)
    _check_amounts(found, node)
    swap = node.status.node_info.swap
    if swap is not None and swap.capacity is not None and swap.capacity <= 0:
        # Upstream looks for swap in the metadata, and for taints too.
        at = "metadata.nodeSwapStatus.capacity"
        found.invalid(at, swap.capacity, "must be greater than zero")
    _check_features(found, node.status.declared_features)


def _check_update(found: Findings, new: Node, old: Node) -> None:
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    _check_amounts(found, new)
    _check_features(found, new.status.declared_features)
    seen: set[tuple[str, str]] = set()
    for index, address in enumerate(new.status.addresses):
        if _identity(address) in seen:
            found.duplicate(f"status.addresses[{index}]", as_internal(address))
        seen.add(_identity(address))
    if old.spec.pod_cidrs and new.spec.pod_cidrs != old.spec.pod_cidrs:
        detail = 'node updates may not change podCIDR except from "" to valid'
        found.forbidden("spec.podCIDRs", detail)
    if old.spec.provider_id not in ("", new.spec.provider_id):
        happened = "modified" if new.spec.provider_id else "cleared"
        found.invalid("spec.providerID", None, f"field cannot be {happened} once set")
    _check_taints(found, new.spec.taints)
    if new.spec.external_id != old.spec.external_id:
        found.forbidden("spec.externalID", "may not be updated")


def _identity(address: NodeAddress) -> tuple[str, str]:
    return address.type, address.address


def _check_taints(found: Findings, taints: Sequence[Taint]) -> None:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        path = f"metadata.taints[{index}]"
        check_label_key(found, taint.key, f"{path}.key")
        messages = names.label_value(taint.value)
        if messages:
            found.invalid(f"{path}.value", taint.value, ";".join(messages))
        if not taint.effect:
            found.required(f"{path}.effect")
        elif taint.effect not in _EFFECTS:
            found.not_supported(f"{path}.effect", taint.effect, _EFFECTS)
        if (taint.key, taint.effect) in seen:
            detail = "taints must be unique by key and effect pair"
            shown = as_internal(taint)
            found.add(FieldError(FieldErrorType.DUPLICATE, path, shown, detail))
        seen.add((taint.key, taint.effect))


def _check_amounts(found: Findings, node: Node) -> None:
    status = node.status
    for place, amounts in (("capacity", status.capacity), ("allocatable", status.allocatable)):
        for name, amount in amounts.items():
            check_amount(found, name, amount, f"status.{place}.{name}")


def _check_features(found: Findings, features: Sequence[str]) -> None:
    """Features in order, each once; an error names the later of two."""
    for index, feature in enumerate(features):
        at = f"{_FEATURES}[{index}]"
        if byte_length(feature) > FEATURE_NAME_BYTES_MAX:
            rule = f"must be no more than {FEATURE_NAME_BYTES_MAX} characters"
            found.invalid(at, feature, f"invalid feature name {quote(feature)}: {rule}")
        elif not _FEATURE_NAME.fullmatch(feature):
            found.invalid(at, feature, f"invalid feature name {quote(feature)}: {_FEATURE_RULE}")
        for following in features[index + 1 : index + 2]:
            at = f"{_FEATURES}[{index + 1}]"
            if feature == following:
                found.duplicate(at, following)
            elif feature.encode() > following.encode():
                found.invalid(at, following, "list must be sorted alphabetically")


RULEBOOK: Final = Rulebook(
    namespaced=False, create=_create, update=_update, status_update=_update_status
)
