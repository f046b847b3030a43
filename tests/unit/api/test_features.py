"""Feature gates: one table, settings refused at once when they cannot hold."""

from __future__ import annotations

import pytest

from dray.api.features import DEFAULT_GATES, FEATURES, FeatureGates, Stage
from dray.errors import ConfigurationError


def test_defaults_are_the_tables() -> None:
    assert set(DEFAULT_GATES) == {f.name for f in FEATURES.values() if f.default}


def test_a_gate_can_be_switched() -> None:
    gates = FeatureGates({"DRAListTypeAttributes": True, "DRADeviceTaintRules": False})
    assert gates.enabled("DRAListTypeAttributes")
    assert "DRADeviceTaintRules" not in gates
    assert gates != DEFAULT_GATES
    assert gates == FeatureGates.parse("DRAListTypeAttributes=true, DRADeviceTaintRules=false")
    assert hash(gates) == hash(FeatureGates.parse("DRADeviceTaintRules=0,DRAListTypeAttributes=T"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "DRAListTypeAttribute=true",
            "unknown feature gate DRAListTypeAttribute; did you mean DRAListTypeAttributes?",
            id="misspelt",
        ),
        pytest.param(
            "DRAAdminAccess=false",
            "feature gate DRAAdminAccess is locked on: it cannot be changed",
            id="locked",
        ),
        pytest.param(
            "DRADeviceTaints=false",
            "feature gate DRADeviceTaintRules is on, but needs DRADeviceTaints, which is off",
            id="dependency-off",
        ),
        pytest.param(
            "DRADeviceTaints",
            "feature gate 'DRADeviceTaints': must be NAME=true or NAME=false",
            id="no-value",
        ),
        pytest.param(
            "DRADeviceTaints=maybe",
            "feature gate 'DRADeviceTaints=maybe': must be NAME=true or NAME=false",
            id="no-boolean",
        ),
    ],
)
def test_settings_that_cannot_hold_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        FeatureGates.parse(text)
    assert str(caught.value) == message


def test_a_whole_stage_can_be_switched_and_names_win() -> None:
    gates = FeatureGates.parse("AllAlpha=true,DRADerivedAttributes=false")
    on = {f.name for f in FEATURES.values() if f.stage is Stage.ALPHA and f.name in gates}
    alphas = {f.name for f in FEATURES.values() if f.stage is Stage.ALPHA}
    assert on == alphas - {"DRADerivedAttributes"}


def test_asking_for_an_unknown_gate_is_an_error_not_a_no() -> None:
    with pytest.raises(ConfigurationError, match="unknown feature gate Nope"):
        DEFAULT_GATES.enabled("Nope")


def test_every_dependency_is_in_the_table() -> None:
    assert {need for f in FEATURES.values() for need in f.needs} <= set(FEATURES)


def test_a_repr_shows_what_differs_from_the_defaults() -> None:
    assert repr(DEFAULT_GATES) == "FeatureGates('')"
    gates = FeatureGates({"DRAListTypeAttributes": True})
    assert repr(gates) == "FeatureGates('DRAListTypeAttributes=true')"
