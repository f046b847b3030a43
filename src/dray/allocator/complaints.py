"""What to say when claims cannot be judged, in upstream's words.

The search knows devices by number; here they get their names back.
"""

from __future__ import annotations

from dray.allocator.faces import FaceMaker, Refusal
from dray.allocator.layout import Layout
from dray.allocator.preparation import Preparation
from dray.allocator.requests import claim_key
from dray.allocator.rules.constraints import attribute_of
from dray.allocator.solver.attempt import Fault, Stop
from dray.api.node_matching import node_matches
from dray.api.resource import Device
from dray.errors import AllocationError

__all__ = ["failure"]


def failure(stop: Stop, layout: Layout, preparation: Preparation, faces: FaceMaker) -> str:
    """The message of the error that upstream would stop with."""
    if stop.fault is Fault.MESSAGE:
        return stop.message
    want = preparation.wants[stop.want]
    where = f"claim {claim_key(want.claim)}, request {want.name}"
    if stop.fault is Fault.POOL:
        pool = layout.pools[stop.where]
        state = "currently being updated" if pool.incomplete else "currently invalid"
        return f"{where}: asks for all devices, but resource pool {pool.id} is {state}"
    placed = layout.devices[stop.where]
    driver = placed.id.driver
    if stop.fault is Fault.CONSTRAINT:
        return (
            f"{where}: cannot add device {placed.id} because a claim constraint would not be "
            f"satisfied"
        )
    if stop.fault is Fault.DERIVED:
        _, constraint = preparation.constraints[stop.number]
        return faces.derived_failure(want, attribute_of(constraint), placed)
    if stop.fault is Fault.SELECTION:
        return _selection(layout, placed.device)
    fit = faces.of(driver, placed.device).fits[want.index]
    text = faces.failure(want, driver, placed.device, fit)
    if fit.refusal is Refusal.CAPACITY_FAILS:
        device = placed.id.device if want.all_devices else placed.id
        return f"{where}: checking capacity for device {device}: {text}"
    assert isinstance(fit.detail, int)
    own = fit.detail - len(want.device_class.spec.selectors)
    source = (
        f"class {want.device_class.metadata.name}: selector #{fit.detail}"
        if own < 0
        else f"claim {claim_key(want.claim)}: selector #{own}"
    )
    on_device = "" if faces.broken(want, fit.detail) else f" on device {placed.id}"
    return f"{source}{on_device}: {text}"


def _selection(layout: Layout, device: Device) -> str:
    try:
        node_matches(layout.node, device.node_name, device.all_nodes, device.node_selector)
    except AllocationError as error:
        return str(error)
    return ""
