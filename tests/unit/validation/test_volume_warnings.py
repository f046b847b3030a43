"""Volumes that no longer work, and files that take each other's place."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.quantity import Quantity
from dray.validation.volume_warnings import is_fractional, warn_of_volumes
from tests.unit.validation.part_builders import volumes


def of(**source: Any) -> list[str]:
    return list(warn_of_volumes(volumes({"name": "v", **source}), "volumes"))


@pytest.mark.parametrize(("text", "fractional"), [("1", False), ("1.5", True), ("100m", True)])
def test_bytes_are_whole(text: str, fractional: bool) -> None:
    assert is_fractional(Quantity.parse(text)) is fractional


@pytest.mark.parametrize("source", ["rbd", "cephfs", "gitRepo", "flocker", "glusterfs"])
def test_storage_of_old_is_named(source: str) -> None:
    (warning,) = of(**{source: {}})
    assert warning.startswith(f"volumes[0].{source}: deprecated in v1.")


def test_a_claim_asks_for_whole_bytes() -> None:
    resources = {"requests": {"storage": "1.5"}, "limits": {"storage": "2"}}
    template = {"volumeClaimTemplate": {"spec": {"resources": resources}}}
    assert of(ephemeral=template) == [
        (
            "volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional "
            'byte value "1500m" is invalid, must be an integer'
        )
    ]


def keys(*paths: str) -> list[dict[str, str]]:
    return [{"key": "k", "path": path} for path in paths]


def test_a_file_is_in_no_other_ones_place() -> None:
    assert of(configMap={"name": "c", "items": keys("a", "ab", "a/b/")}) == [
        'volume "v" (ConfigMap "c"): overlapping paths: "a/b" with "a"'
    ]
    assert of(secret={"secretName": "s", "items": keys("a", "a")}) == [
        'volume "v" (Secret "s"): overlapping paths: "a" with "a"'
    ]


def test_sources_of_one_directory_are_told_apart() -> None:
    sources = [
        {"secret": {"name": "s", "items": keys("a")}},
        {"serviceAccountToken": {"path": "a/token"}},
        {},
        {"configMap": {"name": "c"}},
    ]
    assert of(projected={"sources": sources}) == [
        (
            'volume "v" (Projected): overlapping paths: "a/token" (ServiceAccountToken) with "a" '
            '(Secret "s")'
        ),
        'volume "v" (Projected) has no sources provided',
    ]


def test_bundles_and_certificates_are_files_too() -> None:
    sources = [
        {"clusterTrustBundle": {"name": "b", "path": "k"}},
        {"podCertificate": {"keyPath": "k"}},
    ]
    assert of(projected={"sources": sources}) == [
        (
            'volume "v" (Projected): overlapping paths: "k" (PodCertificate key) with "k" '
            '(ClusterTrustBundle "b")'
        )
    ]
