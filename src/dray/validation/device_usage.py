"""What a slice says about using a device, and an allocation result repeats.

Binding conditions hold a pod back until its device is ready; skipped node operations spare a
driver the calls it does not need. Upstream counterpart: pkg/apis/resource/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api.resource import (
    SKIP_ALL_NODE_OPERATIONS,
    SKIP_NODE_PREPARE_RESOURCES,
    SKIP_NODE_UNPREPARE_RESOURCES,
)
from dray.validation.findings import Findings
from dray.validation.rules import check_label_key, check_size, check_unique, declare_unique

__all__ = [
    "BINDING_CONDITIONS_MAX",
    "check_binding_conditions",
    "check_skip_node_operations",
    "declare_binding_conditions",
    "declare_skip_node_operations",
]

BINDING_CONDITIONS_MAX: Final = 4


def check_binding_conditions(
    found: Findings, conditions: Sequence[str], failures: Sequence[str], path: str
) -> None:
    """`path` is the device's; the two lists sit below it."""
    for name, listed in (("bindingConditions", conditions), ("bindingFailureConditions", failures)):
        where = f"{path}.{name}"
        if check_size(found, listed, BINDING_CONDITIONS_MAX, where, shared=True):
            for index, condition in enumerate(listed):
                check_label_key(found, condition, f"{where}[{index}]")
    check_unique(found, conditions, f"{path}.bindingConditions")
    seen: set[str] = set()
    for index, condition in enumerate(failures):
        where = f"{path}.bindingFailureConditions[{index}]"
        if condition in seen:
            found.duplicate(where, condition)
        seen.add(condition)
        if condition in conditions:
            detail = "bindingFailureConditions must not overlap with bindingConditions"
            found.invalid(where, condition, detail)
    if failures and not conditions:
        detail = "bindingConditions are required to use bindingFailureConditions"
        found.invalid(f"{path}.bindingConditions", None, detail)
    if conditions and not failures:
        detail = "bindingFailureConditions are required to use bindingConditions"
        found.invalid(f"{path}.bindingFailureConditions", None, detail)


def declare_binding_conditions(
    found: Findings, conditions: Sequence[str], failures: Sequence[str], path: str
) -> None:
    check_size(found, conditions, BINDING_CONDITIONS_MAX, f"{path}.bindingConditions")
    check_size(found, failures, BINDING_CONDITIONS_MAX, f"{path}.bindingFailureConditions")


_SKIPPABLE: Final = (
    SKIP_ALL_NODE_OPERATIONS,
    SKIP_NODE_PREPARE_RESOURCES,
    SKIP_NODE_UNPREPARE_RESOURCES,
)


def check_skip_node_operations(found: Findings, skipped: Sequence[str], path: str) -> None:
    if (
        SKIP_NODE_PREPARE_RESOURCES in skipped
        and SKIP_NODE_UNPREPARE_RESOURCES not in skipped
        and SKIP_ALL_NODE_OPERATIONS not in skipped
    ):
        detail = (
            "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped"
        )
        found.invalid(path, list(skipped), detail)


def declare_skip_node_operations(
    found: Findings, skipped: Sequence[str], old: Sequence[str], path: str
) -> None:
    """Operations the stored object skips already are not looked at again."""
    if tuple(skipped) == tuple(old):
        return
    declare_unique(found, skipped, skipped, path, shared=False)
    for index, operation in enumerate(skipped):
        if operation not in _SKIPPABLE and operation not in old:
            found.not_supported(f"{path}[{index}]", operation, _SKIPPABLE, shared=False)
