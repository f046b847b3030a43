"""Names of images. How they decide on pulling is also in test_pod_defaults."""

from __future__ import annotations

import pytest

from dray.api.images import pull_policy_for, tag_of


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("app", "latest"),
        ("app:1", "1"),
        ("registry:5000/app", "latest"),
        ("app@sha256:" + "0a" * 32, ""),
        ("app@sha256:short", ""),
        ("not an image", ""),
    ],
)
def test_an_image_without_a_tag_means_the_latest(image: str, tag: str) -> None:
    assert tag_of(image) == tag


def test_only_the_latest_image_is_always_pulled() -> None:
    assert [pull_policy_for(image) for image in ("app", "app:1", "")] == [
        "Always",
        "IfNotPresent",
        "IfNotPresent",
    ]
