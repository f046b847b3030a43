from __future__ import annotations

from textwrap import dedent

import pytest
import yaml

from dray.api.codec import decode_builtins
from dray.api.core import Node, Pod
from dray.api.meta import ObjectMeta
from dray.api.resource import DeviceClass, DeviceClassSpec
from dray.api.wire import Time
from dray.cli.snapshot.extended import ExtendedResources, classes_by_resource


def device_class(name: str, resource: str | None = None, created: str = "") -> DeviceClass:
    time = Time.parse(created) if created else None
    return DeviceClass(
        metadata=ObjectMeta(name=name, creation_timestamp=time),
        spec=DeviceClassSpec(extended_resource_name=resource),
    )


def pod(text: str) -> Pod:
    value = {"metadata": {"name": "train", "namespace": "ml"}, "spec": yaml.safe_load(dedent(text))}
    return decode_builtins(value, Pod).value


def node(allocatable: str = "{}") -> Node:
    return decode_builtins({"status": {"allocatable": yaml.safe_load(allocatable)}}, Node).value


def asked(text: str, where: Node | None = None) -> list[tuple[str, str, int]]:
    classes = [device_class("gpu.class", "example.com/gpu"), device_class("nic.class")]
    claim = ExtendedResources.of(pod(text), classes).claim_for(where or node())
    return [
        (request.name, request.exactly.device_class_name, request.exactly.count)
        for request in (claim.spec.devices.requests or () if claim else ())
        if request.exactly
    ]


ONE = "containers: [{name: a, resources: {requests: {cpu: 1, example.com/gpu: 2}}}]"


def test_a_resource_stands_for_devices_of_a_class() -> None:
    assert asked(ONE) == [("container-0-request-1", "gpu.class", 2)]


def test_a_class_always_has_a_resource_of_its_own() -> None:
    text = (
        "containers: [{name: a, resources: "
        "{requests: {deviceclass.resource.kubernetes.io/nic.class: 1}}}]"
    )
    assert asked(text) == [("container-0-request-0", "nic.class", 1)]


def test_where_a_plugin_offers_it_there_is_no_claim() -> None:
    assert asked(ONE, node("{example.com/gpu: 8}")) == []
    assert asked(ONE, node("{example.com/gpu: 0}")) == [("container-0-request-1", "gpu.class", 2)]


def test_the_claim_is_made_for_the_pod() -> None:
    claim = ExtendedResources.of(pod(ONE), [device_class("g", "example.com/gpu")]).claim_for(node())
    assert claim is not None
    meta = claim.metadata
    assert (meta.namespace, meta.name) == ("ml", "<extended-resources>")
    assert meta.generate_name == "train-extended-resources-"
    assert meta.annotations == {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert meta.owner_references[0].name == "train"


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ("[{gpu: 3}]", [("container-1-request-0", 4)]),
        ("[{gpu: 6}]", [("container-0-request-0", 2), ("container-1-request-0", 4)]),
        ("[{gpu: 5}, {gpu: 7}]", [("container-1-request-0", 3), ("container-2-request-0", 4)]),
        ("[{gpu: 5}, {gpu: 5}]", [("container-0-request-0", 1), ("container-2-request-0", 4)]),
        ("[{gpu: 1, sidecar: 1}]", [("container-0-request-0", 1), ("container-1-request-0", 4)]),
        ("[{gpu: 0}]", [("container-1-request-0", 4)]),
        (
            "[{gpu: 1, sidecar: 1}, {gpu: 5}]",
            [
                ("container-0-request-0", 1),
                ("container-1-request-0", 1),
                ("container-2-request-0", 4),
            ],
        ),
    ],
    ids=["enough", "short", "two", "two-alike", "sidecar", "zero", "sidecar-before"],
)
def test_init_containers_use_what_comes_after_them(
    init: str, expected: list[tuple[str, int]]
) -> None:
    containers = [
        {
            "name": f"i{index}",
            "resources": {"requests": {"example.com/gpu": one["gpu"]}},
            **({"restartPolicy": "Always"} if "sidecar" in one else {}),
        }
        for index, one in enumerate(yaml.safe_load(init))
    ]
    main = {"name": "main", "resources": {"requests": {"example.com/gpu": 4}}}
    text = yaml.safe_dump({"initContainers": containers, "containers": [main]})
    assert [(name, count) for name, _, count in asked(text)] == expected


def test_what_no_class_stands_for_must_be_offered_by_the_node() -> None:
    wanted = ExtendedResources.of(pod(ONE), [])
    assert wanted.classes == {}
    assert wanted.lacking(node("{example.com/gpu: 2}")) == ""
    few = "has 1 example.com/gpu, the pod asks for 2"
    assert wanted.lacking(node("{example.com/gpu: 1}")) == few
    none = "has no example.com/gpu, and no device class in the dump stands for it"
    assert wanted.lacking(node()) == none
    assert wanted.claim_for(node()) is None


def test_of_two_classes_for_one_resource_the_newer_counts() -> None:
    old = device_class("a", "example.com/gpu", "2026-01-01T00:00:00Z")
    new = device_class("b", "example.com/gpu", "2026-02-01T00:00:00Z")
    assert classes_by_resource([new, old])["example.com/gpu"] is new
    same = device_class("c", "example.com/gpu", "2026-02-01T00:00:00Z")
    assert classes_by_resource([same, new])["example.com/gpu"] is new
    assert classes_by_resource([new, same])["example.com/gpu"] is new


def test_a_plugin_that_offers_too_little_is_not_helped_out_by_devices() -> None:
    wanted = ExtendedResources.of(pod(ONE), [device_class("gpu.class", "example.com/gpu")])
    assert wanted.lacking(node("{example.com/gpu: 1}")) == (
        "has 1 example.com/gpu, the pod asks for 2"
    )
    assert wanted.lacking(node("{example.com/gpu: 2}")) == ""
    assert wanted.lacking(node("{example.com/gpu: 0}")) == ""
