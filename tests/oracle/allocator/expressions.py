"""Expressions for generated cases: selectors that tell devices apart, and derived attributes."""

from __future__ import annotations

from tests.oracle.allocator.world import ATTRIBUTES, LISTS, SHARED_DOMAIN, Object, World


def by_driver(driver: str) -> str:
    return f'device.driver == "{driver}"'


def selector(world: World, driver: str, witness: Object) -> str:
    """A selector that compiles, rarely fails on the driver's devices and may suit the witness."""
    attributes = f'device.attributes["{driver}"]'
    published = witness.get("attributes", {}) if world.chance(0.88) else {}
    model = published.get("model", {}).get("string", world.choice(ATTRIBUTES["model"][1]))
    numa = published.get("numa", {}).get("int", world.choice(ATTRIBUTES["numa"][1]))
    version = world.choice(("1.5.0", "2.0.0", "2.1.0"))
    choices: dict[str, float] = {
        f'"model" in {attributes} && {attributes}.model == "{model}"': 5,
        f'has({attributes}.model) && {attributes}["model"] != "{model}"': 1.5,
        f"!has({attributes}.numa) || {attributes}.numa in [{numa}, {(numa + 1) % 3}]": 4,
        f'{attributes}.?model.orValue("t4") == "{model}"': 3,
        f"has({attributes}.numa) ? {attributes}.numa >= {numa} : true": 3,
        f"has({attributes}.fast) && {attributes}.fast": 2,
        f'has({attributes}.version) && {attributes}.version.isGreaterThan(semver("{version}"))': 2,
        f'{attributes}.?version.orValue(semver("0.1.0")).compareTo(semver("{version}")) < 0': 2,
        f'device.attributes["{SHARED_DOMAIN}"].?switch.orValue("") == "s{world.choice("01")}"': 2,
        f'device.driver == "{driver}" || device.driver.startsWith("nic")': 1,
        # These read what a device may not have.
        f'{attributes}.model == "{model}"': 0.3,
        f"{attributes}.numa == {numa}": 0.3,
        "true": 0.4,
        "false": 0.2,
    }
    if world.about("capacity", "fractions"):
        least = world.choice(("2", "4Gi", "8Gi", "1500m"))
        memory = f'device.capacity["{driver}"].memory'
        choices |= {
            f'has({memory}) && {memory}.compareTo(quantity("{least}")) >= 0': 4,
            f'!has({memory}) || {memory}.isLessThan(quantity("{least}"))': 2,
            "device.allowMultipleAllocations": 2,
            "device.allowMultipleAllocations == false": 1,
        }
    if world.about("lists"):
        link = published.get("links", {}).get("strings", LISTS["links"][1])[0]
        choices |= {
            f'has({attributes}.links) && "{link}" in {attributes}.links': 2,
            f'has({attributes}.links) && {attributes}.links.includes("{link}")': 4,
            f"has({attributes}.slots) && {attributes}.slots.exists(slot, slot > 1)": 2,
        }
    return world.pick(choices)


def broken(world: World, driver: str) -> str:
    """A selector that does not compile."""
    return world.choice(
        (
            "noSuchVariable",
            "device.driver",
            "device.driver ==",
            f'device.attributes["{driver}"].numa.isBig()',
            'device.driver == 1 || "x"',
        )
    )


def failing(world: World, driver: str) -> str:
    """A selector that compiles and fails on some devices, or on all."""
    attributes = f'device.attributes["{driver}"]'
    return world.choice(
        (
            f"{attributes}.missing == 1",
            f"{attributes}.model == 'a100' || {attributes}.numa > 1",
            f"1 / {attributes}.numa > 0",
            f"{attributes}.model",
            f'device.capacity["{driver}"].missing.isGreaterThan(quantity("1"))',
            f'{attributes}.model.matches("^a") && {attributes}.numa < 2',
            f'semver({attributes}.model).isLessThan(semver("1.0.0"))',
        )
    )


def derived(world: World, driver: str) -> str:
    """An expression for a derived attribute."""
    attributes = f'device.attributes["{driver}"]'
    return world.pick(
        {
            f'{attributes}.?model.orValue("none")': 6,
            f"{attributes}.?numa.orValue(0) % 2": 5,
            f"has({attributes}.numa) && {attributes}.numa > 0": 3,
            f'{attributes}.?version.orValue(semver("0.0.1"))': 2,
            f'has({attributes}.model) ? "m-" + string({attributes}.model) : device.driver': 3,
            f'device.attributes["{SHARED_DOMAIN}"].?switch.orValue("s0")': 3,
            f"{attributes}.model": 1,
            f'has({attributes}.numa) ? ["x", "n" + string({attributes}.numa)] : ["x"]': 1.5,
            f"[{attributes}.?numa.orValue(0), 7]": 1,
        }
    )


def derived_badly(world: World, driver: str) -> str:
    """An expression for a derived attribute that fails or does not compile."""
    return world.choice(
        (
            "noSuchVariable",
            f'device.attributes["{driver}"].missing',
            f'1 / device.attributes["{driver}"].numa',
            f'device.capacity["{driver}"]',
            "1.5",
            "device",
        )
    )
