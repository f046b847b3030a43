"""Descriptions are dray's own words."""

from __future__ import annotations

from dray.api import core, resource
from dray.api.resource import v1beta1
from dray.server.openapi.descriptions import describe


def test_a_definition_is_described_by_dray_s_type() -> None:
    for name, type_ in (
        ("io.k8s.api.core.v1.Pod", core.Pod),
        ("io.k8s.api.core.v1.PodSpec", core.PodSpec),
        ("io.k8s.api.resource.v1.ResourceClaim", resource.ResourceClaim),
        ("io.k8s.api.resource.v1beta1.ResourceClaim", v1beta1.ResourceClaim),
    ):
        words = describe(name)
        assert words
        assert (type_.__doc__ or "").split()[: len(words.split())] == words.split()


def test_what_dray_has_no_type_for_has_no_description() -> None:
    assert describe("io.k8s.api.core.v1.RBDVolumeSource") == ""
    assert describe("com.example.v1.Widget") == ""
