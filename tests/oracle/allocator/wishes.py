"""What is asked for in a generated case: classes, claims, requests, constraints, configuration."""

from __future__ import annotations

from tests.oracle.allocator import expressions
from tests.oracle.allocator.capacities import wanted
from tests.oracle.allocator.world import (
    ATTRIBUTES,
    DERIVED_DOMAIN,
    LISTS,
    SHARED_DOMAIN,
    Object,
    World,
)

# How many selectors a request has, and how often; more if it is to be hard to please.
SELECTORS = {0: 7.0, 1: 4.0, 2: 0.6}
SELECTORS_CONTESTED = {0: 1.0, 1: 5.0, 2: 0.5}


def cel(expression: str) -> Object:
    return {"cel": {"expression": expression}}


def configuration(world: World, driver: str) -> Object:
    parameters: Object = {"mode": world.choice(("fast", "safe"))}
    if world.chance(0.3):
        parameters = {"nested": {"list": [1, "two", None]}, **parameters}
    return {"opaque": {"driver": driver, "parameters": parameters}}


def classes(world: World) -> list[Object]:
    made = []
    for index, driver in enumerate(world.drivers):
        selectors = [cel(expressions.by_driver(driver))]
        if world.chance(0.15):
            selectors.append(cel(expressions.selector(world, driver, {})))
        made.append((f"class-{index}", selectors))
    if world.chance(0.35):
        made.append(("class-any", []))
    if world.chance(0.25):
        driver = world.choice(world.drivers)
        made.append(("class-chosen", [cel(expressions.selector(world, driver, {}))]))
    written = []
    for name, selectors in made:
        if world.fault in ("class compile", "class failing") and world.chance(0.5):
            spoil = expressions.broken if world.fault == "class compile" else expressions.failing
            selectors.append(cel(spoil(world, world.choice(world.drivers))))
        spec: Object = {"selectors": selectors} if selectors else {}
        if world.about("config") and world.chance(0.7):
            spec["config"] = [
                configuration(world, world.choice(world.drivers))
                for _ in range(world.random.randint(1, 2))
            ]
        written.append({"metadata": {"name": name}, "spec": spec})
    world.class_names = [name for name, _ in made]
    return written


def toleration(world: World, witness: Object) -> Object:
    taints = witness.get("taints")
    if taints and world.chance(0.6):
        taint = world.choice(taints)
        made = {name: it for name, it in taint.items() if name != "effect" or world.chance(0.5)}
        return made if "value" in made else {**made, "operator": "Exists"}
    made = {}
    operator = world.pick({"Exists": 5, "Equal": 4, "": 3, "Future": 0.3})
    if operator:
        made["operator"] = operator
    if operator != "Exists" or world.chance(0.6):
        made["key"] = world.choice(("health", "repair"))
    if operator != "Exists" and world.chance(0.8):
        made["value"] = world.choice(("bad", "worse"))
    if world.chance(0.5):
        made["effect"] = world.choice(("NoSchedule", "NoExecute"))
        if made["effect"] == "NoExecute" and world.chance(0.3):
            made["tolerationSeconds"] = 60
    return made or {"operator": "Exists"}


def count(world: World) -> int:
    if world.about("limit") and world.chance(0.6):
        return world.pick({8: 2, 11: 2, 12: 2, 13: 2, 16: 2, 19: 2, 20: 2, 32: 1, 33: 0.3})
    if world.fault == "count":
        return world.pick({0: 1, 33: 1, 40: 1, 20: 2, 1: 2})
    return world.pick({0: 0.1, 1: 10, 2: 4, 3: 1.5, 4: 0.6, 5: 0.4})


def witness_of(world: World) -> tuple[str, Object]:
    """A driver, and a device of it that could be what a request is after."""
    if world.contested and world.stock and world.chance(0.8):
        # What the requests before this one are tried with first.
        return world.stock[0]
    if world.stock and world.chance(0.93):
        return world.choice(world.stock)
    return world.choice(world.drivers), {}


def wish(world: World, driver: str, witness: Object) -> Object:
    """What exact requests and alternatives have in common."""
    own = f"class-{world.drivers.index(driver)}"
    others = [name for name in world.class_names if name != own]
    made: Object = {
        "deviceClassName": world.choice(others) if others and world.chance(0.12) else own
    }
    if world.chance(0.3 if world.about("all") else 0.02):
        made["allocationMode"] = "All"
    else:
        made["allocationMode"] = "ExactCount"
        wanted_count = count(world)
        if not world.about("limit") and world.fault != "count" and world.chance(0.9):
            wanted_count = min(wanted_count, max(world.budget, 1))
        if wanted_count:
            made["count"] = wanted_count
    selectors = [
        cel(expressions.selector(world, driver, witness))
        for _ in range(
            world.pick({0: 1, 1: 5, 2: 0.5} if world.contested else {0: 7, 1: 4, 2: 0.6})
        )
    ]
    if world.about("contest") and not world.contested and world.chance(0.8):
        world.contested = True
        selectors = []
    if selectors:
        made["selectors"] = selectors
    if world.about("taints") and world.chance(0.75):
        made["tolerations"] = [
            toleration(world, witness) for _ in range(world.random.randint(1, 2))
        ]
    if world.about("capacity", "fractions"):
        capacity = wanted(world, witness)
        if capacity:
            made["capacity"] = {"requests": capacity}
    if world.about("derived") and world.chance(0.8):
        made["derivedAttributes"] = derived_attributes(world, driver)
    return made


def derived_attributes(world: World, driver: str) -> list[Object]:
    names = [f"{DERIVED_DOMAIN}/group"]
    if world.chance(0.3):
        names.append(world.choice((f"{driver}/model", f"{DERIVED_DOMAIN}/other")))
    make = expressions.derived
    if world.fault == "derived" and world.chance(0.6):
        make = expressions.derived_badly
    return [{"name": name, "expression": make(world, driver)} for name in names]


def request(world: World, name: str) -> Object:
    driver, witness = witness_of(world)
    if world.about("prioritized", "limit") and world.chance(0.55):
        subs = world.pick({1: 1, 2: 6, 3: 3, 4: 1, 8: 0.3})
        names = world.random.sample([f"s{index}" for index in range(8)], subs)
        alternatives = []
        for sub in names:
            if world.chance(0.4):
                driver, witness = witness_of(world)
            alternatives.append({"name": sub, **wish(world, driver, witness)})
        return {"name": name, "firstAvailable": alternatives}
    exactly = wish(world, driver, witness)
    if world.about("admin") and world.chance(0.5):
        exactly["adminAccess"] = world.chance(0.85)
    return {"name": name, "exactly": exactly}


def scope(world: World, requests: list[Object]) -> list[str]:
    """Names for a constraint or a configuration: requests, or alternatives of them."""
    names = []
    for one in world.some(requests, 3) if requests else []:
        if "firstAvailable" in one and world.chance(0.5):
            names += [
                f"{one['name']}/{sub['name']}" for sub in world.some(one["firstAvailable"], 2)
            ]
        else:
            names.append(one["name"])
    return names


def constraint(world: World, requests: list[Object]) -> Object:
    driver = world.choice(world.drivers)
    kind = world.pick({"matchAttribute": 6, "distinctAttribute": 4})
    # Of the attributes with few values more devices agree, of the others more differ.
    among = list(ATTRIBUTES) if world.chance(0.4) else ["fast", f"{SHARED_DOMAIN}/switch"]
    if kind == "distinctAttribute":
        among = ["model", "numa", "version"]
    names = [name if "/" in name else f"{driver}/{name}" for name in among]
    if world.about("lists") and world.chance(0.75):
        names = [f"{driver}/{name}" for name in LISTS]
    if world.about("derived") and world.chance(0.75):
        names = [f"{DERIVED_DOMAIN}/group", f"{DERIVED_DOMAIN}/group", f"{driver}/model"]
    if world.chance(0.03):
        names = [f"{driver}/absent"]
    made: Object = {kind: world.choice(names)}
    if world.chance(0.45):
        made["requests"] = scope(world, requests)
    if world.fault == "constraint" and world.chance(0.6):
        made.pop("matchAttribute", None)
        made.pop("distinctAttribute", None)
    return {key: value for key, value in made.items() if value != []}


def devices_wanted(made: Object) -> int:
    wishes = made.get("firstAvailable") or [made["exactly"]]
    # All devices are taken for two or three.
    return min(int(wish.get("count", 2.5)) for wish in wishes)


def claim(world: World, index: int, request_count: int) -> Object:
    names = ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"]
    if world.chance(0.3):
        world.random.shuffle(names)
    requests: list[Object] = []
    for name in names[:request_count]:
        if world.budget <= 0 and (index or requests) and world.chance(0.85):
            break
        made = request(world, name)
        world.budget -= devices_wanted(made)
        requests.append(made)
    devices: Object = {"requests": requests} if requests else {}
    about = world.about("constraints", "derived", "lists")
    if requests and world.chance(0.65 if about else 0.05):
        devices["constraints"] = [
            constraint(world, requests) for _ in range(world.pick({1: 6, 2: 1.5}))
        ]
    if requests and world.about("config") and world.chance(0.8):
        devices["config"] = [
            claim_configuration(world, requests) for _ in range(world.random.randint(1, 3))
        ]
    metadata: Object = {"name": f"claim-{index}"}
    if world.chance(0.6):
        metadata["namespace"] = world.choice(("default", "team"))
    return {"metadata": metadata, "spec": {"devices": devices}}


def claim_configuration(world: World, requests: list[Object]) -> Object:
    made = configuration(world, world.choice(world.drivers))
    names = scope(world, requests)
    if names and world.chance(0.75):
        made["requests"] = names
    return made


def claims(world: World) -> list[Object]:
    world.budget = len(world.stock) * 3 // 4 + 1
    claim_count = world.pick({0: 0.05, 1: 10, 2: 5, 3: 2, 4: 0.4, 5: 0.3})
    made = []
    for index in range(claim_count):
        weights: dict[int, float] = {0: 0.15, 1: 8, 2: 6, 3: 3, 4: 0.5}
        if claim_count > 2:
            weights = {0: 0.3, 1: 8, 2: 2}
        made.append(claim(world, index, world.pick(weights)))
    spoil(world, made)
    return made


def spoil(world: World, made: list[Object]) -> None:
    """Puts the fault of the case, if it is one of these, into one request."""
    wishes: list[Object] = []
    for one in made:
        for each in one["spec"]["devices"].get("requests", ()):
            wishes += each.get("firstAvailable") or [each["exactly"]]
    if not wishes:
        return
    victim = world.choice(wishes)
    driver = world.choice(world.drivers)
    if world.fault == "missing class":
        victim["deviceClassName"] = "class-missing"
    elif world.fault == "no class":
        victim["deviceClassName"] = ""
    elif world.fault == "mode":
        victim["allocationMode"] = "Future"
    elif world.fault == "selector kind":
        victim.setdefault("selectors", []).append({})
    elif world.fault == "compile":
        victim.setdefault("selectors", []).append(cel(expressions.broken(world, driver)))
    elif world.fault == "failing":
        victim.setdefault("selectors", []).append(cel(expressions.failing(world, driver)))
