"""Strategies for selectors and devices that go together: names that mostly exist, values that
mostly compare, and now and then something else."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from dray.cel import DeviceView
from tests.unit.cel.devices import DRIVER, version, view

_NAMES = ("model", "index", "flag", "version", "list", "uuid")
_TEXTS = ("A100", "H100", "", "a")
_DOMAINS = (f'["{DRIVER}"]', '["other.example.com"]', "[device.driver]")

_values = st.one_of(
    st.sampled_from(_TEXTS),
    st.integers(-2, 5),
    st.booleans(),
    st.sampled_from(["1.2.3", "1.0.0", "2.0.0-rc.1"]).map(version),
    st.lists(st.integers(0, 3), max_size=3),
    st.lists(st.sampled_from(_TEXTS), max_size=3),
)


@st.composite
def devices(draw: st.DrawFn) -> DeviceView:
    attributes: dict[str, Any] = draw(st.dictionaries(st.sampled_from(_NAMES), _values))
    foreign = draw(st.dictionaries(st.sampled_from(_NAMES), _values, max_size=2))
    attributes |= {f"other.example.com/{name}": value for name, value in foreign.items()}
    if draw(st.integers(0, 20)) == 0:
        attributes["broken"] = version("1.2")
    amounts = st.sampled_from(["40Gi", "80Gi", "1", "1000m", "0.5"])
    capacity = draw(st.dictionaries(st.sampled_from(["memory", "cores"]), amounts))
    driver = draw(st.sampled_from([DRIVER, DRIVER, "other.example.com"]))
    return view(attributes, capacity, driver=driver, shared=draw(st.sampled_from([None, True])))


_paths = st.builds(
    lambda domain, name: f"device.attributes{domain}.{name}",
    st.sampled_from(_DOMAINS),
    st.sampled_from(_NAMES),
)
_amounts = st.builds(
    lambda domain, name: f"device.capacity{domain}.{name}",
    st.sampled_from(_DOMAINS),
    st.sampled_from(["memory", "cores"]),
)
_constants = st.sampled_from(
    ['"A100"', '"H100"', "3", "1.0", "true", 'semver("1.0.0")', '["A100"]', "null", "2u"]
)
_operands = st.one_of(
    _paths,
    _paths,
    _constants.map(lambda text: f"dyn({text})"),
    _paths.map(lambda path: path.replace(".", ".?", 2).replace(".?", ".", 1) + '.orValue("A100")'),
    st.just("device.driver"),
    st.builds(lambda one, other: f"({one} == 3 ? {one} : {other})", _paths, _paths),
    st.builds(lambda one: f"dyn([{one}, {one}][0])", _paths),
    st.builds(lambda one: f'dyn({{"k": {one}}}.k)', _paths),
)
_comparisons = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])

_atoms = st.one_of(
    st.builds(
        lambda left, symbol, right: f"{left} {symbol} {right}", _operands, _comparisons, _operands
    ),
    st.builds(lambda path: f'{path} in ["A100", "H100"]', _operands),
    st.builds(lambda path: f"{path} in [1, 2, 3]", _operands),
    st.builds(lambda path: f"has({path})", _paths),
    st.builds(lambda path: f"dyn({path})", _paths),
    st.builds(
        lambda amount, test: f'{amount}.compareTo(quantity("40Gi")) {test} 0',
        _amounts,
        _comparisons,
    ),
    st.builds(lambda amount: f'{amount}.isGreaterThan(quantity("1"))', _amounts),
    st.builds(lambda amount: f'{amount} == quantity("1")', _amounts),
    st.builds(lambda amount: f"{amount}.isInteger()", _amounts),
    st.builds(lambda path: f'{path}.isLessThan(semver("2.0.0"))', _paths),
    st.builds(lambda path: f'{path}.startsWith("A")', _paths),
    st.builds(lambda path: f'{path}.matches("^[A-Z]1")', _paths),
    st.builds(lambda path: f"{path}.exists(x, x == 1)", _paths),
    st.builds(lambda path: f'["A100", "H100"].all(m, {path} != m)', _paths),
    st.builds(lambda path: f"[1, 2].map(n, {path} + n).exists(n, n > 3)", _paths),
    st.builds(lambda path: f"cel.bind(b, {path}, b == 3 || b.size() == 0)", _paths),
    st.builds(lambda path: f"{path}.?nope.hasValue()", _paths),
    st.sampled_from(
        [
            "device.allowMultipleAllocations",
            f'device.driver == "{DRIVER}"',
            f'"model" in device.attributes["{DRIVER}"]',
            f'device.attributes["{DRIVER}"].all(k, k != "flag")',
            "size(device.attributes) == 1",
            'device.attributes.exists(d, v, d == "other.example.com" && "model" in v)',
            "true",
            "false",
        ]
    ),
)


def _logic(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(lambda left, right: f"({left} && {right})", parts, parts),
        st.builds(lambda left, right: f"({left} || {right})", parts, parts),
        st.builds(lambda part: f"!({part})", parts),
        st.builds(lambda one, two, three: f"({one} ? {two} : {three})", parts, parts, parts),
        st.builds(
            lambda part: (
                f'cel.bind(d, device.attributes["{DRIVER}"], d.?flag.hasValue() && {part})'
            ),
            parts,
        ),
    )


selectors = st.recursive(_atoms, _logic, max_leaves=6)
"""Texts of selectors, of which nearly all compile."""
