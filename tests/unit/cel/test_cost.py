from __future__ import annotations

import pytest

from dray.cel import SELECTOR_COST_MAX, Environment, compile_selector

LISTS = Environment(list_type_attributes=True)


def cost(text: str, environment: Environment) -> int:
    text = text.replace("D", 'device.attributes["d.com"]').replace("K", 'device.capacity["d.com"]')
    compilation = compile_selector(text, environment)
    assert compilation.error is None
    return compilation.max_cost


@pytest.mark.parametrize(
    ("text", "estimate"),
    [
        ('device.driver == "d.com"', 3),
        ("D.b", 4),
        ("D.i > 0", 5),
        ('D.str == "fish"', 5),
        ("has(D.str)", 3),
        ('"d.com" in device.attributes', 3),
        ('"str" in D', 4),
        ('D.str in ["fish","bird"]', 16),
        ("D.i in [1,2,3]", 17),
        ('K.mem.compareTo(quantity("40Gi")) >= 0', 7),
        ('D.ver.isGreaterThan(semver("1.0.0"))', 6),
        ('D.str.matches("^f.*h$")', 18),
        ('D.str.contains("is")', 11),
        ('D.str.split("i")[0] == "f"', 19),
        ('D.str.lowerAscii() == "fish"', 12),
        ('D.?str.orValue("z") == "fish"', 6),
        ('cel.bind(a, D, a.str == "fish" && a.i == 3)', 19),
        ("[1,2,3].exists(x, D.i == x)", 41),
        ('device.attributes.all(d, d.endsWith(".com"))', 163),
        ('K.exists(k, v, v.isGreaterThan(quantity("30Gi")))', 228),
        ('D.exists(k, D[k] == "fish")', 324),
    ],
)
def test_a_selector_costs_what_kubernetes_estimates(text: str, estimate: int) -> None:
    assert cost(text, Environment()) == estimate


@pytest.mark.parametrize(
    ("text", "estimate"),
    [("D.ints.exists(x, x == 2)", 389), ('D.strs.includes("a")', 68), ("2 in D.ints", 68)],
)
def test_a_list_attribute_may_be_as_long_as_a_text(text: str, estimate: int) -> None:
    assert cost(text, LISTS) == estimate


@pytest.mark.parametrize(
    "text",
    [
        'K.m != quantity("1")',
        "type(1) == type(2)",
        'D.?x == optional.of("y")',
        '["a"].join("-") == "a"',
    ],
)
def test_what_has_no_known_size_is_beyond_any_limit(text: str) -> None:
    assert cost(text, Environment()) > SELECTOR_COST_MAX


def test_a_path_that_shares_memory_changes_after_the_fact() -> None:
    """Upstream's key variable ends up with the path of the value variable, and its size."""
    assert cost("D.all(k, v, k == v)", LISTS) == 388
