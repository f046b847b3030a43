"""A new allocation: the devices a claim gets, their configuration, and where they can be used.

Nothing compares it with slices or classes: whether the devices exist and fit is the scheduler's
word. `check_allocation_result` applies the hand-written rules, `declare_allocation_result` the
ones upstream's schema declares (see `findings`). Upstream counterpart:
pkg/apis/resource/validation.
"""

from __future__ import annotations

from typing import Final

from dray.api.resource import (
    CONFIG_FROM_CLAIM,
    CONFIG_FROM_CLASS,
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceRequestAllocationResult,
)
from dray.validation.device_usage import (
    check_binding_conditions,
    check_skip_node_operations,
    declare_binding_conditions,
    declare_skip_node_operations,
)
from dray.validation.findings import Findings
from dray.validation.node_selectors import check_node_selector
from dray.validation.opaque import check_device_configuration, declare_device_configuration
from dray.validation.resource_claim_spec import (
    CONFIG_MAX,
    RequestNames,
    check_request_reference,
    check_request_references,
    declare_request_references,
)
from dray.validation.rules import (
    check_dns_label,
    check_driver_name,
    check_pool_name,
    check_size,
    check_uuid,
    declare_driver_name,
    declare_pool_name,
    declare_uuid,
)
from dray.validation.taints import check_toleration, declare_toleration

__all__ = [
    "ALLOCATION_CONFIG_MAX",
    "RESULTS_MAX",
    "check_allocation_result",
    "declare_allocation_result",
]

RESULTS_MAX: Final = 32
# A claim's own configuration and that of its classes.
ALLOCATION_CONFIG_MAX: Final = 2 * CONFIG_MAX

_SOURCES: Final = (CONFIG_FROM_CLAIM, CONFIG_FROM_CLASS)


# Hand-written rules ----------------------------------------------------------------------------


def check_allocation_result(
    found: Findings, allocation: AllocationResult, path: str, names: RequestNames
) -> None:
    """`names` are those of the claim's requests, which the results answer."""
    results, config = allocation.devices.results, allocation.devices.config
    if check_size(found, results, RESULTS_MAX, f"{path}.devices.results", shared=True):
        for index, result in enumerate(results):
            _check_result(found, result, f"{path}.devices.results[{index}]", names)
    if check_size(found, config, ALLOCATION_CONFIG_MAX, f"{path}.devices.config", shared=True):
        for index, entry in enumerate(config):
            where = f"{path}.devices.config[{index}]"
            _check_source(found, entry.source, f"{where}.source")
            check_request_references(found, entry.requests, f"{where}.requests", names)
            check_device_configuration(found, entry.opaque, where, stored=False)
    if allocation.node_selector is not None:
        check_node_selector(found, allocation.node_selector, f"{path}.nodeSelector")


def _check_result(
    found: Findings, result: DeviceRequestAllocationResult, path: str, names: RequestNames
) -> None:
    check_request_reference(found, result.request, f"{path}.request", names)
    check_driver_name(found, result.driver, f"{path}.driver", shared=True)
    check_pool_name(found, result.pool, f"{path}.pool", shared=True)
    check_dns_label(found, result.device, f"{path}.device")
    check_binding_conditions(
        found, result.binding_conditions, result.binding_failure_conditions, path
    )
    for index, toleration in enumerate(result.tolerations):
        check_toleration(found, toleration, f"{path}.tolerations[{index}]")
    if result.share_id is not None:
        check_uuid(found, result.share_id, f"{path}.shareID", shared=True)
    check_skip_node_operations(found, result.skip_node_operations, f"{path}.skipNodeOperations")


def _check_source(found: Findings, source: str, path: str) -> None:
    # Said in the same words on both sides.
    if not source:
        found.required(path, shared=True)
    elif source not in _SOURCES:
        found.not_supported(path, source, _SOURCES, shared=True)


# Declared rules --------------------------------------------------------------------------------


def declare_allocation_result(
    found: Findings, allocation: AllocationResult, path: str, *, version: str | None
) -> None:
    results, config = allocation.devices.results, allocation.devices.config
    if check_size(found, results, RESULTS_MAX, f"{path}.devices.results"):
        for index, result in enumerate(results):
            _declare_result(found, result, f"{path}.devices.results[{index}]")
    if check_size(found, config, ALLOCATION_CONFIG_MAX, f"{path}.devices.config"):
        for index, entry in enumerate(config):
            _declare_config(found, entry, f"{path}.devices.config[{index}]", version)


def _declare_result(found: Findings, result: DeviceRequestAllocationResult, path: str) -> None:
    declare_driver_name(found, result.driver, f"{path}.driver")
    if not result.pool:
        found.required(f"{path}.pool")
    else:
        declare_pool_name(found, result.pool, f"{path}.pool")
    for index, toleration in enumerate(result.tolerations):
        declare_toleration(found, toleration, f"{path}.tolerations[{index}]")
    declare_binding_conditions(
        found, result.binding_conditions, result.binding_failure_conditions, path
    )
    if result.share_id is not None:
        declare_uuid(found, result.share_id, f"{path}.shareID")
    declare_skip_node_operations(
        found, result.skip_node_operations, (), f"{path}.skipNodeOperations"
    )


def _declare_config(
    found: Findings, entry: DeviceAllocationConfiguration, path: str, version: str | None
) -> None:
    _check_source(found, entry.source, f"{path}.source")
    declare_request_references(found, entry.requests, f"{path}.requests")
    declare_device_configuration(found, entry.opaque, path, version=version)
