"""DeviceTaintRule: taints an administrator puts on devices.

Upstream counterpart: ValidateDeviceTaintRule in pkg/apis/resource/validation.
"""

from __future__ import annotations

from typing import Final

from dray.api.resource import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from dray.validation.conditions import check_conditions
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta, validate_object_meta_update
from dray.validation.rulebook import Context, Rulebook, Verdict
from dray.validation.rules import check_dns_label, check_driver_name, check_pool_name, check_size
from dray.validation.taints import check_taint, declare_taint

__all__ = ["CONDITIONS_MAX", "RULEBOOK"]

CONDITIONS_MAX: Final = 8


def _create(new: DeviceTaintRule, _context: Context) -> Verdict:
    handwritten = Findings()
    handwritten.extend(validate_object_meta(new.metadata, namespaced=False))
    return _validate_spec(handwritten, new.spec, None)


def _update(new: DeviceTaintRule, old: DeviceTaintRule, _context: Context) -> Verdict:
    handwritten = Findings()
    handwritten.extend(validate_object_meta_update(new.metadata, old.metadata))
    return _validate_spec(handwritten, new.spec, old.spec)


def _status_update(new: DeviceTaintRule, old: DeviceTaintRule, _context: Context) -> Verdict:
    found = Findings()
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    conditions = new.status.conditions
    check_conditions(found, conditions, "status.conditions")
    check_size(found, conditions, CONDITIONS_MAX, "status.conditions")
    declared = Findings(shared=True)
    declare_taint(declared, new.spec.taint, old.spec.taint, "spec.taint")
    return Verdict(found, declared)


RULEBOOK: Final = Rulebook(
    namespaced=False, create=_create, update=_update, status_update=_status_update
)


def _validate_spec(
    found: Findings, spec: DeviceTaintRuleSpec, old: DeviceTaintRuleSpec | None
) -> Verdict:
    if spec.device_selector is not None:
        _check_selector(found, spec.device_selector, "spec.deviceSelector")
    stored = None if old is None else old.taint
    check_taint(found, spec.taint, stored, "spec.taint")
    declared = Findings(shared=True)
    declare_taint(declared, spec.taint, stored, "spec.taint")
    return Verdict(found, declared)


def _check_selector(found: Findings, selector: DeviceTaintSelector, path: str) -> None:
    if selector.driver is not None:
        check_driver_name(found, selector.driver, f"{path}.driver")
    if selector.pool is not None:
        check_pool_name(found, selector.pool, f"{path}.pool")
    if selector.device is not None:
        check_dns_label(found, selector.device, f"{path}.device")
