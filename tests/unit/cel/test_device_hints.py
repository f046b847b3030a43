from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dray.api import scheme
from dray.api.quantity import Quantity
from dray.api.resource import Device, DeviceAttribute, DeviceCapacity
from dray.cel import (
    SELECTOR_COST_MAX,
    DeviceView,
    Environment,
    Selector,
    absent_references,
    compile_selector,
    explain,
    hints,
    hints_for_error,
)
from dray.cel._readings import look
from dray.cel._vocabulary import Vocabulary

D = "gpu.example.com"
A = f'device.attributes["{D}"]'
C = f'device.capacity["{D}"]'
GPU = DeviceView.of(
    D,
    Device(
        attributes={
            "model": DeviceAttribute(string_value="A100"),
            "cores": DeviceAttribute(int_value=8),
            "version": DeviceAttribute(version_value="1.2.3"),
            "peers": DeviceAttribute(string_values=("a",)),
        },
        capacity={"memory": DeviceCapacity(value=Quantity.parse("24Gi"))},
    ),
)
BARE = DeviceView.of(D, Device(attributes={"model": DeviceAttribute(string_value="T4")}))
VERSION = 'version is a version (1.2.3): compare it with semver("…"), by compareTo for < and >'
NIC = DeviceView.of(
    "nic.example.com", Device(attributes={"rdma": DeviceAttribute(bool_value=True)})
)


def selector(text: str) -> Selector:
    return Selector(compile_selector(text, Environment(stored=True)))


def on_error(text: str, view: DeviceView, *others: DeviceView) -> list[str]:
    chosen = selector(text)
    error = explain(chosen, view).error
    assert error is not None
    return [hint.text for hint in hints_for_error(chosen, view, error, others)]


@pytest.mark.parametrize(
    ("text", "view", "said"),
    [
        pytest.param(f"{A}.modle == 'x'", GPU, f"did you mean {A}.model?", id="misspelt"),
        pytest.param(
            "device.attributes['nvidia.com'].model == 'x'",
            GPU,
            f'model is in the domain "{D}": write {A}.model',
            id="wrong-domain",
        ),
        pytest.param(
            f"{A}.memory == 1",
            GPU,
            f"memory is a capacity, not an attribute: write {C}.memory",
            id="capacity-among-attributes",
        ),
        pytest.param(
            f"{C}.cores.isInteger()",
            GPU,
            f"cores is an attribute, not a capacity: write {A}.cores",
            id="attribute-among-capacities",
        ),
        pytest.param(
            f"{A}.model == 'x'",
            NIC,
            "devices of driver nic.example.com do not have it; this asks for the driver first",
            id="other-driver",
        ),
        pytest.param(
            "device.attributes['zzz.io'].zzz == 1",
            GPU,
            f'no device has the domain "zzz.io": there is {D}, nic.example.com',
            id="domain-of-nobody",
        ),
        pytest.param(
            f"{A}.version == '1.2.3'",
            GPU,
            VERSION,
            id="version-as-string",
        ),
        pytest.param(
            f"{A}.version in ['1.2.3', '2.0.0']",
            GPU,
            VERSION,
            id="version-among-strings",
        ),
        pytest.param(
            f"{A}.model.isGreaterThan(semver('1.0.0'))",
            GPU,
            'model is a string here ("A100"): write semver(…) around it to compare it as a version',
            id="string-as-version",
        ),
        pytest.param(
            f"{A}.model < 5",
            GPU,
            'model is a string ("A100"): put what it is compared with in quotes',
            id="string-and-number",
        ),
        pytest.param(
            f"{A}.model",
            GPU,
            'a selector has to be true or false: compare the value with something, such as "A100"',
            id="no-bool",
        ),
        pytest.param(
            f"{A}.?nope.value() == 1",
            GPU,
            "the value may be missing: use .orValue(default) instead of .value()",
            id="optional",
        ),
        pytest.param(
            f"{C}.memory.isGreaterThan(quantity('40GB'))",
            GPU,
            '"40GB" is no quantity: write "40G"',
            id="no-quantity",
        ),
        pytest.param(
            f"{A}.version.isGreaterThan(semver('1.0'))",
            GPU,
            '"1.0" is no semantic version: write "1.0.0"',
            id="no-version",
        ),
        pytest.param(
            "true",
            DeviceView(None, "attribute x: unsupported attribute value"),
            "the driver published an attribute that cannot be read: every selector fails here",
            id="broken-device",
        ),
    ],
)
def test_an_error_on_a_device_gets_advice(text: str, view: DeviceView, said: str) -> None:
    assert on_error(text, view, GPU, NIC) == [said]


@pytest.mark.parametrize(
    ("text", "guarded", "defaulted"),
    [
        (f"{A}.cores > 4", f"has({A}.cores) && {A}.cores > 4", f"{A}.?cores.orValue(0) > 4"),
        (
            f"4 < {A}['cores']",
            f"'cores' in {A} && 4 < {A}['cores']",
            f"4 < {A}[?'cores'].orValue(0)",
        ),
        (
            f'{C}.memory.compareTo(quantity("1Gi")) >= 0',
            f'has({C}.memory) && {C}.memory.compareTo(quantity("1Gi")) >= 0',
            f'{C}.?memory.orValue(quantity("0")).compareTo(quantity("1Gi")) >= 0',
        ),
        (
            f"cel.bind(a, {A}, a.model == 'T4' && a.cores > 4)",
            f"cel.bind(a, {A}, a.model == 'T4' && has(a.cores) && a.cores > 4)",
            f"cel.bind(a, {A}, a.model == 'T4' && a.?cores.orValue(0) > 4)",
        ),
    ],
)
def test_a_missing_value_is_guarded_or_defaulted(text: str, guarded: str, defaulted: str) -> None:
    assert suggested(text, BARE, GPU) == [
        ("not every device has it; this is false without it", guarded),
        ("or with a default", defaulted),
    ]


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        (f"{A}.cores < 4", f"has({A}.cores) && {A}.cores < 4"),
        (
            f"{A}.cores < 4 || {A}.cores > 8",
            f"has({A}.cores) && ({A}.cores < 4 || {A}.cores > 8)",
        ),
        (f"!({A}.cores > 4)", f"has({A}.cores) && !({A}.cores > 4)"),
        (f"{A}.cores % 2 == 0", f"has({A}.cores) && {A}.cores % 2 == 0"),
        (f"100 / {A}.cores > 0", f"has({A}.cores) && 100 / {A}.cores > 0"),
        (f"{A}.version.major() == 0", f"has({A}.version) && {A}.version.major() == 0"),
    ],
)
def test_a_default_that_would_match_or_fail_is_not_given(text: str, instead: str) -> None:
    assert [expression for _, expression in suggested(text, BARE, GPU)] == [instead]


def suggested(text: str, view: DeviceView, *others: DeviceView) -> list[tuple[str, str | None]]:
    chosen = selector(text)
    error = explain(chosen, view).error
    assert error is not None
    found = hints_for_error(chosen, view, error, others)
    return [(hint.text, hint.expression) for hint in found]


MISTAKES = [
    f'{A}.driverVersion >= "1.4.0"',
    f"{A}.driverVersion >= 1",
    f"{A}.driverVersion >= 1.4",
    f'"1.4.0" < {A}.driverVersion',
    f'{A}.driverVersion == "1.4.0"',
    f'{A}.driverVersion in ["1.4.0", "1.2.5"]',
    f"{A}.driverVersion.major == 1",
    f"{A}.driverVersion.major() == 1",
    f'["H100", "A100"].exists(m, m == {A}.model)',
    f'["H100", "A100"].exists(m, m == {A}.modle)',
    f'{A}.exists(k, v, v == "H100")',
    f'device.driver.startsWith("gpu") ? {A}.cores > 100 : true',
    f"{A}.ecc || {A}.cores > 100",
    f"({A}.ecc || {A}.cores > 100) && {A}.model != 'T4'",
    f"{A}.cores < 100",
    f"!({A}.cores > 100)",
    f"!{A}.ecc",
    'device.attributes["resource.kubernetes.io"].pcieRoot != "pci0000:01"',
    f"{A}.cores % 2 == 0",
    f"100 / {A}.cores > 0",
    f"{A}.v.major() == 1",
    f"{A}.cores < 100 && {A}.cores > 50",
    f'{A}.ecc == "true"',
    f"{A}.ecc == 1",
    f'{A}.cores > "100"',
    f"cel.bind(g, {A}, g.cores > 100)",
    f"cel.bind(g, {A}, g.ecc || g.cores > 100)",
    f"{A}['cores'] > 100 // why",
    f"{A}.cores > 100 // why\n || {A}.ecc // why not",
    f"{A}.model",
    f"{A}.cores",
    f'{A}.model.orValue("") == "H100"',
    f'{A}.model.string == "H100"',
    f"{A}.memory == 1",
    f"{A}.nope == 1",
    f"size({A}.model) > {A}.cores",
    f'device.driver == "nic.example.com" && {A}.model == "x"',
    f'{C}.memory.isGreaterThan(quantity("40GB"))',
    f'{C}.memory.isLessThan(quantity("40Gi"))',
    " && ".join([f"{A}.cores > {n} && {A}.model != 'a model of some length'" for n in range(12)]),
]


@pytest.mark.parametrize("text", MISTAKES)
def test_what_is_suggested_for_the_devices_of_the_example_holds(text: str) -> None:
    views = example_views()
    before = selector(text)
    errors = [explain(before, view).error for view in views]
    assert any(errors)
    for view, error in zip(views, errors, strict=True):
        if error is None:
            continue
        found = hints_for_error(before, view, error, views)
        assert len(found) <= 3
        for hint in found:
            if hint.expression is None:
                continue
            after = selector(hint.expression)
            assert after.compilation.max_cost <= SELECTOR_COST_MAX
            came = explain(after, view)
            about = hint.reference
            if about is not None and about in Vocabulary(views) and not look(view, about)[1]:
                # It is missing on this device: nothing about that makes it fit.
                assert came.verdict == "false", hint
            for other, old in zip(views, errors, strict=True):
                same = explain(after, other).verdict
                if old is None and "compare it" not in hint.text:
                    assert same == explain(before, other).verdict, hint


ATOMS = [text for text in MISTAKES if len(text) < 150 and "//" not in text] + [
    'device.driver == "gpu.example.com"',
    f"has({A}.ecc)",
    f"[{A}.cores][0] == 132",
]
SELECTORS = st.recursive(
    st.sampled_from([f"({text})" for text in ATOMS]),
    lambda inner: st.one_of(
        st.builds("!({})".format, inner),
        st.builds("{} && {}".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("cel.bind(other, 1, {})".format, inner),
    ),
    max_leaves=4,
)
GUARDS = ("this is false without it", "or with a default", "this asks for the driver first")


@given(SELECTORS)
def test_a_guard_is_false_where_the_selector_fails_and_changes_nothing_else(text: str) -> None:
    views = example_views()
    before = selector(text)
    explanations = [explain(before, view) for view in views]
    for view, explanation in zip(views, explanations, strict=True):
        if explanation.error is None:
            continue
        for hint in hints_for_error(before, view, explanation.error, views):
            if hint.expression is None:
                continue
            after = selector(hint.expression)
            if not hint.text.endswith(GUARDS) or "compare it" in hint.text:
                continue
            assert explain(after, view).verdict == "false"
            for other, old in zip(views, explanations, strict=True):
                assert old.error is not None or explain(after, other).verdict == old.verdict


@cache
def example_views() -> list[DeviceView]:
    path = Path(__file__).parents[3] / "examples" / "06-selectors" / "slices.yaml"
    slices = [scheme.decode_any(one)[2].value for one in yaml.safe_load_all(path.read_text())]
    return [DeviceView.of(one.spec.driver, device) for one in slices for device in one.spec.devices]


def said_of(text: str, *views: DeviceView) -> list[str]:
    return [hint.text for hint in hints(compile_selector(text, Environment(stored=True)), views)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{A}.?modle.orValue('') == 'x'", f"did you mean {A}.model?"),
        (
            f"{A}.?zzz.orValue(1) == 1",
            f"zzz is not among the attributes of {D}: cores, model, peers, version",
        ),
        (f"{A}.cores == '8'", "cores is a number (8): compare it with a number, without quotes"),
        (f"{A}.model == 100", 'model is a string ("A100"): put what it is compared with in quotes'),
        (
            f"{A}.peers == 'a'",
            f'peers is a list (["a"]): ask whether it holds a value with value in {A}.peers',
        ),
    ],
)
def test_what_no_device_can_fit_is_told(text: str, said: str) -> None:
    assert said_of(text, GPU) == [said]


def test_a_selector_that_fits_needs_no_hint() -> None:
    assert said_of(f"{A}.model == 'A100' && {A}.cores > 4.5", GPU, NIC) == []


@pytest.mark.parametrize("asked", [f"!('zzz' in {A})", f"!has({A}.zzz)", f"!has({A}.modle)"])
def test_a_name_whose_absence_is_an_answer_is_not_called_wrong(asked: str) -> None:
    assert said_of(f"device.driver == '{D}' && {asked}", GPU, NIC) == []
    bound = f"cel.bind(a, {A}, {asked.replace(A, 'a')} && a.model == 'A100')"
    assert said_of(bound, GPU) == []


def test_a_name_whose_value_is_read_is_called_wrong_also_behind_a_guard() -> None:
    assert said_of(f"has({A}.modle) && {A}.modle == 'A100'", GPU) == [f"did you mean {A}.model?"]


def test_names_that_no_device_has_are_known() -> None:
    chosen = selector(f"{A}.model == 'x' && {A}.nope == 1")
    assert [str(one) for one in absent_references(chosen, [GPU, NIC])] == [f"{A}.nope"]
    assert absent_references(chosen, []) == ()
