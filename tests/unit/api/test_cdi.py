"""CDI specs: names, versions, rules, and edits that add up."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.cdi import (
    ContainerEdits,
    Device,
    DeviceNode,
    Hook,
    IntelRdt,
    Mount,
    NetDevice,
    QualifiedName,
    Spec,
    decode_spec,
    encode_spec,
    environment,
    is_device_name,
    is_qualified_name,
    merge_edits,
    parse_qualified_name,
    read_spec,
    required_version,
    validate_edits,
    validate_spec,
    with_required_version,
)
from dray.api.codec import to_builtins
from dray.errors import DecodeError, ParseError

FULL = {
    "cdiVersion": "1.1.0",
    "kind": "k8s.gpu.example.com/claim",
    "annotations": {"example.com/who": "us"},
    "devices": [
        {
            "name": "0a1b-gpu-0",
            "annotations": {"a": "b"},
            "containerEdits": {
                "env": ["GPU=0"],
                "deviceNodes": [
                    {
                        "path": "/dev/gpu0",
                        "hostPath": "/dev/real0",
                        "type": "c",
                        "major": 195,
                        "minor": 3,
                        "fileMode": 384,
                        "permissions": "rw",
                        "uid": 1000,
                        "gid": 0,
                    }
                ],
                "netDevices": [{"hostInterfaceName": "eth7", "name": "net1"}],
                "hooks": [
                    {
                        "hookName": "createRuntime",
                        "path": "/bin/hook",
                        "args": ["hook", "x"],
                        "env": ["A=b"],
                        "timeout": 5,
                    }
                ],
                "mounts": [
                    {
                        "hostPath": "/lib/x",
                        "containerPath": "/lib/x",
                        "options": ["ro", "bind"],
                        "type": "bind",
                    }
                ],
                "intelRdt": {
                    "closID": "gold",
                    "l3CacheSchema": "L3:0=f",
                    "memBwSchema": "MB:0=10",
                    "schemata": ["L2:0=3"],
                    "enableMonitoring": True,
                },
                "additionalGids": [44],
            },
        }
    ],
    "containerEdits": {"env": ["ALL=1"]},
}


def spec(*devices: Device, **members: Any) -> Spec:
    found = devices or (device(),)
    members = {"kind": "example.com/gpu", "devices": found} | members
    made = Spec(**members)
    return made if "cdi_version" in members else with_required_version(made)


def device(name: str = "gpu0", **edits: Any) -> Device:
    return Device(name=name, container_edits=ContainerEdits(**(edits or {"env": ("A=b",)})))


def test_a_spec_with_every_field_reads_and_writes_without_loss() -> None:
    assert to_builtins(decode_spec(encode_spec(read_spec(FULL)))) == FULL


@pytest.mark.parametrize(
    ("example", "version"),
    [
        (spec(), "0.3.0"),
        (spec(device(mounts=(Mount(host_path="/a", container_path="/b"),))), "0.3.0"),
        (spec(device(mounts=(Mount(host_path="/a", container_path="/b", type="bind"),))), "0.4.0"),
        (spec(device("0")), "0.5.0"),
        (spec(device(device_nodes=(DeviceNode(path="/dev/a", host_path="/dev/b"),))), "0.5.0"),
        (spec(annotations={"a": "b"}), "0.6.0"),
        (spec(Device(name="a", annotations={"a": "b"})), "0.6.0"),
        (spec(kind="example.com/gpu.claim"), "0.6.0"),
        (spec(device(additional_gids=(5,))), "0.7.0"),
        (spec(device(intel_rdt=IntelRdt(clos_id="a"))), "0.7.0"),
        (spec(device(intel_rdt=IntelRdt(enable_monitoring=True))), "1.1.0"),
        (spec(device(intel_rdt=IntelRdt(schemata=("L3:0=f",)))), "1.1.0"),
        (spec(container_edits=ContainerEdits(additional_gids=(5,))), "0.7.0"),
        (spec(device(net_devices=(NetDevice(host_interface_name="a", name="b"),))), "1.1.0"),
    ],
)
def test_the_version_is_the_oldest_that_has_the_fields_in_use(example: Spec, version: str) -> None:
    assert required_version(example) == version


@pytest.mark.parametrize(
    ("broken", "path"),
    [
        (spec(cdi_version="0.2.0"), "cdiVersion"),
        (spec(cdi_version=""), "cdiVersion"),
        (spec(device("0"), cdi_version="0.4.0"), "cdiVersion"),
        (spec(kind="gpu"), "kind"),
        (spec(kind="/gpu"), "kind"),
        (spec(kind="1.example.com/gpu"), "kind"),
        (spec(kind="example.com/gpu-"), "kind"),
        (spec(kind="example.com/g/pu"), "kind"),
        (spec(annotations={"no good": ""}), "annotations"),
        (spec(annotations={"a": "x" * 300_000}), "annotations"),
        (spec(devices=()), "devices"),
        (spec(device("-a")), "devices[0].name"),
        (spec(device("")), "devices[0].name"),
        (spec(device("a/b")), "devices[0].name"),
        (spec(device("a"), device("a")), "devices[1].name"),
        (spec(Device(name="a")), "devices[0].containerEdits"),
        (spec(device(env=("A=b", "A"))), "devices[0].containerEdits.env[1]"),
        (spec(device(env=("=b",))), "devices[0].containerEdits.env[0]"),
        (
            spec(device(device_nodes=(DeviceNode(),))),
            "devices[0].containerEdits.deviceNodes[0].path",
        ),
        (
            spec(device(device_nodes=(DeviceNode(path="/a", type="x"),))),
            "devices[0].containerEdits.deviceNodes[0].type",
        ),
        (
            spec(device(device_nodes=(DeviceNode(path="/a", permissions="rx"),))),
            "devices[0].containerEdits.deviceNodes[0].permissions",
        ),
        (
            spec(device(device_nodes=(DeviceNode(path="/a", uid=-1),))),
            "devices[0].containerEdits.deviceNodes[0].uid",
        ),
        (
            spec(device(mounts=(Mount(host_path="/a"),))),
            "devices[0].containerEdits.mounts[0].containerPath",
        ),
        (
            spec(device(mounts=(Mount(container_path="/a"),))),
            "devices[0].containerEdits.mounts[0].hostPath",
        ),
        (
            spec(device(hooks=(Hook(hook_name="later", path="/a"),))),
            "devices[0].containerEdits.hooks[0].hookName",
        ),
        (
            spec(device(hooks=(Hook(hook_name="prestart"),))),
            "devices[0].containerEdits.hooks[0].path",
        ),
        (
            spec(device(hooks=(Hook(hook_name="prestart", path="/a", env=("x",)),))),
            "devices[0].containerEdits.hooks[0].env[0]",
        ),
        (
            spec(device(intel_rdt=IntelRdt(clos_id="a/b"))),
            "devices[0].containerEdits.intelRdt.closID",
        ),
        (
            spec(device(net_devices=(NetDevice(name="a"),))),
            "devices[0].containerEdits.netDevices[0].hostInterfaceName",
        ),
        (
            spec(
                device(
                    net_devices=(
                        NetDevice(host_interface_name="a", name="x"),
                        NetDevice(host_interface_name="b", name="x"),
                    )
                )
            ),
            "devices[0].containerEdits.netDevices[1].name",
        ),
        (spec(device(additional_gids=(-1,))), "devices[0].containerEdits.additionalGids[0]"),
        (spec(container_edits=ContainerEdits(env=("x",))), "containerEdits.env[0]"),
    ],
)
def test_a_broken_rule_is_named_with_its_place(broken: Spec, path: str) -> None:
    assert [error.field for error in validate_spec(broken)] == [path]


def test_all_broken_rules_are_named_at_once() -> None:
    broken = spec(Device(), kind="x")
    assert [error.field for error in validate_spec(broken)] == [
        "kind",
        "devices[0].name",
        "devices[0].containerEdits",
    ]


def test_edits_alone_are_judged_with_paths_of_their_own() -> None:
    errors = validate_edits(ContainerEdits(env=("x",), mounts=(Mount(host_path="/a"),)))
    assert [error.field for error in errors] == ["env[0]", "mounts[0].containerPath"]


def test_a_field_nobody_knows_is_refused_as_runtimes_do() -> None:
    with pytest.raises(DecodeError, match=r'unknown field "devices\[0\]\.containerEdits\.files"'):
        read_spec(
            {
                "cdiVersion": "0.3.0",
                "kind": "a/b",
                "devices": [{"name": "a", "containerEdits": {"env": ["A=b"], "files": []}}],
            }
        )


def test_a_document_that_breaks_rules_says_where() -> None:
    with pytest.raises(DecodeError) as caught:
        decode_spec(b'{"cdiVersion": "0.3.0", "kind": "nothing", "devices": []}')
    assert [caught.value.path, *(other.path for other in caught.value.others)] == [
        "kind",
        "devices",
    ]


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"devices": 5}', b"\xff", b"[" * 9999])
def test_what_is_no_spec_is_a_decode_error(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_spec(data)


def test_a_qualified_name_has_three_parts() -> None:
    name = parse_qualified_name("k8s.gpu.example.com/claim=0a1b-gpu:0")
    assert name == QualifiedName("k8s.gpu.example.com", "claim", "0a1b-gpu:0")
    assert name.kind == "k8s.gpu.example.com/claim"
    assert str(name) == "k8s.gpu.example.com/claim=0a1b-gpu:0"


@pytest.mark.parametrize(
    "text", ["", "a", "a/b", "a=b", "a/b=", "/b=c", "a/=c", "a/b=-", "a/b=c/d", "1/b=c", "a/b=c d"]
)
def test_a_text_that_is_no_qualified_name_is_refused(text: str) -> None:
    assert not is_qualified_name(text)
    with pytest.raises(ParseError):
        parse_qualified_name(text)


@pytest.mark.parametrize("text", ["../x", "a/b", "", "a\n", "a\0"])
def test_a_device_name_is_no_path(text: str) -> None:
    assert not is_device_name(text)


def test_later_edits_replace_earlier_ones_of_the_same_thing() -> None:
    merged = merge_edits(
        ContainerEdits(
            env=("A=1", "B=1"),
            device_nodes=(DeviceNode(path="/dev/a", permissions="r"),),
            mounts=(
                Mount(host_path="/x", container_path="/m"),
                Mount(host_path="/x", container_path="/m/n"),
            ),
            intel_rdt=IntelRdt(clos_id="a"),
            additional_gids=(5, 0),
            hooks=(Hook(hook_name="prestart", path="/h"),),
        ),
        ContainerEdits(
            env=("A=2",),
            device_nodes=(DeviceNode(path="/dev/a"),),
            mounts=(Mount(host_path="/y", container_path="/m"),),
            intel_rdt=IntelRdt(clos_id="b"),
            additional_gids=(5, 6),
            hooks=(Hook(hook_name="prestart", path="/h"),),
        ),
    )
    assert merged == ContainerEdits(
        env=("B=1", "A=2"),
        device_nodes=(DeviceNode(path="/dev/a"),),
        mounts=(
            Mount(host_path="/x", container_path="/m/n"),
            Mount(host_path="/y", container_path="/m"),
        ),
        intel_rdt=IntelRdt(clos_id="b"),
        additional_gids=(5, 6),
        hooks=(Hook(hook_name="prestart", path="/h"), Hook(hook_name="prestart", path="/h")),
    )


def test_no_edits_are_false() -> None:
    assert not merge_edits()
    assert ContainerEdits(env=environment({"A": "b"})).env == ("A=b",)
    assert ContainerEdits(env=("A=b",))
