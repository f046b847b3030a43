"""What the level baseline forbids: ways for a pod to become its node.

Each check has a form for every version of Kubernetes that changed it. Upstream counterpart: the
baseline checks of k8s.io/pod-security-admission's policy package.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from dray.api.core import Container
from dray.errors import quote
from dray.server.admission.pod_references import Item, volumes_of
from dray.server.admission.pod_security_view import (
    Aspect,
    PodView,
    Violation,
    listed_containers,
    member,
    object_of,
    plural,
    quoted,
    setters_of,
    strings,
    unless_own_users,
    uses,
)

__all__ = ["BASELINE", "adding_capabilities", "check_proc_mount", "check_seccomp"]

_APP_ARMOR_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"


def _app_armor(view: PodView) -> Violation | None:
    def profile(context: Item) -> Any:
        return member(context, "appArmorProfile")

    def bad(context: Item) -> bool:
        allowed = ("RuntimeDefault", "Localhost")
        return profile(context) is not None and member(profile(context), "type") not in allowed

    contexts = [view.context, *(context for _, context in view.containers)]
    values = sorted({member(profile(one), "type") or "" for one in contexts if bad(one)})
    annotations = sorted(
        f"{key}={quote(value)}"
        for key, value in view.annotations.items()
        if key.startswith(_APP_ARMOR_ANNOTATION)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    setters = [one for one in [setters_of(bad(view.context), view.named(bad))] if one]
    if annotations:
        setters.append(plural("annotation", annotations))
    if not setters:
        return None
    values += annotations
    return Violation(
        plural("forbidden AppArmor profile", values),
        f"{' and '.join(setters)} must not set AppArmor profile type to {quoted(values)}",
    )


_DEFAULT_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)


def _added(context: Item, allowed: frozenset[str]) -> set[str]:
    return set(strings(context, "capabilities", "add")) - allowed


def adding_capabilities(view: PodView, allowed: frozenset[str]) -> str:
    names = view.named(lambda context: bool(_added(context, allowed)))
    if not names:
        return ""
    found = sorted(set().union(*(_added(context, allowed) for _, context in view.containers)))
    return (
        f"{listed_containers(names)} must not include {quoted(found)} in "
        "securityContext.capabilities.add"
    )


def _default_capabilities(view: PodView) -> Violation | None:
    detail = adding_capabilities(view, _DEFAULT_CAPABILITIES)
    return Violation("non-default capabilities", detail) if detail else None


def _host_namespaces(view: PodView) -> Violation | None:
    spec = view.spec
    used = [
        f"{name}=true"
        for name, value in (
            ("hostNetwork", spec.host_network),
            ("hostPID", spec.host_pid),
            ("hostIPC", spec.host_ipc),
        )
        if value
    ]
    return Violation("host namespaces", ", ".join(used)) if used else None


def _host_paths(view: PodView) -> Violation | None:
    names = [
        str(volume.get("name", ""))
        for volume in volumes_of(view.spec)
        if volume.get("hostPath") is not None
    ]
    if not names:
        return None
    return Violation("hostPath volumes", f"{plural('volume', names)} {quoted(names)}")


def _host_ports(view: PodView) -> Violation | None:
    ports: set[str] = set()
    names = []
    for container, _ in view.containers:
        used = {str(port.host_port) for port in container.ports if port.host_port}
        if used:
            names.append(container.name)
            ports |= used
    if not names:
        return None
    listed = sorted(ports)
    noun = plural("hostPort", listed)
    return Violation(
        "hostPort", f"{listed_containers(names)} {uses(names)} {noun} {', '.join(listed)}"
    )


def _host_probes(view: PodView) -> Violation | None:
    names: set[str] = set()
    hosts: set[str] = set()
    for container, _ in view.containers:
        found = _probe_hosts(container)
        if found:
            names.add(container.name)
            hosts |= found
    if not names:
        return None
    containers, listed = sorted(names), sorted(hosts)
    noun = plural("probe or lifecycle host", listed)
    return Violation(
        "probe or lifecycle host",
        f"{listed_containers(containers)} {uses(containers)} {noun} {quoted(listed)}",
    )


def _probe_hosts(container: Container) -> set[str]:
    lifecycle = object_of(container.lifecycle)
    handlers = (
        *map(object_of, (container.liveness_probe, container.readiness_probe)),
        object_of(container.startup_probe),
        lifecycle.get("postStart"),
        lifecycle.get("preStop"),
    )
    found = (
        member(handler, action, "host")
        for handler in handlers
        for action in ("httpGet", "tcpSocket")
    )
    return {host for host in found if isinstance(host, str) and host}


def _privileged(view: PodView) -> Violation | None:
    names = view.named(lambda context: context.get("privileged") is True)
    if not names:
        return None
    return Violation(
        "privileged", f"{listed_containers(names)} must not set securityContext.privileged=true"
    )


def check_proc_mount(view: PodView) -> Violation | None:
    def bad(context: Item) -> bool:
        return context.get("procMount") not in (None, "Default")

    names = view.named(bad)
    if not names:
        return None
    kinds = sorted({str(context["procMount"]) for _, context in view.containers if bad(context)})
    return Violation(
        "procMount",
        f"{listed_containers(names)} must not set securityContext.procMount to {quoted(kinds)}",
    )


_SELINUX_TYPES: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})


def _selinux(view: PodView, *, types: frozenset[str]) -> Violation | None:
    def option(context: Item, name: str) -> str:
        return member(context, "seLinuxOptions", name) or ""

    def bad(context: Item) -> bool:
        return option(context, "type") not in types or bool(
            option(context, "user") or option(context, "role")
        )

    setters = setters_of(bad(view.context), view.named(bad))
    if not setters:
        return None
    contexts = [view.context, *(context for _, context in view.containers)]
    data = []
    if wrong := sorted({option(one, "type") for one in contexts} - types):
        data.append(f"{plural('type', wrong)} {quoted(wrong)}")
    data += [
        f"{name} may not be set"
        for name in ("user", "role")
        if any(option(one, name) for one in contexts)
    ]
    detail = f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
    return Violation("seLinuxOptions", detail)


_SECCOMP_POD_ANNOTATION: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_ANNOTATION: Final = "container.seccomp.security.alpha.kubernetes.io/"


def _seccomp_annotations(view: PodView) -> Violation | None:
    keys = [
        _SECCOMP_POD_ANNOTATION,
        *(f"{_SECCOMP_ANNOTATION}{container.name}" for container, _ in view.containers),
    ]
    found = sorted(
        {
            f"{key}={quote(value)}"
            for key in keys
            if (value := view.annotations.get(key)) is not None
            and value not in ("runtime/default", "docker/default")
            and not value.startswith("localhost/")
        }
    )
    if not found:
        return None
    detail = f"forbidden {plural('annotation', found)} {', '.join(found)}"
    return Violation("seccompProfile", detail)


def check_seccomp(view: PodView) -> Violation | None:
    def profile(context: Item) -> Any:
        return member(context, "seccompProfile")

    def bad(context: Item) -> bool:
        allowed = ("RuntimeDefault", "Localhost")
        return profile(context) is not None and member(profile(context), "type") not in allowed

    setters = setters_of(bad(view.context), view.named(bad))
    if not setters:
        return None
    contexts = [view.context, *(context for _, context in view.containers)]
    values = sorted({member(profile(one), "type") or "" for one in contexts if bad(one)})
    return Violation(
        "seccompProfile",
        f"{setters} must not set securityContext.seccompProfile.type to {quoted(values)}",
    )


_SYSCTLS: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    }
)
_SYSCTLS_27: Final = _SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_29: Final = _SYSCTLS_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
_SYSCTLS_32: Final = _SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
_SYSCTLS_37: Final = _SYSCTLS_32 | {
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_notsent_lowat",
}


def _sysctls(view: PodView, *, allowed: frozenset[str]) -> Violation | None:
    given = view.context.get("sysctls")
    names = [member(one, "name") or "" for one in given] if isinstance(given, list) else []
    wrong = [name for name in names if name not in allowed]
    return Violation("forbidden sysctls", ", ".join(wrong)) if wrong else None


def _host_process(view: PodView) -> Violation | None:
    def bad(context: Item) -> bool:
        return member(context, "windowsOptions", "hostProcess") is True

    setters = setters_of(bad(view.context), view.named(bad))
    if not setters:
        return None
    detail = f"{setters} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail)


# In the order in which upstream reports them.
BASELINE: Final = {
    "appArmorProfile": Aspect({0: _app_armor}),
    "capabilities_baseline": Aspect({0: _default_capabilities}),
    "hostNamespaces": Aspect({0: _host_namespaces}),
    "hostPathVolumes": Aspect({0: _host_paths}),
    "hostPorts": Aspect({0: _host_ports}),
    "hostProbesAndHostLifecycle": Aspect({34: _host_probes}),
    "privileged": Aspect({0: _privileged}),
    "procMount": Aspect({0: check_proc_mount, 35: partial(unless_own_users, check_proc_mount)}),
    "seLinuxOptions": Aspect(
        {
            0: partial(_selinux, types=_SELINUX_TYPES),
            31: partial(_selinux, types=_SELINUX_TYPES | {"container_engine_t"}),
        }
    ),
    "seccompProfile_baseline": Aspect({0: _seccomp_annotations, 19: check_seccomp}),
    "sysctls": Aspect(
        {
            0: partial(_sysctls, allowed=_SYSCTLS),
            27: partial(_sysctls, allowed=_SYSCTLS_27),
            29: partial(_sysctls, allowed=_SYSCTLS_29),
            32: partial(_sysctls, allowed=_SYSCTLS_32),
            37: partial(_sysctls, allowed=_SYSCTLS_37),
        }
    ),
    "windowsHostProcess": Aspect({0: _host_process}),
}
