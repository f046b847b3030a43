from __future__ import annotations

from typing import Any

import pytest

from dray.api.scheme import decode_any
from dray.cli.hints import hints_for


def hints(kind: str, spec: dict[str, Any], version: str = "v1") -> dict[str, str]:
    _, _, decoded = decode_any(
        {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "spec": spec}
    )
    return hints_for(decoded.value)


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
