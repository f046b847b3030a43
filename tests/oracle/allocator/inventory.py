"""The devices of a generated case: pools, their slices, and what of them is in use."""

from __future__ import annotations

from collections.abc import Iterator

from tests.oracle.allocator.capacities import consumption, device_capacity
from tests.oracle.allocator.world import (
    ATTRIBUTES,
    LISTS,
    NODES,
    Object,
    World,
    amount,
    number,
)

NODE_LABELS = {
    "node-1": {"zone": "a", "cores": "8", "arch": "arm64"},
    "node-2": {"zone": "a", "cores": "16", "arch": "amd64"},
    "node-3": {"zone": "b", "cores": "8"},
    "node-4": {"zone": "b", "cores": "32", "arch": "amd64", "spot": "yes"},
}
COUNTER_SETS = ("set-0", "set-1")
DEVICES_LIMIT_THEME = 40


def node(world: World) -> Object:
    made: Object = {"metadata": {"name": world.node, "labels": NODE_LABELS[world.node]}}
    declared = []
    if world.chance(0.8 if world.about("operations") else 0.2):
        declared.append("DRAOptionalNodeOperations")
    if world.chance(0.1):
        declared.insert(0, "SomethingElse")
    if declared:
        made["status"] = {"declaredFeatures": declared}
    return made


def node_selector(world: World, *, matching: bool) -> Object:
    labels = NODE_LABELS[world.node]
    zone = labels["zone"]
    other = "b" if zone == "a" else "a"
    cores = int(labels["cores"])
    right: list[Object] = [
        {"key": "zone", "operator": "In", "values": [zone]},
        {"key": "zone", "operator": "In", "values": ["c", zone]},
        {"key": "zone", "operator": "NotIn", "values": [other]},
        {"key": "cores", "operator": "Exists"},
        {"key": "gpu", "operator": "DoesNotExist"},
        {"key": "cores", "operator": "Gt", "values": [str(cores - 1)]},
        {"key": "cores", "operator": "Lt", "values": [str(cores + 1)]},
    ]
    wrong: list[Object] = [
        {"key": "zone", "operator": "In", "values": [other]},
        {"key": "zone", "operator": "NotIn", "values": [zone, other]},
        {"key": "gpu", "operator": "Exists"},
        {"key": "cores", "operator": "DoesNotExist"},
        {"key": "cores", "operator": "Gt", "values": [str(cores)]},
    ]
    field: Object = {"key": "metadata.name", "operator": "In", "values": [world.node]}
    requirements = world.some(right, 3)
    fields = [field] if world.chance(0.15) else []
    if not matching:
        if world.chance(0.15):
            fields = [{**field, "operator": "NotIn"}]
        else:
            requirements.insert(world.random.randint(0, len(requirements)), world.choice(wrong))
    term: Object = {"matchExpressions": requirements}
    if fields:
        term["matchFields"] = fields
        if world.chance(0.3):
            del term["matchExpressions"]
            if not matching:
                term["matchFields"] = [{**field, "operator": "NotIn"}]
    terms = [term]
    if world.fault == "terms" and world.chance(0.7):
        terms = world.choice(([], [{}], [term, {"matchExpressions": [world.choice(right)]}]))
    if world.fault == "node selector" and world.chance(0.7):
        bad: Object = world.choice(
            (
                {"key": "zone", "operator": "Near", "values": ["a"]},
                {"key": "zone", "operator": "In"},
                {"key": "cores", "operator": "Gt", "values": ["many"]},
                {"key": "not a key", "operator": "Exists"},
            )
        )
        terms = [{"matchExpressions": [*requirements[:1], bad]}]
    return {"nodeSelectorTerms": terms}


def placement(world: World, *, here: float) -> tuple[Object, bool]:
    """Where a slice or a device is, and whether that includes the node of the case."""
    matching = world.chance(here)
    weights = {"nodeName": 5.0, "allNodes": 0.6, "nodeSelector": 0.6}
    if world.about("nodes") or world.fault in ("terms", "node selector"):
        weights = {"nodeName": 3, "allNodes": 2, "nodeSelector": 5}
    way = world.pick(weights)
    if way == "nodeName":
        others = [name for name in NODES if name != world.node]
        return {"nodeName": world.node if matching else world.choice(others)}, matching
    if way == "allNodes":
        return {"allNodes": True}, True
    return {"nodeSelector": node_selector(world, matching=matching)}, matching


def attribute(world: World, kind: str, value: object) -> Object:
    if world.fault == "attribute" and world.chance(0.2):
        return world.choice(({}, {"version": "1.x"}, {"version": "v1"}))
    return {kind: value}


def attributes(world: World, driver: str) -> Object:
    made: Object = {}
    for name, (kind, values) in ATTRIBUTES.items():
        if not world.chance(0.93):
            continue
        key = f"{driver}/{name}" if "/" not in name and world.chance(0.1) else name
        if kind == "int" and world.chance(0.03):
            made[key] = attribute(world, "string", str(world.choice(values)))
        else:
            made[key] = attribute(world, kind, world.choice(values))
    if world.about("lists"):
        for name, (kind, values) in LISTS.items():
            if not world.chance(0.6):
                continue
            if world.chance(0.25):
                made[name] = attribute(world, kind[:-1], world.choice(values))
            else:
                made[name] = attribute(world, kind, sorted(world.some(values, 3)))
    kept = list(made.items())
    world.random.shuffle(kept)
    return dict(kept)


def taint(world: World) -> Object:
    made: Object = {
        "key": world.choice(("health", "repair")),
        "effect": world.pick({"NoSchedule": 6, "NoExecute": 4, "None": 1.5, "Future": 0.3}),
    }
    if world.chance(0.6):
        made["value"] = world.choice(("bad", "worse"))
    return made


def counters_consumed(world: World, sets: list[Object]) -> list[Object]:
    made = []
    for counter_set in world.some(sets, 2 if world.chance(0.25) else 1):
        counters = world.some(list(counter_set["counters"]), 2)
        entry: Object = {
            "counterSet": counter_set["name"],
            "counters": {name: {"value": counter_value(world, name)} for name in counters},
        }
        if world.fault == "unknown counter" and world.chance(0.15):
            if world.chance(0.5):
                entry["counterSet"] = "unknown-set"
            else:
                entry["counters"]["unknown"] = {"value": "1"}
        if world.about("groups") and world.chance(0.7):
            entry["compatibilityGroups"] = world.some(("mig", "vgpu"), 2)
        made.append(entry)
    return made


def counter_value(world: World, name: str) -> str:
    if name == "memory":
        return amount(world, world.choice((5, 10, 20)))
    if name == "shares" and world.chance(0.3):
        return world.choice(("500m", "1500m", "0"))
    return number(world, world.choice((1, 2, 3)))


def counter_sets(world: World) -> list[Object]:
    made = []
    for name in COUNTER_SETS[: world.random.randint(1, 2)]:
        counters: Object = {"memory": {"value": amount(world, world.choice((20, 40)))}}
        if world.chance(0.6):
            counters["shares"] = {"value": number(world, world.choice((3, 4, 7)))}
        made.append({"name": name, "counters": counters})
    if world.fault == "duplicate set" and world.chance(0.5):
        made.append(dict(made[0]))
    return made


def device(world: World, driver: str, name: str, sets: list[Object]) -> Object:
    made: Object = {"name": name}
    if world.chance(0.9):
        made["attributes"] = attributes(world, driver)
    if world.about("capacity", "fractions"):
        if world.chance(0.9):
            made["capacity"] = device_capacity(world)
        if world.chance(0.75):
            made["allowMultipleAllocations"] = True
        elif world.chance(0.1):
            made["allowMultipleAllocations"] = False
    elif world.chance(0.1):
        made["capacity"] = {"memory": {"value": amount(world, world.choice((8, 16)))}}
    if world.about("taints") and world.chance(0.5):
        made["taints"] = [taint(world) for _ in range(world.random.randint(1, 2))]
    if sets and world.chance(0.85):
        made["consumesCounters"] = counters_consumed(world, sets)
    if world.about("binding") and world.chance(0.45):
        made["bindingConditions"] = world.some(("ready", "attached", "powered"), 2)
        made["bindingFailureConditions"] = world.some(("failed", "lost"), 2)
        if world.chance(0.4):
            made["bindsToNode"] = True
    return {key: value for key, value in made.items() if value != {}}


def pool(world: World, driver: str, name: str, names: Iterator[str]) -> list[Object]:
    """The slices of one pool, of all its generations, complete or not."""
    counted = world.about("counters", "groups") and world.chance(0.85)
    sets = counter_sets(world) if counted else []
    generation = world.random.randint(1, 3)
    device_count = world.random.randint(*((1, 4) if world.about("scarcity") else (3, 9)))
    if world.about("limit") and world.chance(0.6):
        device_count = world.random.randint(20, DEVICES_LIMIT_THEME)
    slice_count = min(world.pick({1: 6, 2: 3, 3: 1.5}), device_count)
    device_names = [f"d{index}" for index in range(device_count)]
    if world.chance(0.5):
        world.random.shuffle(device_names)
    if world.fault == "duplicate device" and device_count > 1 and world.chance(0.6):
        device_names[-1] = device_names[0]
    first = not world.stock
    together = placement(world, here=0.97 if first else 0.85) if world.chance(0.65) else None
    made, reachable = [], []
    for index in range(slice_count):
        own, matching = together or placement(world, here=0.8)
        devices = [
            device(world, driver, device_name, sets)
            for device_name in device_names[index::slice_count]
        ]
        if world.about("nodes") and world.chance(0.3):
            own = {"perDeviceNodeSelection": True}
            for each in devices:
                if world.chance(0.97):
                    selection, matching = placement(world, here=0.75)
                    each.update(selection)
                    reachable += [each] if matching else []
        elif matching:
            reachable += devices
        spec: Object = {**own, "devices": devices}
        if world.about("operations") and world.chance(0.5):
            spec["skipNodeOperations"] = ["*"]
        made.append(spec)
    while sets:
        share = sets if world.chance(0.7) else sets[:1]
        own, _ = together or placement(world, here=0.7)
        made.append({**own, "sharedCounters": share})
        sets = sets[len(share) :]
    for spec in made:
        spec["driver"] = driver
        spec["pool"] = {"name": name, "generation": generation, "resourceSliceCount": len(made)}
    slices = [{"metadata": {"name": next(names)}, "spec": spec} for spec in made]
    world.stock += [(driver, each) for each in reachable]
    return spoiled(world, slices, names)


def spoiled(world: World, slices: list[Object], names: Iterator[str]) -> list[Object]:
    """The pool as it may look while its driver is busy with it, or mistaken."""
    pool_of = slices[0]["spec"]["pool"]
    driver = slices[0]["spec"]["driver"]

    def another(generation: int, here: float) -> Object:
        spec = {
            **placement(world, here=here)[0],
            "driver": driver,
            "devices": [device(world, driver, "d0", []), device(world, driver, "old", [])],
            "pool": {**pool_of, "generation": generation},
        }
        return {"metadata": {"name": next(names)}, "spec": spec}

    if world.about("pools"):
        if world.chance(0.35):
            slices = [*slices, another(pool_of["generation"] - 1, 0.8)]
        if world.chance(0.12):
            slices = [*slices, another(pool_of["generation"] + 1, 0.3)]
        if world.chance(0.15):
            slices = [*slices, another(pool_of["generation"], 0.6)]
            if world.chance(0.5):
                slices = [counting(one, len(slices)) for one in slices]
    if (world.about("pools") and world.chance(0.15)) or (
        world.fault == "incomplete" and world.chance(0.7)
    ):
        slices = [counting(one, pool_of["resourceSliceCount"] + 1) for one in slices]
    return slices


def counting(one: Object, count: int) -> Object:
    spec = one["spec"]
    return {**one, "spec": {**spec, "pool": {**spec["pool"], "resourceSliceCount": count}}}


def slice_names(world: World) -> Iterator[str]:
    numbers = list(range(100))
    world.random.shuffle(numbers)
    return (f"slice-{one}" for one in numbers)


def inventory(world: World) -> list[Object]:
    names = slice_names(world)
    made: list[Object] = []
    for driver in world.drivers:
        for name in world.some(("pool-a", "pool-b", world.node), 2 if world.about("pools") else 1):
            made += pool(world, driver, name, names)
    if world.chance(0.03):
        # A slice for nodes selected in a way that is not known yet.
        spec = {
            "driver": world.drivers[0],
            "pool": {"name": "pool-z", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "d0"}],
        }
        made.append({"metadata": {"name": next(names)}, "spec": spec})
    world.random.shuffle(made)
    places = {
        id(each): (one["spec"]["driver"], one["spec"]["pool"]["name"], one["metadata"]["name"], at)
        for one in made
        for at, each in enumerate(one["spec"].get("devices", ()))
    }
    # In the order in which the allocator looks at them.
    world.stock = sorted(
        (entry for entry in world.stock if id(entry[1]) in places),
        key=lambda entry: places[id(entry[1])],
    )
    return made


def in_use(world: World, slices: list[Object]) -> tuple[list[Object], list[Object], list[Object]]:
    """Devices that are allocated, shares of devices, and the capacity these consume."""
    allocated, shared, consumed = [], [], []
    probability = 0.25 if world.about("in use") else 0.04
    seen: set[tuple[str, str, str]] = set()
    for one in slices:
        spec = one["spec"]
        for each in spec.get("devices", ()):
            key = (spec["driver"], spec["pool"]["name"], each["name"])
            if key in seen or not world.chance(probability):
                continue
            seen.add(key)
            name = dict(zip(("driver", "pool", "device"), key, strict=True))
            if not each.get("allowMultipleAllocations") or world.chance(0.08):
                allocated.append(name)
                world.stock = [entry for entry in world.stock if entry[1] is not each]
                continue
            if world.chance(0.9):
                identity = f"00000000-0000-4000-8000-{world.random.randrange(1 << 48):012x}"
                shared.append({**name, "shareID": identity})
            if "capacity" in each and world.chance(0.9):
                consumed.append({**name, "capacity": consumption(world, each["capacity"])})
    if world.chance(0.08):
        ghost = {"driver": world.drivers[0], "pool": "pool-a", "device": "gone"}
        allocated.append(ghost)
        if world.chance(0.3):
            consumed.append({**ghost, "capacity": {"memory": "1Gi"}})
    return allocated, shared, consumed
