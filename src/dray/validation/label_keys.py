"""Label keys whose values a pod brings along: matchLabelKeys and mismatchLabelKeys.

When a pod is created, each key becomes a clause of the label selector beside it, with the pod's
own value. A key may therefore not be in the selector already. Upstream counterparts:
ValidateMatchLabelKeysAndMismatchLabelKeys and ValidateMatchLabelKeysInTopologySpread in
pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api.meta import LabelSelector
from dray.validation.findings import Findings
from dray.validation.rules import check_label_key

__all__ = ["check_label_keys", "check_label_keys_of_old"]

_IN_BOTH: Final = "exists in both matchLabelKeys and labelSelector"
_WITHOUT_SELECTOR: Final = "must not be specified when labelSelector is not set"


def check_label_keys(
    found: Findings,
    match: Sequence[str],
    mismatch: Sequence[str],
    selector: LabelSelector | None,
    path: str,
) -> None:
    """Keys next to a selector that has their clauses already, so a key there once is expected."""
    for name, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            found.forbidden(f"{path}.{name}", _WITHOUT_SELECTOR)
        elif keys:
            for index, key in enumerate(keys):
                check_label_key(found, key, f"{path}.{name}[{index}]")
    if selector is not None:
        places = {key: index for index, key in enumerate(match)}
        seen = set(selector.match_labels)
        for clause in selector.match_expressions:
            if clause.key in places and clause.key in seen:
                # Upstream forgets to name the list here.
                found.invalid(f"{path}[{places[clause.key]}]", clause.key, _IN_BOTH)
            seen.add(clause.key)
    for index, key in enumerate(match):
        if key in mismatch:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            found.invalid(f"{path}.matchLabelKeys[{index}]", key, detail)


def check_label_keys_of_old(
    found: Findings, match: Sequence[str], selector: LabelSelector | None, path: str
) -> None:
    """Keys of a spread constraint from before clauses were made of them."""
    if not match:
        return
    keys: set[str] = set()
    if selector is None:
        found.forbidden(path, _WITHOUT_SELECTOR)
    else:
        keys = {*selector.match_labels, *(clause.key for clause in selector.match_expressions)}
    for index, key in enumerate(match):
        check_label_key(found, key, f"{path}[{index}]")
        if key in keys:
            found.invalid(f"{path}[{index}]", key, _IN_BOTH)
