"""How to make a change that would help: which field of which object, or which command.

The allocator speaks of claims and requests; people have templates, pods and classes. Paths are
those of the newest version of a kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from dray.allocator.explain.changes import Change, ChangeKind, Place, Situation, Unit
from dray.api.codec import to_builtins
from dray.api.core import Pod
from dray.api.meta import OwnerReference
from dray.api.resource import ALLOCATION_MODE_ALL, ALLOCATION_MODE_EXACT_COUNT, ResourceClaim
from dray.cli.explain_answer import Step
from dray.cli.snapshot import ObjectName, Snapshot, Subject

__all__ = ["steps_for"]

UNITS_SHOWN_MAX: Final = 5
"""Claims to free that are told one by one."""


def steps_for(
    change: Change, snapshot: Snapshot, subject: Subject, claims: tuple[ResourceClaim, ...]
) -> tuple[Step, ...]:
    """What to do; `claims` are those the change was found for, in their order."""
    if change.kind is ChangeKind.FREE:
        return tuple(_free(change.units, snapshot))
    if change.kind is ChangeKind.POOL:
        driver, _, pool = change.pool.partition("/")
        note = f"only driver {driver} can: look at its pods, and at the slices of pool {pool}"
        return (Step(note=note),)
    if change.kind is ChangeKind.CLASS_SELECTOR:
        where = f"DeviceClass {change.device_class}"
        return (_selector(where, f"spec.selectors[{change.selector}]", change.expression),)
    return tuple(
        step for place in change.places for step in _at(change, place, subject, claims[place.claim])
    )


# Requests --------------------------------------------------------------------------------------


def _at(change: Change, place: Place, subject: Subject, claim: ResourceClaim) -> Iterator[Step]:
    if place.claim >= len(subject.claims):
        yield _extended(change, place, subject, claim)
        return
    wanted = subject.claims[place.claim]
    where, prefix = f"ResourceClaim {wanted.name}", "spec.devices"
    if wanted.template:
        template = ObjectName(wanted.name.namespace, wanted.template)
        where, prefix = f"ResourceClaimTemplate {template}", "spec.spec.devices"
    if change.kind is ChangeKind.CONSTRAINT:
        yield Step(where, f"{prefix}.constraints[{change.constraint}]")
        return
    request = f"{prefix}.requests[{place.request}]"
    if change.kind is ChangeKind.ALTERNATIVE:
        yield _alternatives(change, place, claim, where, request)
        return
    inner = "exactly" if place.alternative is None else f"firstAvailable[{place.alternative}]"
    path = f"{request}.{inner}"
    if change.kind is ChangeKind.COUNT:
        yield Step(where, f"{path}.count", change.count)
        if _mode(claim, place) == ALLOCATION_MODE_ALL:
            yield Step(where, f"{path}.allocationMode", ALLOCATION_MODE_EXACT_COUNT)
    elif change.kind is ChangeKind.TOLERATE:
        for toleration in change.tolerations:
            yield Step(where, f"{path}.tolerations[]", to_builtins(toleration))
    elif change.kind is ChangeKind.SELECTOR:
        yield _selector(where, f"{path}.selectors[{change.selector}]", change.expression)
    elif change.kind is ChangeKind.CAPACITY:
        amount: Any = str(change.amount) if change.amount is not None else None
        yield Step(where, f"{path}.capacity.requests[{change.capacity}]", amount)


def _alternatives(
    change: Change, place: Place, claim: ResourceClaim, where: str, path: str
) -> Step:
    """The request with a second choice, written out."""
    here = replace(change, places=(place._replace(claim=0),))
    (changed,) = Situation((claim,), {}).changed((here,)).claims
    request = (changed.spec.devices.requests or ())[place.request]
    value = to_builtins(request)["firstAvailable"]
    removed = (f"{path}.exactly",)
    note = "in place of exactly"
    return Step(where, f"{path}.firstAvailable", value, note=note, removed=removed)


# Conditions that were dropped have `true` in their place. At either end that can go too.
_NOTHING_LEFT: Final = re.compile(r"[\s()]*true(?:[\s()]*&&[\s()]*true)*[\s()]*")
_FIRST_TRUE: Final = re.compile(r"\A(?:\s*true\s*&&\s*)+")
_LAST_TRUE: Final = re.compile(r"(?:\s*&&\s*true\s*)+\Z")


def _selector(where: str, path: str, expression: str) -> Step:
    if _NOTHING_LEFT.fullmatch(expression):
        return Step(where, path)
    expression = _LAST_TRUE.sub("", _FIRST_TRUE.sub("", expression))
    return Step(where, f"{path}.cel.expression", expression)


def _mode(claim: ResourceClaim, place: Place) -> str:
    request = (claim.spec.devices.requests or ())[place.request]
    if place.alternative is not None:
        return request.first_available[place.alternative].allocation_mode
    return request.exactly.allocation_mode if request.exactly is not None else ""


def _extended(change: Change, place: Place, subject: Subject, claim: ResourceClaim) -> Step:
    """A change to a claim that stands for the extended resources of a pod."""
    pod = subject.pod
    assert pod is not None
    where = f"Pod {subject.name}"
    if change.kind is not ChangeKind.COUNT:
        return Step(where, note="extended resources cannot say that: ask with a ResourceClaim")
    name = (claim.spec.devices.requests or ())[place.request].name
    _, number, _, position = name.split("-")
    index, first = int(number), len(pod.spec.init_containers)
    containers = (*pod.spec.init_containers, *(pod.spec.containers or ()))
    resource = sorted(containers[index].resources.requests)[int(position)]
    inner = f"initContainers[{index}]" if index < first else f"containers[{index - first}]"
    return Step(where, f"spec.{inner}.resources.limits[{resource}]", change.count)


# Devices in use --------------------------------------------------------------------------------

# Owners that run fewer pods when told so.
_SCALED: Final = frozenset({"ReplicaSet", "StatefulSet", "ReplicationController"})


def _controller(pod: Pod) -> OwnerReference | None:
    owners = pod.metadata.owner_references
    return next((owner for owner in owners if owner.controller), None)


def _scale(holder: str, delete: str, owner: OwnerReference, namespace: str) -> Step:
    """A pod that is deleted comes back if something else is in charge of it."""
    named = f"{owner.kind}/{owner.name}"
    if owner.kind not in _SCALED:
        return Step(holder, command=delete, note=f"{named} may make it anew: end that instead")
    command = f"kubectl scale {owner.kind.lower()} {owner.name} -n {namespace} --replicas=…"
    above = ", or its Deployment" if owner.kind == "ReplicaSet" else ""
    note = f"one less{above}: a pod that is merely deleted is made anew by {named}"
    return Step(holder, command=command, note=note)


def _free(units: tuple[Unit, ...], snapshot: Snapshot) -> Iterator[Step]:
    for unit in units[:UNITS_SHOWN_MAX]:
        if not unit.holder:
            devices = ", ".join(map(str, unit.devices))
            yield Step(note=f"nobody knows who holds {devices}")
            continue
        namespace, _, name = unit.holder.rpartition("/")
        claim = snapshot.claims.get(ObjectName(namespace, name))
        consumers = claim.status.reserved_for if claim is not None else ()
        for one in consumers[:UNITS_SHOWN_MAX]:
            resource = (
                one.resource.removesuffix("s")
                if not one.api_group
                else (f"{one.resource}.{one.api_group}")
            )
            delete = f"kubectl delete {resource} {one.name} -n {namespace}"
            holder = f"ResourceClaim {unit.holder}"
            pod = snapshot.pods.get(ObjectName(namespace, one.name))
            owner = _controller(pod) if resource == "pod" and pod is not None else None
            if owner is None:
                yield Step(holder, command=delete)
            else:
                yield _scale(holder, delete, owner, namespace)
        if not consumers:
            yield Step(
                f"ResourceClaim {unit.holder}",
                command=f"kubectl delete resourceclaim {name} -n {namespace}",
                note="reserved for nobody",
            )
    more = len(units) - UNITS_SHOWN_MAX
    if more > 0:
        yield Step(note=f"and {more} more claims")
