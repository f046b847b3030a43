"""Capacity in generated cases: what devices have, what requests want, what is consumed."""

from __future__ import annotations

from tests.oracle.allocator.world import Object, World, amount

# Values of each capacity: that of a device, the ones a policy or a request may name.
MEMORY = ("16Gi", ("2Gi", "1Gi", "4Gi", "8Gi", "6Gi", "3Gi", "1Gi", "2048Mi", "1536Mi", "16Gi"))
CORES = ("8", ("1", "2", "4", "8", "3", "5000m"))
FRACTIONS = ("2500m", ("500m", "750m", "1", "1250m", "1500m", "2", "600m", "1"))


def device_capacity(world: World) -> Object:
    made: Object = {}
    if world.about("capacity"):
        made["memory"] = {"value": amount(world, world.choice((8, 16)))}
        if world.chance(0.55):
            made["memory"]["requestPolicy"] = memory_policy(world)
        if world.chance(0.3):
            made["cores"] = {"value": world.choice(("4", "8", "7999m"))}
            if world.chance(0.5):
                made["cores"]["requestPolicy"] = cores_policy(world)
    if world.about("fractions"):
        made["bandwidth"] = {"value": world.choice(("1500m", "2500m", "4"))}
        if world.chance(0.85):
            made["bandwidth"]["requestPolicy"] = fraction_policy(world)
    if world.fault == "capacity" and made and world.chance(0.4):
        made[world.choice(list(made))] = odd_capacity(world)
    return made


def odd_capacity(world: World) -> Object:
    """Capacity at the edge of what can be counted, or past it."""
    huge = "100000000000000000000"
    return world.choice(
        (
            {"value": huge},
            {"value": "-1"},
            {"value": huge, "requestPolicy": {"default": huge}},
            {"value": huge, "requestPolicy": {"default": huge, "validValues": ["1", huge]}},
            {
                "value": huge,
                "requestPolicy": {"default": "1", "validRange": {"min": "1", "step": "1"}},
            },
            {
                "value": "9223372036854775807",
                "requestPolicy": {
                    "default": "2",
                    "validRange": {"min": "2", "step": "4000000000000000000"},
                },
            },
            {
                "value": "4",
                "requestPolicy": {"default": "1", "validRange": {"min": "1n", "step": "1m"}},
            },
            {
                "value": "4",
                "requestPolicy": {"default": "-1", "validRange": {"min": "-2", "step": "2"}},
            },
        )
    )


def memory_policy(world: World) -> Object:
    default = world.choice(("1Gi", "2Gi", "1024Mi", "4Gi"))
    way = world.pick({"default": 2, "values": 3, "range": 2, "steps": 3})
    if way == "default":
        return {"default": default}
    if way == "values":
        values = world.choice((["1Gi", "2Gi", "4Gi"], ["2Gi", "8Gi"], ["1024Mi", "4Gi", "8Gi"]))
        made: Object = {"validValues": values}
        if world.chance(0.8):
            made["default"] = world.choice(values) if world.chance(0.7) else default
        return made
    limits: Object = {"min": world.choice(("1Gi", "2Gi", "512Mi"))}
    if world.chance(0.5):
        limits["max"] = world.choice(("4Gi", "8Gi", "16Gi"))
    if way == "steps":
        limits["step"] = world.choice(("1Gi", "2Gi", "512Mi", "3Gi"))
    elif world.chance(0.1):
        del limits["min"]
    made = {"validRange": limits}
    if limits and world.chance(0.85):
        made["default"] = limits.get("min", default) if world.chance(0.6) else default
    return made if limits else {"default": default}


def cores_policy(world: World) -> Object:
    return world.choice(
        (
            {"default": "1"},
            {"default": "1", "validRange": {"min": "1", "step": "1"}},
            {"default": "2", "validRange": {"min": "2", "max": "6", "step": "2"}},
            {"default": "1000m", "validRange": {"min": "1", "max": "4"}},
            {"default": "1", "validValues": ["1", "2", "4"]},
        )
    )


def fraction_policy(world: World) -> Object:
    limits: Object = {"min": world.choice(("250m", "500m", "1", "100m"))}
    if world.chance(0.8):
        limits["step"] = world.choice(("250m", "500m", "100m", "1", "300m"))
    if world.chance(0.5):
        limits["max"] = world.choice(("1500m", "2", "2500m"))
    made: Object = {"validRange": limits}
    if world.chance(0.8):
        made["default"] = limits["min"] if world.chance(0.7) else world.choice(("500m", "1"))
    return made


def wanted(world: World, witness: Object) -> Object:
    """The capacity a request asks for, mostly some that the witness has."""
    names = list(witness.get("capacity", ())) if world.chance(0.9) else ["memory", "cores"]
    values = {"memory": MEMORY[1], "cores": CORES[1]}
    made: Object = {
        name: world.choice(values.get(name, FRACTIONS[1])) for name in names if world.chance(0.75)
    }
    if world.fault == "capacity" and world.chance(0.4):
        name = world.choice(("memory", "bandwidth", "cores", "unheard"))
        made[name] = world.choice(
            ("18446744073709551616", "9223372036854775807", "-1", "1n", "1e21", "0", "0.0001")
        )
    return made


def consumption(world: World, capacity: Object) -> Object:
    """What shares of a device with this capacity consume of it."""
    made: Object = {}
    for name in capacity:
        if name == "memory":
            made[name] = amount(world, world.choice((1, 2, 4, 6)))
        elif name == "cores":
            made[name] = world.choice(CORES[1])
        else:
            made[name] = world.choice(FRACTIONS[1])
    return made
