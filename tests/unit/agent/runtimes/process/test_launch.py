from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from dray.agent.runtimes.failures import CREATE_CONTAINER_ERROR, RuntimeFailed
from dray.agent.runtimes.process.launch import (
    DEFAULT_PATH,
    TOKEN_MOUNT_PATH,
    Privileges,
    build_launch,
    find_privileges,
    stop_signal_of,
)
from dray.agent.runtimes.runtime import ContainerConfig, Mount
from dray.api.cdi import ContainerEdits, DeviceNode, IntelRdt, NetDevice
from dray.api.cdi import Mount as DeviceMount

ROOT = Privileges(is_root=True, has_namespaces=True, user=0)
NOBODY = Privileges(is_root=False, has_namespaces=False, user=65534)


def build(
    edits: ContainerEdits | None = None,
    privileges: Privileges = ROOT,
    *,
    ignore_mounts: bool = False,
    **fields: Any,
) -> dict[str, Any]:
    fields.setdefault("command", ("run",))
    return build_launch(
        "process://c",
        ContainerConfig("app", 0, fields.pop("image", "image"), **fields),
        edits or ContainerEdits(),
        privileges,
        hostname="pod",
        log_path="/logs/0.log",
        directory=Path("/state/c"),
        ignore_mounts=ignore_mounts,
    )


def refusal(*arguments: Any, **fields: Any) -> str:
    with pytest.raises(RuntimeFailed) as caught:
        build(*arguments, **fields)
    assert caught.value.reason == CREATE_CONTAINER_ERROR
    return str(caught.value)


def test_variables_are_as_given_and_devices_come_last() -> None:
    launch = build(
        ContainerEdits(env=("A=device", "B=has=equals")), environment=(("A", "pod"), ("C", ""))
    )
    assert launch["env"] == [
        ("PATH", DEFAULT_PATH),
        ("A", "device"),
        ("C", ""),
        ("B", "has=equals"),
    ]
    assert build(environment=(("PATH", "/mine"),))["env"] == [("PATH", "/mine")]


@pytest.mark.parametrize(("name", "value"), [("", "x"), ("A=B", "x"), ("A", "x\0y")])
def test_a_variable_that_cannot_be_is_refused(name: str, value: str) -> None:
    assert "cannot be set" in refusal(environment=((name, value),))


def test_the_command_is_the_command_and_its_arguments() -> None:
    assert build(command=("a",), arguments=("b", "c"))["argv"] == ["a", "b", "c"]
    assert "images are not pulled" in refusal(command=(), arguments=("b",))


@pytest.mark.parametrize(
    ("image", "pauses"),
    [
        ("registry.k8s.io/pause:3.10", True),
        ("localhost:5000/pause@sha256:ab", True),
        ("pause", True),
        ("menopause:1", False),
        ("example.com/pause/app", False),
    ],
)
def test_only_a_pause_needs_no_command(image: str, *, pauses: bool) -> None:
    if pauses:
        assert build(image=image, command=())["argv"] is None
    else:
        refusal(image=image, command=())


def test_capabilities_are_dropped_by_name() -> None:
    assert build(drop_capabilities=("NET_RAW", "CAP_MKNOD"))["dropCapabilities"] == [13, 27]
    dropped = build(drop_capabilities=("ALL",), add_capabilities=("NET_ADMIN",))
    assert set(range(41)) - set(dropped["dropCapabilities"]) == {12}
    assert build(privileged=True, drop_capabilities=("ALL",))["dropCapabilities"] == []


def test_privileges_are_gained_unless_the_container_may_not() -> None:
    assert not build()["noNewPrivileges"]
    assert build(no_new_privileges=True)["noNewPrivileges"]


def test_users_and_groups_are_resolved_by_root() -> None:
    launch = build(ContainerEdits(additional_gids=(7,)), run_as_user=4242, supplemental_groups=(8,))
    assert (launch["uid"], launch["gid"], launch["groups"]) == (4242, 0, [8, 7])
    launch = build()
    assert (launch["uid"], launch["gid"], launch["groups"]) == (None, None, None)
    assert "cannot change that" in refusal(None, NOBODY, run_as_user=1)
    assert build(None, NOBODY, run_as_user=65534)["uid"] is None


def test_mounts_are_checked_before_anything_runs(tmp_path: Path) -> None:
    told = refusal(mounts=(Mount("/dray-none", "/data"),))
    assert told == "mount /data: /dray-none does not exist"
    assert "absolute path" in refusal(mounts=(Mount(str(tmp_path), "data"),))
    assert "absolute path" in refusal(mounts=(Mount(str(tmp_path), "/a/../../etc"),))
    device_mount = DeviceMount(host_path=str(tmp_path), container_path="/d", options=("ro",))
    launch = build(
        ContainerEdits(mounts=(device_mount,)), mounts=(Mount(str(tmp_path), "/a", True),)
    )
    assert [(each["target"], each["options"]) for each in launch["mounts"]] == [
        ("/a", ["ro"]),
        ("/d", ["ro"]),
    ]


def test_without_namespaces_a_pod_does_without_the_token_it_never_asked_for(tmp_path: Path) -> None:
    token = Mount(str(tmp_path), TOKEN_MOUNT_PATH)
    assert build(None, NOBODY, mounts=(token,))["mounts"] == []
    assert len(build(mounts=(token,))["mounts"]) == 1


def test_without_namespaces_only_what_changes_nothing_is_granted(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    same = Mount(str(tmp_path), str(tmp_path / "link"))
    assert build(None, NOBODY, mounts=(same,))["mounts"] == []
    other = Mount(str(tmp_path), "/data")
    assert "only root can make" in refusal(None, NOBODY, mounts=(other,))
    assert build(None, NOBODY, mounts=(other,), ignore_mounts=True)["mounts"] == []
    assert "read-only root" in refusal(None, NOBODY, read_only_root=True)
    null = DeviceNode(path="/dev/null")
    assert build(ContainerEdits(device_nodes=(null,)), NOBODY)["devices"] == []
    moved = DeviceNode(path="/dev/gpu", host_path="/dev/null")
    assert "only root can make" in refusal(ContainerEdits(device_nodes=(moved,)), NOBODY)


def test_a_device_must_be_there_or_say_what_it_is() -> None:
    missing = DeviceNode(path="/dev/dray-none")
    told = "device /dev/dray-none: /dev/dray-none does not exist"
    assert refusal(ContainerEdits(device_nodes=(missing,))) == told
    assert refusal(ContainerEdits(device_nodes=(missing,)), NOBODY) == told
    made = DeviceNode(path="/dev/dray-none", type="c", major=1, minor=3, file_mode=0o666)
    (device,) = build(ContainerEdits(device_nodes=(made,)))["devices"]
    assert (device["major"], device["minor"], device["fileMode"]) == (1, 3, 0o666)


def test_what_processes_cannot_have_is_refused() -> None:
    network = ContainerEdits(net_devices=(NetDevice(host_interface_name="eth1", name="eth0"),))
    assert "network namespace" in refusal(network)
    assert "Intel RDT" in refusal(ContainerEdits(intel_rdt=IntelRdt(clos_id="x")))


@pytest.mark.parametrize(
    ("name", "number"),
    [("", signal.SIGTERM), ("SIGINT", signal.SIGINT), ("QUIT", signal.SIGQUIT)],
)
def test_stop_signals_have_names(name: str, number: signal.Signals) -> None:
    assert stop_signal_of(ContainerConfig("app", 0, "image", stop_signal=name)) == number


def test_a_stop_signal_must_be_one() -> None:
    with pytest.raises(RuntimeFailed, match="stop signal SIGNONE is no signal"):
        stop_signal_of(ContainerConfig("app", 0, "image", stop_signal="SIGNONE"))


def test_privileges_are_those_of_this_process() -> None:
    found = find_privileges()
    assert found.user == os.geteuid()
    assert found.is_root == (os.geteuid() == 0)
