"""ResourceSlices: pools, node selection, devices, attributes, capacities, counters, taints."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.conformance.generate import metadata, objects
from tests.conformance.generate.case import Request, chance
from tests.conformance.generate.claim_statuses import (
    binding_variants,
    device_names,
    pool_names,
    skip_variants,
)
from tests.conformance.generate.claims import driver_names
from tests.conformance.generate.objects import ALPHA_GATES, DRIVER, device, pool, slice_of, taint
from tests.conformance.generate.selections import node_selector_variants
from tests.conformance.generate.writes import (
    Variant,
    create,
    creates,
    in_versions,
    update,
    walked_creates,
    walked_updates,
)

FRACTIONAL = {"DRAFractionalCapacityRange": True}
QUALIFIED_NAMES = (
    "a", "", "A_b", "1a", "a-b", "a.b", "_", "a" * 32, "a" * 33, "x/a", "X.Y/a", "x.y/A", "/a",
    "x/", "/",
    "x/y/z", "x_y/a", "-/a", "x/1", "x" * 63 + "/a", "x" * 64 + "/a", "x/" + "a" * 33, "é", "a b",
    "x//a",
    "d" * 70 + "/" + "i" * 40,
)  # fmt: skip


def slice_creates(random: Random) -> Iterator[Request]:
    yield from in_versions(random, _creates(random))


def slice_updates(random: Random) -> Iterator[Request]:
    yield from in_versions(random, _updates(random))


def plain_variants() -> Iterator[Variant]:
    """Slices that say yes or no to one rule each, with the default gates."""
    yield from _pool_variants()
    yield from _node_variants()
    for name, fields in device_variants():
        yield f"device: {name}", slice_of(device(**fields))
    for name, fields in _consuming_variants():
        yield f"device: {name}", slice_of(device(**fields))
    for name, sets in _counter_variants():
        yield f"counters: {name}", slice_of(devices=None, sharedCounters=sets)
    yield from _size_variants()
    for name in device_names():
        yield f"device named {name[:12]!r}", slice_of(device(name))
    yield "same device twice", slice_of(device(), device())
    yield "same device three times", slice_of(device(), device("b"), device(), device())
    yield "devices and counters", slice_of(device(), sharedCounters=_sets(1))
    yield "empty devices and counters", slice_of(sharedCounters=_sets(1))
    yield "devices and empty counters", slice_of(device(), sharedCounters=[])
    yield "neither", slice_of(devices=None)


def _pool_variants() -> Iterator[Variant]:
    for driver in driver_names():
        yield f"driver {driver[:16]!r}", slice_of(driver=driver)
    for name in pool_names():
        yield f"pool {name[:16]!r}", slice_of(pool=pool(name=name))
    for count in (-1, 0, 1, 2**63 - 1):
        yield f"{count} slices", slice_of(pool=pool(resourceSliceCount=count))
    for generation in (-1, 0, 2**63 - 1):
        yield f"pool generation {generation}", slice_of(pool=pool(generation=generation))
    yield "empty pool", slice_of(pool={})


def _node_variants() -> Iterator[Variant]:
    ways: dict[str, Any] = {
        "nodeName": "node-1",
        "nodeSelector": objects.node_selector(),
        "allNodes": True,
        "perDeviceNodeSelection": True,
    }
    for mask in range(16):
        chosen = {key: way for bit, (key, way) in enumerate(ways.items()) if mask & (1 << bit)}
        none = dict.fromkeys(ways)
        yield f"nodes by {list(chosen)}", slice_of(**(none | chosen))
    for name in ("", "A", "a_b", "a.b", "a" * 253, "a" * 254):
        yield f"node {name[:12]!r}", slice_of(nodeName=name)
    for field in ("allNodes", "perDeviceNodeSelection"):
        yield f"{field} false", slice_of(nodeName=None, **{field: False})
        yield f"{field} false beside nodeName", slice_of(**{field: False})
    for name, nodes in node_selector_variants():
        yield f"selected nodes: {name}", slice_of(nodeName=None, nodeSelector=nodes)
        chosen = device(nodeSelector=nodes)
        yield f"device on: {name}", slice_of(chosen, nodeName=None, perDeviceNodeSelection=True)
    own: dict[str, Any] = {key: ways[key] for key in ("nodeName", "nodeSelector", "allNodes")}
    for mask in range(8):
        chosen = {key: way for bit, (key, way) in enumerate(own.items()) if mask & (1 << bit)}
        for per_device in (True, False, None):
            where = {"perDeviceNodeSelection": per_device} | (
                {"nodeName": None} if per_device else {}
            )
            yield (
                f"device by {list(chosen)}, per device {per_device}",
                slice_of(device(**chosen), **where),
            )
    for fields in ({"nodeName": ""}, {"nodeName": "A_"}, {"allNodes": False}):
        for per_device in (True, None):
            where = {"perDeviceNodeSelection": per_device} | (
                {"nodeName": None} if per_device else {}
            )
            yield (
                f"device by {fields}, per device {per_device}",
                slice_of(device(**fields), **where),
            )


def device_variants() -> Iterator[tuple[str, Request]]:
    for name in QUALIFIED_NAMES:
        yield f"attribute {name[:16]!r}", {"attributes": {name: {"int": 1}}}
        yield f"capacity {name[:16]!r}", {"capacity": {name: {"value": "1"}}}
    yield "attribute without value", {"attributes": {"a": {}}}
    values: tuple[Request, ...] = (
        {"int": 0},
        {"bool": False},
        {"string": ""},
        {"version": "1.0.0"},
    )
    for first in values:
        for second in values:
            yield f"attribute {first | second}", {"attributes": {"a": first | second}}
    for text in ("x" * 64, "x" * 65, "é" * 32, "é" * 33):
        yield f"string of {len(text)}", {"attributes": {"a": {"string": text}}}
    for text in ("", "1", "1.0", "v1.0.0", "1.0.0-a+b", "01.0.0", "1.0.0-" + "a" * 58,
                     "1.0.0-" + "a" * 59,
                 "x" * 65):  # fmt: skip
        yield f"version {text[:12]!r}", {"attributes": {"a": {"version": text}}}
    for attributes, capacities in ((32, 0), (33, 0), (0, 32), (0, 33), (16, 16), (17, 16), (49, 0)):
        yield (
            f"{attributes} attributes, {capacities} capacities",
            {
                "attributes": {f"a{n}": {"int": n} for n in range(attributes)},
                "capacity": {f"c{n}": {"value": "1"} for n in range(capacities)},
            },
        )
    for value in ("0", "-1", "1.5", "1e30", "x", ""):
        yield f"capacity of {value!r}", {"capacity": {"c": {"value": value}}}
    yield "capacity without value", {"capacity": {"c": {}}}
    for name, taints in taint_variants():
        yield f"taint {name}", {"taints": taints}
    for count in (16, 17):
        yield f"{count} taints", {"taints": [taint(key=f"k{n}") for n in range(count)]}
    yield "same taint twice", {"taints": [taint(), taint()]}
    for name, bindings in binding_variants():
        yield f"binding {name}", bindings
    yield "binds to node", {"bindsToNode": True}
    for name, value, policy in policy_variants():
        capacity = {"c": {"value": value, "requestPolicy": policy}}
        yield f"policy {name}", {"allowMultipleAllocations": True, "capacity": capacity}
    capacity = {"c": {"value": "1", "requestPolicy": {"default": "1"}}}
    for allowed in (False, None):
        extra = {"allowMultipleAllocations": allowed} if allowed is not None else {}
        yield f"policy, sharing {allowed}", extra | {"capacity": capacity}
    yield "empty policy, not shared", {"capacity": {"c": {"value": "1", "requestPolicy": {}}}}


def taint_variants() -> Iterator[tuple[str, list[Request]]]:
    for key in ("", "a", "a/b", "A/b", "-", "a/b/c", "k" * 64):
        yield f"key {key[:10]!r}", [taint(key=key)]
    for value in ("", "x", "-", "a b", "x" * 64):
        yield f"value {value[:10]!r}", [taint(value=value)]
    for effect in ("", "NoSchedule", "NoExecute", "None", "none", "PreferNoSchedule"):
        yield f"effect {effect!r}", [taint(effect=effect)]
    yield "empty", [{"timeAdded": objects.PAST}]
    yield "time with fractions", [taint(timeAdded="2025-03-01T10:00:00.75Z")]
    yield "time in a zone", [taint(timeAdded="2025-03-01T12:00:00+02:00")]
    yield "bad time", [taint(timeAdded="yesterday")]


def policy_variants() -> Iterator[tuple[str, str, Request]]:
    yield "empty", "10", {}
    yield "default only", "10", {"default": "99"}
    yield "default null", "10", {"default": None}
    both = {"default": "1", "validValues": ["1"], "validRange": {"min": "1"}}
    yield "values and range", "10", both
    yield "empty values and range", "10", both | {"validValues": []}
    policy: Request
    for values in (["1"], ["1", "2"], ["2", "1"], ["1", "1"], ["1", "1000m"], ["100m", "1"],
                   ["100m", "200m"], ["1", "11"], ["3", "2", "1"], ["-1", "1"], ["0"], ["1", "1.0",
                   "1e0"],
                   ["1Ki", "1024"], [str(n) for n in range(1, 11)],
                   [str(n) for n in range(11)]):  # fmt: skip
        for default in (None, "1", "200m", "7"):
            policy = {"validValues": values} | ({"default": default} if default else {})
            yield f"values {values} default {default}", "10", policy
    for bounds in (
        {}, {"min": "1"}, {"min": "1", "max": "10"}, {"min": "11"}, {"min": "5", "max": "4"},
        {"min": "1", "max": "11"}, {"max": "5"}, {"step": "1"}, {"min": "1", "step": "1"},
        {"min": "1", "step": "3", "max": "10"}, {"min": "1", "step": "4", "max": "10"},
        {"min": "1", "step": "10"}, {"min": "1", "step": "0"}, {"min": "1", "step": "-1"},
        {"min": "0", "step": "2", "max": "10"}, {"min": "-2", "step": "1", "max": "4"},
        {"min": "0", "step": "500m", "max": "10"}, {"min": "500m", "step": "500m", "max": "2"},
        {"min": "1", "step": "1n", "max": "10"}, {"min": "1n", "max": "10"}, {"min": "500m",
        "step": "1"},
        {"min": "1", "step": "1", "max": "1500m"}, {"min": "0", "step": "1n"},
    ):  # fmt: skip
        for default in (None, "1", "7", "1500m", "20", "0", "1n"):
            policy = {"validRange": bounds} | ({"default": default} if default else {})
            yield f"range {bounds} default {default}", "10", policy
    huge = "18446744073709551616"
    for field in ("min", "max", "step"):
        bounds = {"min": "0", "step": "1", "max": huge, field: huge}
        yield f"huge {field}", "1e30", {"default": "0", "validRange": bounds}
    limit = {"min": "0", "step": "1", "max": str(2**63 - 1)}
    yield "max at the limit", "1e30", {"default": "0", "validRange": limit}
    yield "huge default", "1e30", {"default": huge, "validRange": {"min": "0", "step": "1"}}
    yield (
        "huge fraction",
        "1e30",
        {"default": "0.5", "validRange": {"min": "0", "step": "1", "max": "1e19"}},
    )


def _consuming_variants() -> Iterator[tuple[str, Request]]:
    for name, sets in _counter_variants():
        draws = [
            {("counterSet" if key == "name" else key): value for key, value in one.items()}
            for one in sets
        ]
        yield f"draws on {name}", {"consumesCounters": draws}
    for count in (2, 3):
        yield (
            f"draws on {count} sets",
            {
                "consumesCounters": [
                    {"counterSet": f"s{n}", "counters": {"c": {"value": "1"}}} for n in range(count)
                ]
            },
        )


def _sets(count: int) -> list[Request]:
    return [{"name": f"set-{n}", "counters": {"c": {"value": "1"}}} for n in range(count)]


def _counter_variants() -> Iterator[tuple[str, list[Request]]]:
    yield "none", []
    yield "an empty set", [{}]
    for count in (1, 8, 9):
        yield f"{count} sets", _sets(count)
    yield "same set twice", [*_sets(1), *_sets(1)]
    for name in device_names():
        yield f"set {name[:12]!r}", [{"name": name, "counters": {"c": {"value": "1"}}}]
        if name:
            yield f"counter {name[:12]!r}", [{"name": "s", "counters": {name: {"value": "1"}}}]
    yield "empty counter name", [{"name": "s", "counters": {"": {"value": "1"}}}]
    for count in (0, 32, 33):
        counters = {f"c{n}": {"value": "1"} for n in range(count)}
        yield f"{count} counters", [{"name": "s", "counters": counters}]
    for value in ("-1", "0", "1n", "x"):
        yield f"counter of {value}", [{"name": "s", "counters": {"c": {"value": value}}}]
    yield "counter without value", [{"name": "s", "counters": {"c": {}}}]


def _size_variants() -> Iterator[Variant]:
    draws = [{"counterSet": "s", "counters": {"c": {"value": "1"}}}]
    for count in (64, 65, 128, 129):
        for name, extra in (
            ("plain", {}),
            ("tainted", {"taints": [taint()]}),
            ("consuming", {"consumesCounters": draws}),
        ):
            devices = [device(f"d{n}") for n in range(count - 1)]
            yield f"{count} {name} devices", slice_of(*devices, device("last", **extra))


def _alpha_variants() -> Iterator[Variant]:
    lists: tuple[Request, ...] = (
        {"ints": []}, {"ints": [1]}, {"bools": []}, {"bools": [True]}, {"strings": []},
        {"strings": [""]},
        {"strings": ["x" * 64]}, {"strings": ["x" * 65, "ok", "é" * 33]}, {"versions": []},
        {"versions": ["1.0.0", "x"]}, {"versions": ["1.0.0-" + "a" * 59]}, {"ints": [1], "int": 1},
        {"ints": [1], "bools": [True]}, {"strings": ["a"], "string": "a"}, {"ints": [1, 1]},
        {"ints": list(range(48))}, {"ints": list(range(49))},
    )  # fmt: skip
    for values in lists:
        yield f"list attribute {str(values)[:40]}", slice_of(device(attributes={"a": values}))
    many = {f"a{n}": {"ints": [1, 2, 3, 4]} for n in range(12)}
    yield "48 values", slice_of(device(attributes=many))
    yield "49 values", slice_of(device(attributes=many | {"b": {"int": 1}}))
    for count in (64, 65):
        devices = [device(f"d{n}") for n in range(count - 1)]
        last = device("last", attributes={"a": {"ints": [1]}})
        yield f"{count} devices, one with a list", slice_of(*devices, last)
    for name, skipped in skip_variants():
        yield f"skip {name}", slice_of(skipNodeOperations=skipped)
    yield from _node_allocatable_variants()
    yield from _partition_type_variants()
    for groups in (
        [],
        ["a"],
        ["a", "b"],
        ["a", "a"],
        ["a", "b", "c"],
        ["A"],
        [""],
        ["a.b"],
        ["g" * 64],
    ):
        draws = [
            {"counterSet": "s", "counters": {"c": {"value": "1"}}, "compatibilityGroups": groups}
        ]
        yield f"groups {str(groups)[:20]}", slice_of(device(consumesCounters=draws))


def _node_allocatable_variants() -> Iterator[Variant]:
    def of(value: Request, name: str = "memory") -> Request:
        capacity = {"memory": {"value": "1Gi"}, "x.y/z": {"value": "1"}}
        return slice_of(device(capacity=capacity, nodeAllocatableResources={name: value}))

    good = {"capacityKey": "memory", "capacityMultiplier": "1"}
    for name in ("cpu", "memory", "hugepages-2Mi", "hugepages-", "ephemeral-storage", "pods", "",
                 "example.com/gpu", "Memory", "kubernetes.io/x"):  # fmt: skip
        yield f"node resource {name!r}", of({"mapping": good}, name)
    yield "node resource of nothing", of({})
    for mapping in (
        {}, good, {"capacityKey": "memory"}, {"capacityMultiplier": "1"},
        good | {"deviceMultiplier": "1"},
        {"deviceMultiplier": "1"}, {"deviceMultiplier": "0"}, {"deviceMultiplier": "-1"},
        good | {"capacityMultiplier": "0"}, good | {"capacityMultiplier": "-1"},
        good | {"capacityKey": ""}, good | {"capacityKey": "none"}, good | {"capacityKey": "x.y/z"},
        {"capacityKey": "memory", "deviceMultiplier": "1"},
        {"capacityMultiplier": "1", "deviceMultiplier": "1"}, {"capacityKey": "",
        "deviceMultiplier": "0"},
    ):  # fmt: skip
        yield f"mapping {mapping}", of({"mapping": mapping})
    for overhead in ({}, {"perPod": "1"}, {"perContainer": "1"}, {"perPod": "-1",
                     "perContainer": "-1"},
                     {"perPod": "0"}, {"perPod": "0", "perContainer": "1Mi"}):  # fmt: skip
        yield f"overhead {overhead}", of({"overhead": overhead})
        yield f"overhead {overhead} and mapping", of({"overhead": overhead, "mapping": good})


def _partition_type_variants() -> Iterator[Variant]:
    draws = [{"counterSet": "s", "counters": {"c": {"value": "1"}}}]
    name = f"{DRIVER}/profile"
    for attribute in (name, "", "profile", "other.com/profile", "a/b/c", "A.com/x", "a/1"):
        for attributes in ({}, {"profile": {"string": "p"}}, {name: {"string": "p"}},
                           {"profile": {"int": 1}}, {"other.com/profile": {"string": "p"}},
                           {name: {"int": 1}, "profile": {"string": "p"}}):  # fmt: skip
            one = device(attributes=attributes, consumesCounters=draws)
            yield (
                f"partition type {attribute!r} of {list(attributes)}",
                slice_of(one, device("plain"), partitionTypeAttribute=attribute),
            )
    yield "partition type, nothing consumed", slice_of(device(), partitionTypeAttribute=name)
    counters = slice_of(devices=None, sharedCounters=_sets(1), partitionTypeAttribute=name)
    yield "partition type on counters", counters


def _creates(random: Random) -> Iterator[Request]:
    for name, root, gates in (
        ("plain", objects.plain_slice(), {}),
        ("shared", objects.shared_slice(), {}),
        ("counters", objects.counter_slice(), {}),
        ("partitions", objects.partition_slice(), {}),
        ("alpha", objects.alpha_slice(), ALPHA_GATES),
    ):
        yield from walked_creates(random, name, root, soup=30, thoroughness=2, gates=gates)
    yield from creates(plain_variants())
    yield from creates(_alpha_variants(), gates=ALPHA_GATES)
    for name, value, policy in policy_variants():
        capacity = {"c": {"value": value, "requestPolicy": policy}}
        shared = slice_of(device(allowMultipleAllocations=True, capacity=capacity))
        yield create(f"fractional: policy {name}", shared, gates=FRACTIONAL)
    yield from metadata.creates(slice_of())
    yield from _gated_creates(random)
    late = device(taints=[{"key": "a", "effect": "NoSchedule"}])
    yield create("taint without a time", slice_of(late))


def _gated_creates(random: Random) -> Iterator[Request]:
    bases = (
        objects.plain_slice(),
        objects.shared_slice(),
        objects.counter_slice(),
        objects.partition_slice(),
    )
    for gate in ("DRADeviceTaints", "DRAConsumableCapacity", "DRAPartitionableDevices",
                 "DRADeviceBindingConditions", "DeclarativeValidationBeta"):  # fmt: skip
        for root in bases:
            for prepare in (False, True):
                yield create(f"without {gate}", root, gates=objects.without(gate), prepare=prepare)
    for gate in ALPHA_GATES:
        for prepare in (False, True):
            gates = objects.without(gate, ALPHA_GATES)
            yield create(
                f"alpha without {gate}", objects.alpha_slice(), gates=gates, prepare=prepare
            )
    for name, root in _alpha_variants():
        if chance(random, 0.2):
            yield create(f"alpha gates off: {name}", root)
        if chance(random, 0.2):
            yield create(f"alpha gates off, prepared: {name}", root, prepare=True)
    for name, root in plain_variants():
        if chance(random, 0.08):
            yield create(f"no beta: {name}", root, gates={"DeclarativeValidationBeta": False})


def _updates(random: Random) -> Iterator[Request]:
    for name, root, gates in (
        ("plain", objects.plain_slice(), {}),
        ("shared", objects.shared_slice(), {}),
        ("counters", objects.counter_slice(), {}),
        ("partitions", objects.partition_slice(), {}),
        ("alpha", objects.alpha_slice(), ALPHA_GATES),
    ):
        yield from walked_updates(random, name, root, share=0.25, gates=gates)
    yield from metadata.updates(slice_of())
    old = objects.stored(objects.plain_slice())
    for name, root in plain_variants():
        if chance(random, 0.2):
            yield update(f"becomes {name}", objects.stored(root), old)
        if chance(random, 0.25):
            bad = objects.stored(root)
            labelled = objects.stored(root, labels={"touched": "yes"})
            yield update(f"stored with {name}, labels change", labelled, bad)
            bumped = copy.deepcopy(bad)
            if isinstance(bumped["spec"].get("pool"), dict):
                bumped["spec"]["pool"]["generation"] = 9
                yield update(f"stored with {name}, generation changes", bumped, bad)
    for name, root in _alpha_variants():
        if chance(random, 0.3):
            bad = objects.stored(root)
            labelled = objects.stored(root, labels={"touched": "yes"})
            yield update(f"stored with {name}, labels change", labelled, bad, gates=ALPHA_GATES)
            yield update(f"stored with {name}, gates off", labelled, bad)
    yield from _ratchets()


def _ratchets() -> Iterator[Request]:
    """What was stored broken stays acceptable only while its unit stays as it was."""
    broken = {"value": "1", "requestPolicy": {"default": "9", "validValues": ["1"]}}
    stored: tuple[tuple[str, Any, Any], ...] = (
        ("capacity", {"c": broken}, {"c": {"value": "1"}}),
        ("capacity", {"c": broken}, {"c": broken, "d": {"value": "1"}}),
        ("taints", [taint(effect="Bad")], [taint(effect="Bad"), taint()]),
        ("taints", [taint(key="-")], [taint(key="-", value="other")]),
        ("attributes", {"a": {}}, {"a": {}, "b": {"int": 1}}),
        ("attributes", {"-": {"int": 1}}, {"-": {"int": 2}}),
        ("bindingConditions", ["a"], ["a", "b"]),
        ("consumesCounters", [{"counterSet": "-"}], [{"counterSet": "-"}, {"counterSet": "s"}]),
    )
    for field, bad, fixed in stored:
        shared: Request = {"allowMultipleAllocations": True}
        old = objects.stored(slice_of(device(**shared, **{field: bad})))
        for name, new in (
            ("kept", slice_of(device(**shared, **{field: bad}), device("new"))),
            ("changed", slice_of(device(**shared, **{field: fixed}))),
            ("moved", slice_of(device("new"), device(**shared, **{field: bad}))),
            ("renamed", slice_of(device("new", **shared, **{field: bad}))),
        ):
            yield update(f"stored {field} {str(bad)[:30]} {name}", objects.stored(new), old)
    for driver, node in (("other.example.com", "node-1"), (DRIVER, "node-2"), (DRIVER, None)):
        changed = objects.stored(slice_of(driver=driver, nodeName=node))
        yield update(f"driver {driver} node {node}", changed, objects.stored(slice_of()))
    elsewhere = slice_of(nodeName=None, allNodes=True)
    yield update("node name set later", objects.stored(slice_of()), objects.stored(elsewhere))
    chosen = slice_of(nodeName=None, nodeSelector=objects.node_selector())
    yield update("other way to choose nodes", objects.stored(chosen), objects.stored(elsewhere))
    loud = objects.stored(slice_of(driver="GPU.example.com"))
    yield update("upper-case driver kept", loud, loud)
    renamed = slice_of(pool=pool(name="other"))
    yield update("other pool", objects.stored(renamed), objects.stored(slice_of()))
    older = slice_of(pool=pool(generation=1, resourceSliceCount=9))
    yield update("older pool generation", objects.stored(older), objects.stored(slice_of()))
