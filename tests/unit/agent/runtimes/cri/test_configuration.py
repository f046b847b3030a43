"""What a runtime is told of sandboxes and containers, to the letter."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dray.agent.runtimes.cri.configuration import (
    MASKED_PATHS,
    SANDBOX_CONFIG,
    container_message,
    restored_sandbox_message,
    sandbox_message,
    set_user_of_image,
)
from dray.agent.runtimes.failures import RuntimeFailed
from dray.agent.runtimes.runtime import ContainerConfig, Mount, PodIdentity, SandboxConfig
from dray.proto import cri_v1_pb2 as cri

POD = PodIdentity("default", "pod", "uid-1")
SANDBOX = SandboxConfig(
    pod=POD,
    attempt=3,
    hostname="host",
    log_directory="/logs/pod",
    labels={"app": "web", "io.kubernetes.pod.uid": "not this", SANDBOX_CONFIG: "not-this"},
    annotations={"note": "kept"},
)
CONTAINER = ContainerConfig(name="app", attempt=2, image="image")


def status_of(message: cri.PodSandboxConfig) -> cri.PodSandboxStatus:
    """What a runtime says of a sandbox it made so."""
    options = message.linux.security_context.namespace_options
    return cri.PodSandboxStatus(
        id="1",
        metadata=message.metadata,
        labels=message.labels,
        annotations=message.annotations,
        linux=cri.LinuxPodSandboxStatus(namespaces=cri.Namespace(options=options)),
    )


def test_a_sandbox_has_a_kubelets_labels_whatever_the_pod_says() -> None:
    message = sandbox_message(SANDBOX)
    kept = message.labels.pop(SANDBOX_CONFIG)
    assert json.loads(kept)["logDirectory"] == "/logs/pod"
    assert dict(message.labels) == {
        "app": "web",
        "io.kubernetes.pod.name": "pod",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": "uid-1",
    }
    assert dict(message.annotations) == {"note": "kept"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"host_network": True},
        {"host_pid": True, "host_ipc": True},
        {"privileged": True, "cgroup_parent": "/kubepods"},
    ],
    ids=lambda changes: ",".join(changes) or "plain",
)
def test_a_sandbox_comes_back_as_it_was_made(changes: dict[str, object]) -> None:
    made = sandbox_message(replace(SANDBOX, **changes))  # type: ignore[arg-type]  # of any field
    restored = restored_sandbox_message(status_of(made))
    assert restored == made


@pytest.mark.parametrize("kept", ["", "x", "{", "[]", '{"logDirectory": "../x"}'])
def test_a_sandbox_of_a_kubelet_is_taken_over_whatever_its_pod_says(kept: str) -> None:
    status = status_of(sandbox_message(replace(SANDBOX, host_network=True)))
    status.labels[SANDBOX_CONFIG] = kept
    message = restored_sandbox_message(status)
    assert message.log_directory == "/var/log/pods/default_pod_uid-1"
    assert message.linux.security_context.namespace_options.network == cri.NODE


def test_ports_and_sysctls_are_passed_on() -> None:
    config = replace(
        SANDBOX, sysctls={"net.core.somaxconn": "9"}, port_mappings=(("UDP", 53, 5353),)
    )
    message = sandbox_message(config)
    assert dict(message.linux.sysctls) == {"net.core.somaxconn": "9"}
    (mapping,) = message.port_mappings
    assert (mapping.protocol, mapping.container_port, mapping.host_port) == (cri.UDP, 53, 5353)


def test_a_container_is_legible_to_a_kubelet() -> None:
    message = container_message(CONTAINER, sandbox_message(SANDBOX))
    assert message.labels["io.kubernetes.container.name"] == "app"
    assert message.labels["io.kubernetes.pod.uid"] == "uid-1"
    assert message.annotations["io.kubernetes.container.restartCount"] == "2"
    assert (message.metadata.name, message.metadata.attempt) == ("app", 2)


@pytest.mark.parametrize(
    ("request_millis", "limit_millis", "shares", "quota"),
    [(0, 0, 2, 0), (500, 0, 512, 0), (0, 2000, 2048, 200_000), (1, 1, 2, 1_000)],
)
def test_processor_time_is_counted_as_the_kernel_does(
    request_millis: int, limit_millis: int, shares: int, quota: int
) -> None:
    config = replace(CONTAINER, cpu_request_millis=request_millis, cpu_limit_millis=limit_millis)
    resources = container_message(config, sandbox_message(SANDBOX)).linux.resources
    assert (resources.cpu_shares, resources.cpu_quota) == (shares, quota)


def test_only_the_privileged_see_everything() -> None:
    sandbox = sandbox_message(SANDBOX)
    plain = container_message(CONTAINER, sandbox).linux.security_context
    privileged = container_message(replace(CONTAINER, privileged=True), sandbox)
    assert set(MASKED_PATHS) <= set(plain.masked_paths)
    assert "/proc/sys" in plain.readonly_paths
    assert not privileged.linux.security_context.masked_paths
    assert not privileged.linux.security_context.readonly_paths


def test_variables_that_are_no_text_survive() -> None:
    config = replace(CONTAINER, environment=(("RAW", b"\xff".decode("utf-8", "surrogateescape")),))
    (variable,) = container_message(config, sandbox_message(SANDBOX)).envs
    assert variable.value == b"\xff"


def test_mounts_devices_and_users_are_passed_on() -> None:
    config = replace(
        CONTAINER,
        mounts=(Mount("/host", "/inside", read_only=True),),
        cdi_devices=("vendor.example.com/gpu=0",),
        run_as_user=0,
        run_as_group=5,
        no_new_privileges=True,
        stop_signal="SIGRTMIN+3",
    )
    message = container_message(config, sandbox_message(SANDBOX))
    assert message.mounts[0] == cri.Mount(
        host_path="/host", container_path="/inside", readonly=True
    )
    assert [device.name for device in message.CDI_devices] == ["vendor.example.com/gpu=0"]
    assert message.linux.security_context.HasField("run_as_user")
    assert message.linux.security_context.no_new_privs
    assert message.stop_signal == cri.SIGNAL_SIGRTMINPLUS3


def test_a_signal_nobody_knows_is_refused() -> None:
    with pytest.raises(RuntimeFailed, match="SIGNONE"):
        container_message(replace(CONTAINER, stop_signal="SIGNONE"), sandbox_message(SANDBOX))


@pytest.mark.parametrize(
    ("image", "user", "name"),
    [
        (cri.Image(), 0, ""),
        (cri.Image(uid=cri.Int64Value(value=7)), 7, ""),
        (cri.Image(username="web"), 0, "web"),
    ],
    ids=["root", "number", "name"],
)
def test_the_images_user_is_said_where_the_pod_says_none(
    image: cri.Image, user: int, name: str
) -> None:
    message = container_message(replace(CONTAINER, run_as_group=5), sandbox_message(SANDBOX))
    set_user_of_image(message, image)
    context = message.linux.security_context
    assert (context.run_as_user.value, context.run_as_username) == (user, name)
