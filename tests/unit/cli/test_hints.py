from __future__ import annotations

from typing import Any

import pytest

from dray.api.scheme import decode_any
from dray.cli.hints import decoding_hint, hints_for, is_foreign
from dray.errors import DecodeError


def hints(kind: str, spec: dict[str, Any], version: str = "v1") -> dict[str, str]:
    _, _, decoded = decode_any(
        {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "spec": spec}
    )
    return hints_for(decoded.value, decoded.unknown)


@pytest.mark.parametrize(
    ("request_", "path", "hint"),
    [
        pytest.param({"nane": "a"}, "nane", "did you mean name?", id="misspelled"),
        pytest.param(
            {"firstavailable": []}, "firstavailable", "did you mean firstAvailable?", id="case"
        ),
        pytest.param(
            {"deviceClassName": "a"},
            "deviceClassName",
            "did you mean exactly.deviceClassName?",
            id="one-level-too-high",
        ),
        pytest.param(
            {"constraints": []},
            "constraints",
            "it is a field of spec.devices: check the indentation",
            id="one-level-too-low",
        ),
        pytest.param(
            {"metadata": {}},
            "metadata",
            "it is a field of the object itself: check the indentation",
            id="far-too-low",
        ),
    ],
)
def test_an_unknown_field_gets_the_hint_that_fits(
    request_: dict[str, Any], path: str, hint: str
) -> None:
    found = hints("ResourceClaim", {"devices": {"requests": [request_]}})
    assert found == {f"spec.devices.requests[0].{path}": hint}


def test_a_level_of_another_version_is_told() -> None:
    spec = {"devices": {"requests": [{"exactly": {"deviceClassName": "a"}}]}}
    assert hints("ResourceClaim", spec, "v1beta1") == {
        "spec.devices.requests[0].exactly": ('its fields belong here directly, without "exactly"')
    }


def test_a_field_below_a_map_is_found() -> None:
    spec = {"devices": [{"attributes": {"a.b/c": {"strng": "x"}}}]}
    assert hints("ResourceSlice", spec) == {
        "spec.devices[0].attributes.a.b/c.strng": "did you mean string?"
    }


def test_a_field_like_no_other_gets_no_hint() -> None:
    assert hints("ResourceClaim", {"zzz": 1}) == {}


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        pytest.param("expected a string, got false", "; put it in quotes", id="boolean"),
        pytest.param("expected a string, got the number 1", "; put it in quotes", id="number"),
        pytest.param(
            'expected an integer, got the string "80"', "; leave the quotes out", id="quoted-number"
        ),
        pytest.param(
            'expected true or false, got the string "true"',
            "; leave the quotes out",
            id="quoted-boolean",
        ),
        pytest.param('expected an integer, got the string "many"', "", id="no-number-at-all"),
        pytest.param('"1GB": quantities must match', "; did you mean 1G?", id="bytes"),
        pytest.param('"40 Gi": quantities must match', "; did you mean 40Gi?", id="space"),
        pytest.param('"4gib": unable to parse', "; did you mean 4Gi?", id="binary-bytes"),
        pytest.param('"500mm": unable to parse', "; did you mean 500m?", id="twice"),
        pytest.param('"1xyz": unable to parse', "", id="no-unit-at-all"),
    ],
)
def test_a_value_that_cannot_be_read_gets_advice(rule: str, hint: str) -> None:
    assert decoding_hint(DecodeError(rule, path="spec.x")) == hint


@pytest.mark.parametrize(
    ("api_version", "kind", "foreign"),
    [
        pytest.param("v1", "Service", True, id="of-kubernetes"),
        pytest.param("example.com/v1", "Widget", True, id="of-someone"),
        pytest.param("resource.k8s.io/v1", "ResourceClaimm", False, id="misspelled"),
        pytest.param("resource.k8s.io/v1beta3", "ResourceClaim", False, id="no-such-version"),
        pytest.param("v1", "Pod", False, id="ours"),
        pytest.param("v1", "", False, id="says-nothing"),
    ],
)
def test_only_what_is_nothing_like_ours_is_foreign(
    api_version: str, kind: str, foreign: bool
) -> None:
    assert is_foreign({"apiVersion": api_version, "kind": kind}) is foreign
