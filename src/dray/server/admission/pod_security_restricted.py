"""What the level restricted forbids beyond baseline: everything a hardened pod does not need.

Upstream counterpart: the restricted checks of k8s.io/pod-security-admission's policy package.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from dray.server.admission.pod_references import Item, volumes_of
from dray.server.admission.pod_security_baseline import (
    adding_capabilities,
    check_proc_mount,
    check_seccomp,
)
from dray.server.admission.pod_security_view import (
    Aspect,
    PodView,
    Violation,
    listed_containers,
    member,
    plural,
    quoted,
    setters_of,
    strings,
    unless_own_users,
    unless_windows,
    uses,
)

__all__ = ["RESTRICTED"]


def _escalation(view: PodView) -> Violation | None:
    names = view.named(lambda context: context.get("allowPrivilegeEscalation") is not False)
    if not names:
        return None
    return Violation(
        "allowPrivilegeEscalation != false",
        f"{listed_containers(names)} must set securityContext.allowPrivilegeEscalation=false",
    )


def _dropped_capabilities(view: PodView) -> Violation | None:
    details = []
    keeping = view.named(lambda context: "ALL" not in strings(context, "capabilities", "drop"))
    if keeping:
        details.append(
            f'{listed_containers(keeping)} must set securityContext.capabilities.drop=["ALL"]'
        )
    if adding := adding_capabilities(view, frozenset({"NET_BIND_SERVICE"})):
        details.append(adding)
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


_VOLUMES: Final = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
_RESTRICTED_VOLUMES: Final = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
)


def _restricted_volumes(view: PodView) -> Violation | None:
    names, kinds = [], set()
    for volume in volumes_of(view.spec):
        if any(volume.get(kind) is not None for kind in _VOLUMES):
            continue
        names.append(str(volume.get("name", "")))
        given = (kind for kind in _RESTRICTED_VOLUMES if volume.get(kind) is not None)
        kinds.add(next(given, "unknown"))
    if not names:
        return None
    listed = sorted(kinds)
    return Violation(
        "restricted volume types",
        f"{plural('volume', names)} {quoted(names)} {uses(names)} "
        f"{plural('restricted volume type', listed)} {quoted(listed)}",
    )


def _non_root(view: PodView) -> Violation | None:
    reason = "runAsNonRoot != true"
    of_pod = view.context.get("runAsNonRoot")
    denying = view.named(lambda context: context.get("runAsNonRoot") is False)
    if setters := setters_of(of_pod is False, denying):
        return Violation(reason, f"{setters} must not set securityContext.runAsNonRoot=false")
    silent = view.named(lambda context: context.get("runAsNonRoot") is None)
    if silent and of_pod is not True:
        detail = f"pod or {listed_containers(silent)} must set securityContext.runAsNonRoot=true"
        return Violation(reason, detail)
    return None


def _root_user(view: PodView) -> Violation | None:
    def bad(context: Item) -> bool:
        return context.get("runAsUser") == 0

    setters = setters_of(bad(view.context), view.named(bad))
    return Violation("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


def _required_seccomp(view: PodView) -> Violation | None:
    if found := check_seccomp(view):
        return found
    if member(view.context, "seccompProfile") is not None:
        return None
    silent = view.named(lambda context: context.get("seccompProfile") is None)
    if not silent:
        return None
    return Violation(
        "seccompProfile",
        f"pod or {listed_containers(silent)} must set securityContext.seccompProfile.type to "
        '"RuntimeDefault" or "Localhost"',
    )


# In the order in which upstream reports them.
RESTRICTED: Final = (
    Aspect({8: _escalation, 25: partial(unless_windows, _escalation)}),
    Aspect(
        {22: _dropped_capabilities, 25: partial(unless_windows, _dropped_capabilities)},
        replaces="capabilities_baseline",
    ),
    Aspect({35: check_proc_mount}, replaces="procMount"),
    Aspect({0: _restricted_volumes}, replaces="hostPathVolumes"),
    Aspect({0: _non_root, 35: partial(unless_own_users, _non_root)}),
    Aspect({23: _root_user, 35: partial(unless_own_users, _root_user)}),
    Aspect(
        {19: _required_seccomp, 25: partial(unless_windows, _required_seccomp)},
        replaces="seccompProfile_baseline",
    ),
)
