from __future__ import annotations

import pytest

from dray.server.names import host_name_warning


@pytest.mark.parametrize("name", ["web", "a" * 63])
def test_a_label_makes_a_fine_host_name(name: str) -> None:
    assert host_name_warning(name, "the Pod's hostname") is None


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        pytest.param("a" * 64, "[must be no more than 63 characters]", id="long"),
        pytest.param("a.b", "[must not contain dots]", id="dots"),
        pytest.param(
            "a." + "b" * 70,
            "[must be no more than 63 characters must not contain dots]",
            id="both",
        ),
    ],
)
def test_a_name_that_makes_a_poor_host_name_is_warned_of(name: str, problems: str) -> None:
    warning = host_name_warning(name, "the Pod's hostname")
    assert warning == (
        "metadata.name: this is used in the Pod's hostname, which can result in surprising "
        f"behavior; a DNS label is recommended: {problems}"
    )
