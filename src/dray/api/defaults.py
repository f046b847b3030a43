"""What a request may leave out of an object, filled in as upstream fills it in.

Here are the defaults of resource.k8s.io, and the one function that knows those of every kind; the
others are in `pod_defaults`, `workload_defaults` and `plain_defaults`.

Defaulting happens when a body is decoded, so on create, update and patch alike, and at the version
the body is written in: v1beta1 structs are defaulted before they are converted, because there a
request without a class name gets no defaults, which v1 can no longer tell. An object that lacks
nothing is returned itself. The time is an argument: nothing here reads a clock. Upstream
counterpart: pkg/apis/resource/<version>/defaults.go.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from dray.api._edit import edit, edit_items
from dray.api.apps import DaemonSet, Deployment, ReplicaSet
from dray.api.batch import Job
from dray.api.core import Pod
from dray.api.plain_defaults import PLAIN_DEFAULTS
from dray.api.pod_defaults import default_pod
from dray.api.resource import (
    ALLOCATION_MODE_EXACT_COUNT,
    TOLERATION_OPERATOR_EQUAL,
    Device,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSubRequest,
    DeviceTaint,
    DeviceTaintRule,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourcePoolStatusRequest,
    ResourceSlice,
    v1beta1,
)
from dray.api.shared import deriving
from dray.api.wire import Time
from dray.api.workload_defaults import (
    default_daemon_set,
    default_deployment,
    default_job,
    default_replica_set,
)

__all__ = ["POOL_STATUS_LIMIT_DEFAULT", "default"]

# How many pools a ResourcePoolStatusRequest asks for if it does not say.
POOL_STATUS_LIMIT_DEFAULT: Final = 100

T = TypeVar("T")


def default(obj: T, *, now: Time) -> T:
    """The object with defaults at its own version; kinds that have none come back as they are."""
    defaulted = _BY_TYPE.get(type(obj))
    return obj if defaulted is None else defaulted(obj, now)


# Claims and templates --------------------------------------------------------------------------


def _claim(claim: ResourceClaim, _now: Time) -> ResourceClaim:
    return edit(claim, spec=_spec(claim.spec), status=_status(claim.status))


def _template(template: ResourceClaimTemplate, _now: Time) -> ResourceClaimTemplate:
    return edit(template, spec=edit(template.spec, spec=_spec(template.spec.spec)))


@deriving
def _spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    if not spec.devices.requests:
        return spec
    requests = edit_items(spec.devices.requests, _request)
    return edit(spec, devices=edit(spec.devices, requests=requests))


def _request(request: DeviceRequest) -> DeviceRequest:
    return edit(
        request,
        exactly=request.exactly and _counted(request.exactly),
        first_available=edit_items(request.first_available, _counted),
    )


Counted = TypeVar("Counted", ExactDeviceRequest, DeviceSubRequest, v1beta1.DeviceRequest)


def _counted(request: Counted) -> Counted:
    mode = request.allocation_mode or ALLOCATION_MODE_EXACT_COUNT
    count = request.count
    if mode == ALLOCATION_MODE_EXACT_COUNT and count == 0:
        count = 1
    return _tolerating(edit(request, allocation_mode=mode, count=count))


def _tolerating(request: Counted) -> Counted:
    if not request.tolerations:
        return request
    return edit(request, tolerations=edit_items(request.tolerations, _toleration))


def _toleration(toleration: DeviceToleration) -> DeviceToleration:
    return edit(toleration, operator=toleration.operator or TOLERATION_OPERATOR_EQUAL)


def _status(status: ResourceClaimStatus) -> ResourceClaimStatus:
    allocation = status.allocation
    if allocation is None:
        return status
    results = edit_items(allocation.devices.results, _result)
    devices = edit(allocation.devices, results=results)
    return edit(status, allocation=edit(allocation, devices=devices))


def _result(result: DeviceRequestAllocationResult) -> DeviceRequestAllocationResult:
    return edit(result, tolerations=edit_items(result.tolerations, _toleration))


def _v1beta1_claim(claim: v1beta1.ResourceClaim, _now: Time) -> v1beta1.ResourceClaim:
    return edit(claim, spec=_v1beta1_spec(claim.spec), status=_status(claim.status))


def _v1beta1_template(
    template: v1beta1.ResourceClaimTemplate, _now: Time
) -> v1beta1.ResourceClaimTemplate:
    return edit(template, spec=edit(template.spec, spec=_v1beta1_spec(template.spec.spec)))


def _v1beta1_spec(spec: v1beta1.ResourceClaimSpec) -> v1beta1.ResourceClaimSpec:
    if not spec.devices.requests:
        return spec
    requests = edit_items(spec.devices.requests, _v1beta1_request)
    return edit(spec, devices=edit(spec.devices, requests=requests))


def _v1beta1_request(request: v1beta1.DeviceRequest) -> v1beta1.DeviceRequest:
    # Without a class it is a list of alternatives, in which mode and count have no place.
    request = _counted(request) if request.device_class_name else _tolerating(request)
    return edit(request, first_available=edit_items(request.first_available, _counted))


# Taints ----------------------------------------------------------------------------------------


def _slice(slice_: ResourceSlice, now: Time) -> ResourceSlice:
    if not slice_.spec.devices:
        return slice_
    devices = edit_items(slice_.spec.devices, partial(_device, now=now))
    return edit(slice_, spec=edit(slice_.spec, devices=devices))


def _device(device: Device, *, now: Time) -> Device:
    # Most devices have no taint, and a slice has many devices.
    if not device.taints:
        return device
    return edit(device, taints=edit_items(device.taints, partial(_taint, now=now)))


def _taint(taint: DeviceTaint, *, now: Time) -> DeviceTaint:
    return edit(taint, time_added=taint.time_added or now)


def _v1beta1_slice(slice_: v1beta1.ResourceSlice, now: Time) -> v1beta1.ResourceSlice:
    if not slice_.spec.devices:
        return slice_
    devices = edit_items(slice_.spec.devices, partial(_v1beta1_device, now=now))
    return edit(slice_, spec=edit(slice_.spec, devices=devices))


def _v1beta1_device(device: v1beta1.Device, *, now: Time) -> v1beta1.Device:
    basic = device.basic
    if basic is None or not basic.taints:
        return device
    taints = edit_items(basic.taints, partial(_taint, now=now))
    return edit(device, basic=edit(basic, taints=taints))


def _taint_rule(rule: DeviceTaintRule, now: Time) -> DeviceTaintRule:
    return edit(rule, spec=edit(rule.spec, taint=_taint(rule.spec.taint, now=now)))


# Questions about pools -------------------------------------------------------------------------


def _pool_status_request(
    request: ResourcePoolStatusRequest, _now: Time
) -> ResourcePoolStatusRequest:
    if request.spec.limit is not None:
        return request
    return edit(request, spec=edit(request.spec, limit=POOL_STATUS_LIMIT_DEFAULT))


# Everything -------------------------------------------------------------------------------------


def _timeless(filled_in: Callable[[Any], Any], obj: Any, _now: Time) -> Any:
    return filled_in(obj)


_TIMELESS: Final[dict[type[Any], Callable[[Any], Any]]] = {
    Pod: default_pod,
    Deployment: default_deployment,
    ReplicaSet: default_replica_set,
    DaemonSet: default_daemon_set,
    Job: default_job,
    **PLAIN_DEFAULTS,
}

_BY_TYPE: Final[dict[type[Any], Callable[[Any, Time], Any]]] = {
    ResourceClaim: _claim,
    ResourceClaimTemplate: _template,
    ResourceSlice: _slice,
    DeviceTaintRule: _taint_rule,
    ResourcePoolStatusRequest: _pool_status_request,
    v1beta1.ResourceClaim: _v1beta1_claim,
    v1beta1.ResourceClaimTemplate: _v1beta1_template,
    v1beta1.ResourceSlice: _v1beta1_slice,
    **{kind: partial(_timeless, filled_in) for kind, filled_in in _TIMELESS.items()},
}
