"""Descriptions are dray's own words."""

from __future__ import annotations

from dray.api import core, meta, resource
from dray.api.resource import v1beta1
from dray.api.schema import Field, Primitive, Scalar, StructOf
from dray.api.schemas import schema_of
from dray.server.openapi.descriptions import describe, describe_field

TEXT = Scalar(Primitive.STRING)


def test_a_definition_is_described_by_dray_s_type() -> None:
    for name, type_ in (
        ("io.k8s.api.core.v1.Pod", core.Pod),
        ("io.k8s.api.core.v1.PodSpec", core.PodSpec),
        ("io.k8s.api.resource.v1.ResourceClaim", resource.ResourceClaim),
        ("io.k8s.api.resource.v1beta1.BasicDevice", v1beta1.BasicDevice),
    ):
        words = describe(name)
        assert words
        assert (type_.__doc__ or "").split()[: len(words.split())] == words.split()


def test_what_dray_has_no_type_for_has_no_description() -> None:
    assert describe("io.k8s.api.core.v1.RBDVolumeSource") == ""
    assert describe("com.example.v1.Widget") == ""


def test_words_kept_for_a_type_come_before_those_of_dray_s_type() -> None:
    words = describe("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    assert words
    assert words not in (meta.ObjectMeta.__doc__ or "")


def test_a_field_is_described_by_the_words_kept_for_it() -> None:
    claim = schema_of("resource.k8s.io", "v1", "ResourceClaim")
    assert "Cannot be changed" in describe_field(claim, "spec")


def test_every_kind_has_words_for_what_every_kind_has() -> None:
    text = {name: Field(name, TEXT) for name in ("apiVersion", "kind", "metadata", "spec")}
    widget = StructOf("com.example.v1.Widget", lambda: text)
    pod = schema_of("", "v1", "Pod")
    for name in ("apiVersion", "kind", "metadata"):
        assert describe_field(widget, name) == describe_field(pod, name) != ""
    assert describe_field(widget, "spec") == ""


def test_a_list_has_words_of_its_own() -> None:
    pod, pods = schema_of("", "v1", "Pod"), schema_of("", "v1", "PodList")
    assert describe_field(pods, "items")
    assert describe_field(pods, "kind") == describe_field(pod, "kind")
    assert describe_field(pods, "metadata") != describe_field(pod, "metadata")


def test_a_struct_that_is_no_kind_does_not_speak_like_one() -> None:
    numbered = {name: Field(name, TEXT, 1) for name in ("apiVersion", "kind")}
    assert describe_field(StructOf("io.k8s.api.core.v1.Unknown", lambda: numbered), "kind") == ""


def test_a_struct_without_a_name_is_not_described() -> None:
    fields = {name: Field(name, TEXT) for name in ("apiVersion", "kind")}
    assert describe_field(StructOf("", lambda: fields), "kind") == ""
