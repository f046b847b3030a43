"""What one operating system has and another has not."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import PodOS
from dray.validation.pod_leniency import STRICT, Leniency
from dray.validation.pod_operating_system import (
    check_host_processes,
    check_host_users,
    check_operating_system,
)
from tests.unit.validation.builders import told
from tests.unit.validation.part_builders import container, raw
from tests.unit.validation.pod_builders import paths, pod


def of(name: str, context: Any = None, **spec: Any) -> list[str]:
    main = container(**({"security_context": context} if context else {}))
    found = pod(os=PodOS(name=name), containers=(main,), **spec).spec
    return told(check_operating_system, found, "spec")


@pytest.mark.parametrize(("name", "path"), [("", "spec.os.name"), ("beos", "spec.os")])
def test_there_are_two_operating_systems(name: str, path: str) -> None:
    assert paths(of(name)) == [path]
    assert told(check_operating_system, pod().spec, "spec") == []


def test_linux_has_no_options_of_windows() -> None:
    options: Any = {"windowsOptions": {}}
    assert paths(of("linux", options, security_context=raw(options))) == [
        "spec.securityContext.windowsOptions",
        "spec.containers[0].securityContext.windowsOptions",
    ]
    assert of("windows", options, security_context=raw(options)) == []


def test_windows_has_little_of_what_linux_has() -> None:
    assert paths(of("windows", {"privileged": False}, host_pid=True, host_users=True)) == [
        "spec.hostUsers",
        "spec.hostPID",
        "spec.containers[0].securityContext.privileged",
    ]
    groups = raw({"supplementalGroups": [1], "sysctls": []})
    assert paths(of("windows", security_context=groups)) == [
        "spec.securityContext.supplementalGroups"
    ]


def processes(ours: bool | None, *theirs: bool | None, network: bool = True) -> list[str]:
    def options(wanted: bool | None) -> Any:
        return {"windowsOptions": {"hostProcess": wanted}}

    containers = tuple(
        container(f"c{index}", security_context=options(each)) for index, each in enumerate(theirs)
    )
    spec = pod(
        containers=containers, security_context=raw(options(ours)), host_network=network
    ).spec
    return told(check_host_processes, spec, "spec")


def test_all_containers_are_processes_of_the_host_or_none_is() -> None:
    assert processes(None, None, False) == []
    assert processes(True, None, True) == []
    assert processes(None, True, None) == [
        (
            'spec: Invalid value: "": If pod contains any hostProcess containers then all '
            "containers must be HostProcess containers"
        )
    ]


def test_a_container_does_not_contradict_its_pod() -> None:
    assert processes(False, True)[0].endswith(
        "hostProcess: Invalid value: true: pod hostProcess value must be identical if both are "
        "specified, was false"
    )


def test_processes_of_the_host_are_on_its_network() -> None:
    assert paths(processes(True, None, network=False)) == ["spec.hostNetwork"]


def users(leniency: Leniency = STRICT, **spec: Any) -> list[str]:
    return told(check_host_users, pod(**spec).spec, "spec", leniency)


def test_a_pod_with_users_of_its_own_shares_little_else() -> None:
    shared: Any = {"host_network": True, "host_pid": True, "host_ipc": True}
    assert users(**shared) == []
    assert paths(users(host_users=False, **shared)) == [
        "spec.hostNetwork",
        "spec.HostPID",
        "spec.HostIPC",
    ]
    kept = Leniency(host_network_without_users=True)
    assert users(kept, host_users=False, host_network=True) == []


def test_devices_know_nothing_of_users() -> None:
    main = container(volume_devices=[{"name": "d", "devicePath": "/d"}])
    assert paths(users(host_users=False, containers=(main,))) == [
        "spec.containers[0].volumeDevices"
    ]
    kept = Leniency(devices_without_users=True)
    assert users(kept, host_users=False, containers=(main,)) == []
