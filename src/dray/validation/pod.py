"""Pod: what may be created, what may change, and what its status may say.

Upstream counterparts: ValidatePodCreate in pkg/apis/core/validation, pkg/registry/core/pod.
"""

from __future__ import annotations

from typing import Final

from dray.api.core import Pod
from dray.validation.findings import Findings
from dray.validation.node_allocatable import declare_node_allocatable
from dray.validation.pod_leniency import STRICT
from dray.validation.pod_profiles import check_profiles_agree
from dray.validation.pod_spec import check_pod
from dray.validation.pod_status import check_pod_status_update
from dray.validation.pod_update import check_ephemeral_containers_update, check_pod_update
from dray.validation.rulebook import Context, Rulebook, Verdict

__all__ = ["RULEBOOK", "update_ephemeral_containers"]


def _create(pod: Pod, _context: Context) -> Verdict:
    found = Findings()
    check_pod(found, pod, STRICT)
    if pod.spec.ephemeral_containers:
        found.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if pod.spec.node_name and pod.spec.scheduling_gates:
        detail = "cannot be set until all schedulingGates have been cleared"
        found.forbidden("spec.nodeName", detail)
    check_profiles_agree(found, pod.metadata.annotations, pod.spec, "spec")
    return Verdict(found, _declare(pod, None))


def _update(new: Pod, old: Pod, _context: Context) -> Verdict:
    found = Findings()
    check_pod_update(found, new, old)
    return Verdict(found, _declare(new, old))


def update_ephemeral_containers(new: Pod, old: Pod) -> Verdict:
    """A write through `ephemeralcontainers`."""
    found = Findings()
    check_ephemeral_containers_update(found, new, old)
    return Verdict(found, _declare(new, old))


def _update_status(new: Pod, old: Pod, _context: Context) -> Verdict:
    found = Findings()
    check_pod_status_update(found, new, old)
    return Verdict(found, _declare(new, old))


def _declare(new: Pod, old: Pod | None) -> Findings:
    """The declared rules look at the whole object, whichever part is written."""
    found = Findings()
    declare_node_allocatable(found, new.status, old.status if old else None)
    return found


RULEBOOK: Final = Rulebook(
    namespaced=True, create=_create, update=_update, status_update=_update_status
)
