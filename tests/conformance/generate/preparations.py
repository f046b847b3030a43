"""What a write does to an object before validation: stripping by gate, status, generation."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.conformance.generate import objects, pods
from tests.conformance.generate.case import Request, chance
from tests.conformance.generate.conversions import bases, thinned
from tests.conformance.generate.mutations import damaged
from tests.conformance.generate.objects import ALPHA_GATES
from tests.conformance.generate.versions import SERVED, written_as

RANDOM_WRITES = 500
SWITCHABLE_GATES = (
    "DRAConsumableCapacity",
    "DRADeviceTaints",
    "DRADeviceBindingConditions",
    "DRAPartitionableDevices",
    *ALPHA_GATES,
)
HAS_STATUS = ("ResourceClaim", "DeviceTaintRule", "ResourcePoolStatusRequest", "Pod")


def preparations(random: Random) -> Iterator[Request]:
    yield from _by_gate()
    yield from _in_use()
    yield from _generations(random)
    yield from _statuses()
    for _ in range(RANDOM_WRITES):
        yield _random_write(random)
    yield from pods.preparations(random)


def prepare(
    name: str, operation: str, root: Request, old: Request | None, **extra: object
) -> Request:
    request = {"op": "prepare", "name": name, "operation": operation, **extra, "object": root}
    return request if old is None else request | {"old": old}


def _bare(root: Request) -> Request:
    """An object of the same kind that uses no feature at all."""
    empty = {
        "ResourceClaim": objects.claim({"devices": {"requests": [objects.request("gpu")]}}),
        "ResourceClaimTemplate": objects.template() | {"spec": {"spec": {}}},
        "DeviceClass": objects.device_class() | {"spec": {}},
        "DeviceTaintRule": objects.taint_rule(),
        "ResourceSlice": objects.slice_of(objects.device()),
        "ResourcePoolStatusRequest": objects.pool_request() | {"spec": {"driver": objects.DRIVER}},
    }
    return empty[root["kind"]]


def _by_gate() -> Iterator[Request]:
    """Each gate off: on create, over an object without the feature, and over one with it."""
    for gate in (None, *SWITCHABLE_GATES):
        gates = ALPHA_GATES if gate is None else objects.without(gate, ALPHA_GATES)
        word = "all gates" if gate is None else f"no {gate}"
        for root in bases():
            old_bare, old_full = objects.stored(_bare(root)), objects.stored(root)
            yield prepare(f"{word}: create", "create", root, None, gates=gates)
            yield prepare(f"{word}: over none", "update", old_full, old_bare, gates=gates)
            yield prepare(f"{word}: over some", "update", old_full, old_full, gates=gates)
            if root["kind"] in HAS_STATUS:
                yield prepare(f"{word}: status", "statusUpdate", old_full, old_bare, gates=gates)
                yield prepare(
                    f"{word}: status kept", "statusUpdate", old_full, old_full, gates=gates
                )
    for root in bases():
        yield prepare("default gates: create", "create", root, None)


def _in_use() -> Iterator[Request]:
    """One field of a feature is enough to keep all of it, whichever field that is."""
    new_slice = objects.stored(objects.alpha_slice())
    full = objects.stored(objects.claim()) | {"status": objects.claim_status()}
    shared, parts = (
        objects.stored(objects.shared_slice()),
        objects.stored(objects.partition_slice()),
    )
    policy = {"c": {"value": "1", "requestPolicy": {"default": "1"}}}
    draws = [{"counterSet": "s", "counters": {"c": {"value": "1"}}}]
    groups = [draws[0] | {"compatibilityGroups": ["a"]}]
    for gate, new, device in (
        ("DRAConsumableCapacity", shared, {"capacity": policy}),
        ("DRAConsumableCapacity", shared, {"allowMultipleAllocations": False}),
        ("DRAPartitionableDevices", parts, {"consumesCounters": draws}),
        ("DRAPartitionableDevices", parts, {"nodeName": "node-1"}),
        ("DRAPartitionableDevices", parts, {"allNodes": True}),
        ("DRADeviceTaints", objects.stored(objects.plain_slice()), {"taints": [objects.taint()]}),
        ("DRADeviceBindingConditions", objects.stored(objects.plain_slice()),
        {"bindsToNode": False}),
        ("DRAListTypeAttributes", new_slice, {"attributes": {"a": {"bools": [True]}}}),
        ("DRADeviceCompatibilityGroups", new_slice, {"consumesCounters": groups}),
        ("DRANodeAllocatableResources", new_slice, {"nodeAllocatableResources": {"cpu": {}}}),
    ):  # fmt: skip
        old = objects.stored(objects.slice_of(objects.device(**device)))
        gates = objects.without(gate, ALPHA_GATES)
        yield prepare(f"no {gate}, in use by {list(device)}", "update", new, old, gates=gates)
    for gate, status in (
        ("DRAConsumableCapacity", {"allocation": _held(shareID=objects.SHARE_ID)}),
        ("DRAConsumableCapacity", {"allocation": _held(consumedCapacity={"a": "1"})}),
        ("DRAConsumableCapacity", {"devices": [objects.device_status(shareID=objects.SHARE_ID)]}),
        ("DRADeviceBindingConditions", {"allocation": _held(bindingConditions=["a"])}),
        ("DRADeviceBindingConditions", {"allocation": _held(bindingFailureConditions=["a"])}),
        ("DRAOptionalNodeOperations", {"allocation": _held(skipNodeOperations=["*"])}),
    ):
        old = objects.stored(_bare(full)) | {"status": status}
        new = full | {"status": full["status"] | {"allocation": _held(skipNodeOperations=["*"])}}
        gates = objects.without(gate, ALPHA_GATES)
        yield prepare(f"no {gate}, status in use", "statusUpdate", full, old, gates=gates)
        yield prepare(f"no {gate}, status in use", "statusUpdate", new, old, gates=gates)
    amount = {"capacity": {"requests": {"memory": "1"}}}
    for gate, spec in (
        ("DRAConsumableCapacity", {"requests": [objects.request("a", **amount)]}),
        ("DRAConsumableCapacity",
         {"requests": [objects.choice("a", objects.subrequest("b", **amount))]}),
        ("DRAConsumableCapacity", {"constraints": [{"distinctAttribute": "a.com/b"}]}),
        ("DRADeviceTaints", {"requests": [objects.request("a",
        tolerations=[objects.toleration()])]}),
        ("DRADeviceTaints",
         {"requests": [objects.choice("a", objects.subrequest("b",
         tolerations=[objects.toleration()]))]}),
    ):  # fmt: skip
        old = objects.stored(objects.claim({"devices": spec}))
        gates = objects.without(gate, ALPHA_GATES)
        yield prepare(f"no {gate}, spec in use", "update", full, old, gates=gates)


def _held(**extra: Any) -> Request:
    return {"devices": {"results": [objects.result(**extra)]}}


def _generations(random: Random) -> Iterator[Request]:
    """Which changes bump the generation; the old object is at 4 and the new one claims 9."""
    for root in bases():
        old = objects.stored(root, generation=4)
        claimed = objects.stored(root, generation=9)
        yield prepare("generation: nothing changes", "update", claimed, old, gates=ALPHA_GATES)
        relabelled = objects.stored(root, generation=9, labels={"a": "b"})
        yield prepare("generation: labels change", "update", relabelled, old, gates=ALPHA_GATES)
        yield prepare("generation: on create", "create", claimed, None, gates=ALPHA_GATES)
        for damage, other in damaged(random, claimed, below=("spec",), thoroughness=1):
            if chance(random, 0.08):
                yield prepare(f"generation: {damage}", "update", other, old, gates=ALPHA_GATES)
    plain = objects.stored(objects.plain_slice(), generation=4)
    grown = copy.deepcopy(plain)
    grown["spec"]["devices"][1]["taints"] = [objects.taint()]
    bare = objects.stored(objects.slice_of(objects.device()), generation=4)
    tainted = objects.stored(objects.slice_of(objects.device(taints=[objects.taint()])))
    off = objects.without("DRADeviceTaints")
    yield prepare("generation: only a stripped field changes", "update", tainted, bare, gates=off)
    yield prepare("generation: a kept field changes", "update", grown, plain, gates=off)
    for effect in ("NoSchedule", "NoExecute", "None"):
        for added in (objects.PAST, objects.LATER, None):
            rule = objects.stored(objects.taint_rule(), generation=4)
            taint = objects.taint(effect=effect) | {"timeAdded": added}
            changed = rule | {"spec": rule["spec"] | {"taint": taint}}
            yield prepare(f"taint rule: {effect} added {added}", "update", changed, rule)


def _statuses() -> Iterator[Request]:
    """Status writes: what is taken from the old object, and which reports are dropped."""
    full = objects.claim_status()
    old = objects.stored(objects.claim(), generation=4, labels={"old": "label"}) | {"status": full}
    for name, status in (
        ("deallocated", {"devices": full["devices"]}),
        ("empty", {}),
        ("reallocated", {"allocation": {"devices": {"results": [objects.result("gpu-7")]}},
                         "devices": full["devices"]}),
        ("share lost", {"allocation": {"devices": {"results": [objects.result()]}},
                        "devices": [*full["devices"], objects.device_status()]}),
        ("stray report", full | {"devices": [objects.device_status("gpu-9")]}),
        ("unchanged", full),
    ):  # fmt: skip
        for version in SERVED["ResourceClaim"]:
            new = objects.stored(objects.claim({}), labels={"new": "label"}, finalizers=["a/b"])
            new |= {"status": status}
            yield prepare(f"claim status: {name}", "statusUpdate", written_as(version, new), old)
    for root, status in (
        (objects.taint_rule(), {"conditions": [objects.condition()]}),
        (objects.pool_request(), objects.pool_request_status()),
    ):
        before = objects.stored(root, generation=4, labels={"old": "label"})
        after = objects.stored(root, generation=9, labels={"new": "label"}) | {"status": status}
        after |= {"spec": {}}
        for operation in ("statusUpdate", "update"):
            yield prepare("status and all else", operation, after, before, gates=ALPHA_GATES)
            yield prepare("status kept", operation, before, after, gates=ALPHA_GATES)


def _random_write(random: Random) -> Request:
    root = random.choice(bases())
    gates: dict[str, bool] = dict(ALPHA_GATES)
    for gate in random.sample(SWITCHABLE_GATES, random.randint(0, 4)):
        gates = objects.without(gate, gates)
    operations = ["create", "update"] + (["statusUpdate"] if root["kind"] in HAS_STATUS else [])
    operation = random.choice(operations)
    version = random.choice(SERVED[root["kind"]])
    new = thinned(random, root) | {"metadata": root["metadata"]}
    if operation == "create":
        return prepare("random", operation, written_as(version, new), None, gates=gates)
    old = thinned(random, root) | {"metadata": root["metadata"]}
    stored = objects.stored(old, generation=random.randint(1, 9))
    return prepare(
        "random", operation, written_as(version, objects.stored(new)), stored, gates=gates
    )
