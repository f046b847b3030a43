"""The questions about pod security: every aspect of a pod, at every level, in many versions."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.oracle.admission.worlds import (
    NAMESPACES,
    PODS,
    Case,
    Object,
    case,
    container,
    create_pod,
    meta,
    namespace,
    pod,
)

PLUGIN = "pod_security"
PREFIX = "pod-security.kubernetes.io/"
JOBS = {"group": "batch", "version": "v1", "resource": "jobs", "kind": "Job"}

# Each a version in which some check changed, and the one before.
VERSIONS = ("v1.0", "v1.8", "v1.19", "v1.22", "v1.24", "v1.25", "v1.28", "v1.34", "latest")


def labelled(**labels: str) -> Object:
    made = namespace("ns")
    made["metadata"]["labels"] = {
        f"{PREFIX}{name.replace('_', '-')}": value for name, value in labels.items()
    }
    return made


def secured(context: Object, **more: Any) -> Object:
    return container(securityContext=context, **more)


def hardened(**context: Any) -> Object:
    """A container nobody objects to, apart from what is changed of it."""
    safe: Object = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    return secured({key: value for key, value in (safe | context).items() if value is not None})


def _pods() -> Iterator[tuple[str, Object]]:
    yield "plain", pod()
    yield "hardened", pod(containers=[hardened()])
    contexts: list[Object] = [
        {"privileged": True, "allowPrivilegeEscalation": None},
        {"privileged": False},
        {"allowPrivilegeEscalation": True},
        {"capabilities": {"add": ["NET_ADMIN", "CHOWN", "BPF"]}},
        {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE", "CHOWN"]}},
        {"capabilities": {"drop": ["CHOWN"]}},
        {"runAsNonRoot": False},
        {"runAsNonRoot": None},
        {"runAsUser": 0},
        {"runAsUser": 1000},
        {"seccompProfile": {"type": "Unconfined"}},
        {"seccompProfile": {"type": "Localhost", "localhostProfile": "p"}},
        {"seccompProfile": None},
        {"procMount": "Unmasked"},
        {"procMount": "Default"},
        {"seLinuxOptions": {"type": "container_t"}},
        {"seLinuxOptions": {"type": "spc_t", "user": "u", "role": "r"}},
        {"seLinuxOptions": {"type": "container_engine_t"}},
        {"appArmorProfile": {"type": "Unconfined"}},
        {"appArmorProfile": {"type": "RuntimeDefault"}},
        {"windowsOptions": {"hostProcess": True}},
    ]
    for context in contexts:
        yield f"container {context}", pod(containers=[hardened(**context)])
    of_pods: list[Object] = [
        {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        {"runAsNonRoot": False, "runAsUser": 0},
        {"seccompProfile": {"type": "Unconfined"}},
        {"seLinuxOptions": {"role": "r"}},
        {"appArmorProfile": {"type": "Unconfined"}},
        {"windowsOptions": {"hostProcess": True}},
        {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]},
        {
            "sysctls": [
                {"name": "net.ipv4.tcp_rmem", "value": "1"},
                {"name": "net.ipv4.ip_local_reserved_ports", "value": "1"},
                {"name": "net.ipv4.tcp_notsent_lowat", "value": "1"},
                {"name": "net.ipv4.tcp_fin_timeout", "value": "1"},
                {"name": "kernel.shm_rmid_forced", "value": "1"},
            ]
        },
    ]
    silent = hardened(runAsNonRoot=None, seccompProfile=None)
    for context in of_pods:
        yield f"pod {context}", pod(securityContext=context, containers=[silent, container("d")])
    yield "host", pod(hostNetwork=True, hostPID=True, hostIPC=True, containers=[hardened()])
    ports = [{"containerPort": 8, "hostPort": 80}, {"containerPort": 9, "hostPort": 443}]
    yield "ports", pod(containers=[hardened() | {"ports": ports}])
    yield (
        "probes",
        pod(
            containers=[
                hardened()
                | {
                    "livenessProbe": {"httpGet": {"port": 1, "host": "a"}},
                    "readinessProbe": {"tcpSocket": {"port": 1, "host": "b"}},
                    "lifecycle": {"preStop": {"httpGet": {"port": 1, "host": "a"}}},
                },
                hardened() | {"name": "d", "startupProbe": {"httpGet": {"port": 1}}},
            ]
        ),
    )
    volumes = [
        {"name": "h", "hostPath": {"path": "/", "type": ""}},
        {"name": "n", "nfs": {"server": "s", "path": "/"}},
        {"name": "e", "emptyDir": {}},
    ]
    yield "volumes", pod(volumes=volumes, containers=[hardened()])
    yield (
        "annotations",
        pod(
            metadata={
                "annotations": {
                    "container.apparmor.security.beta.kubernetes.io/c": "unconfined",
                    "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
                    "container.seccomp.security.alpha.kubernetes.io/c": "runtime/default",
                }
            },
            containers=[hardened()],
        ),
    )
    yield "windows", pod(os={"name": "windows"}, containers=[secured({"runAsNonRoot": True})])
    rooted = hardened(runAsUser=0, runAsNonRoot=None, procMount="Unmasked")
    yield "own users", pod(hostUsers=False, containers=[rooted])
    yield (
        "several containers",
        pod(
            initContainers=[secured({"privileged": True}) | {"name": "i"}],
            containers=[secured({"privileged": True}), hardened() | {"name": "d"}],
        ),
    )


def pod_security(_: Random) -> Iterator[Case]:
    for title, made in _pods():
        for level in ("baseline", "restricted"):
            for version in ("v1.18", "latest"):
                strict = labelled(enforce=level, enforce_version=version)
                yield create_pod(PLUGIN, f"{level}:{version} {title}", made, strict)
    every = pod(
        hostUsers=False,
        os={"name": "windows"},
        securityContext={"sysctls": [{"name": "net.ipv4.tcp_wmem", "value": "1"}]},
        containers=[secured({"runAsUser": 0, "procMount": "Unmasked"})],
    )
    for level in ("privileged", "baseline", "restricted"):
        for version in (*VERSIONS, "v1.99"):
            strict = labelled(enforce=level, enforce_version=version)
            yield create_pod(PLUGIN, f"{level}:{version}", every, strict)
    yield create_pod(PLUGIN, "no labels", every, namespace("ns"))
    yield create_pod(
        PLUGIN, "no name yet", pod(metadata={"name": ""}), labelled(enforce="restricted")
    )
    yield from _modes()
    yield from _updates()
    yield from _namespaces()


def _modes() -> Iterator[Case]:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta("j"),
        "spec": {"template": {"spec": {"containers": [container()], "restartPolicy": "Never"}}},
    }
    for labels in (
        {"warn": "restricted"},
        {"warn": "restricted", "warn_version": "v1.18"},
        {"audit": "restricted"},
        {"enforce": "baseline", "warn": "restricted"},
        {"enforce": "baseline"},
        {"enforce": "baseline", "enforce_version": "v1.20"},
        {"enforce": "restricted", "warn": "privileged"},
        {"enforce": "restricted", "warn_version": "v1.10"},
        {"enforce": "nonsense"},
        {"warn": "nonsense"},
        {"enforce": "restricted", "enforce_version": "2"},
    ):
        place = labelled(**labels)
        yield create_pod(PLUGIN, f"pod {labels}", pod(), place)
        yield case(PLUGIN, f"job {labels}", "CREATE", JOBS, job, place)
        yield case(PLUGIN, f"job update {labels}", "UPDATE", JOBS, job, place, old=job)


def _updates() -> Iterator[Case]:
    strict = labelled(enforce="restricted")
    old, image = pod(), pod(containers=[container(image="busybox:2")])
    debugged = pod(ephemeralContainers=[container("e")])
    yield case(PLUGIN, "same image", "UPDATE", PODS, old, strict, old=old)
    yield case(PLUGIN, "new image", "UPDATE", PODS, image, strict, old=old)
    for before in (old, debugged):
        yield case(
            PLUGIN, "debug", "UPDATE", PODS, debugged, strict, old=before,
            subresource="ephemeralcontainers",
        )  # fmt: skip
    yield case(PLUGIN, "status", "UPDATE", PODS, image, strict, old=old, subresource="status")


def _namespaces() -> Iterator[Case]:
    wrong = labelled(
        enforce="nonsense", warn="x", audit="y", enforce_version="1", warn_version="v2"
    )
    fine = labelled(enforce="restricted", enforce_version="v1.30")
    bare = namespace("ns")
    pods = [
        pod("a"),
        pod("b"),
        pod("c", hostNetwork=True),
        pod("d", hostNetwork=True),
        pod("e", hostNetwork=True),
        pod("f", containers=[hardened()]),
    ]
    for title, new in (("wrong", wrong), ("fine", fine)):
        yield case(PLUGIN, f"create {title}", "CREATE", NAMESPACES, new)
        yield case(PLUGIN, f"update {title}", "UPDATE", NAMESPACES, new, *pods, old=bare)
        yield case(PLUGIN, f"keep {title}", "UPDATE", NAMESPACES, new, *pods, old=new)
    for new, old in (
        (labelled(enforce="baseline"), bare),
        (labelled(enforce="baseline"), labelled(enforce="restricted")),
        (labelled(enforce="restricted"), fine),
        (bare, fine),
        (labelled(warn="restricted"), bare),
        (labelled(enforce="x"), wrong),
    ):
        title = f"{new['metadata'].get('labels')} {old['metadata'].get('labels')}"
        yield case(PLUGIN, title, "UPDATE", NAMESPACES, new, *pods, old=old)
