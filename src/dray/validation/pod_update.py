"""Updates of pods: what may still change once a pod exists.

Images, the deadline, more tolerations, fewer scheduling gates; and while gates hold the pod back,
also a narrower choice of nodes. Nothing else: claims and resources stay as they were created.
What did change is told as a diff of the whole spec.
Upstream counterparts: ValidatePodUpdate and ValidatePodEphemeralContainersUpdate in
pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dray.api._edit import edit
from dray.api.core import (
    Container,
    NodeAffinity,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    Toleration,
)
from dray.api.equality import semantically_equal
from dray.errors import quote
from dray.validation.findings import Findings
from dray.validation.meta import validate_object_meta_update
from dray.validation.pod_claims import MIRROR_POD_ANNOTATION
from dray.validation.pod_containers import check_image_spaces
from dray.validation.pod_leniency import Leniency, leniency_toward
from dray.validation.pod_placement import check_tolerations
from dray.validation.pod_profiles import APP_ARMOR_PREFIX
from dray.validation.pod_spec import ACTIVE_DEADLINE_SECONDS_MAX, check_annotations, check_pod
from dray.validation.shown import as_internal, difference

__all__ = ["check_annotation_changes", "check_ephemeral_containers_update", "check_pod_update"]

_MUTABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_pod_update(found: Findings, new: Pod, old: Pod) -> None:
    """A change of a pod's metadata and spec; the new pod is checked by itself as well."""
    leniency = leniency_toward(old)
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    check_pod(found, new, leniency)
    check_annotation_changes(found, new, old, leniency)
    _check_spec_changes(found, new.spec, old.spec, leniency)


def check_ephemeral_containers_update(found: Findings, new: Pod, old: Pod) -> None:
    """Containers added to look into a running pod; those that are there stay as they are."""
    if MIRROR_POD_ANNOTATION in old.metadata.annotations:
        found.forbidden("", "static pods do not support ephemeral containers")
        return
    leniency = leniency_toward(old)
    found.extend(validate_object_meta_update(new.metadata, old.metadata))
    check_pod(found, new, leniency)
    check_annotation_changes(found, new, old, leniency)
    path = "spec.ephemeralContainers"
    wanted = {container.name: container for container in new.spec.ephemeral_containers}
    for container in old.spec.ephemeral_containers:
        title = f"existing ephemeral containers {quote(container.name)}"
        ours = wanted.get(container.name)
        if ours is None:
            found.forbidden(path, f"{title} may not be removed\n")
        elif not semantically_equal(ours, container):
            found.forbidden(path, f"{title} may not be changed\n{difference(container, ours)}")


def check_annotation_changes(found: Findings, new: Pod, old: Pod, leniency: Leniency) -> None:
    """Annotations that are fixed once a pod exists, and those that mean something."""
    ours, theirs = new.metadata.annotations, old.metadata.annotations
    for key in theirs:
        if ours.get(key) == theirs[key]:
            continue
        if key.startswith(APP_ARMOR_PREFIX):
            detail = "may not remove or update AppArmor annotations"
            found.forbidden(f"metadata.annotations[{key}]", detail)
        if key == MIRROR_POD_ANNOTATION:
            detail = "may not remove or update mirror pod annotation"
            found.forbidden(f"metadata.annotations[{key}]", detail)
    for key in ours:
        if key in theirs:
            continue
        if key.startswith(APP_ARMOR_PREFIX):
            found.forbidden(f"metadata.annotations[{key}]", "may not add AppArmor annotations")
        if key == MIRROR_POD_ANNOTATION:
            found.forbidden(f"metadata.annotations[{key}]", "may not add mirror pod annotation")
    check_annotations(found, ours, new.spec, leniency)


def _check_spec_changes(found: Findings, new: PodSpec, old: PodSpec, leniency: Leniency) -> None:
    # Where upstream stops looking, so that one mistake is not told in many ways, so do we.
    for path, ours, theirs in (
        ("spec.containers", new.containers or (), old.containers or ()),
        ("spec.initContainers", new.init_containers, old.init_containers),
    ):
        if not _check_same_containers(found, ours, theirs, path):
            return
    if not _check_deadline(found, new, old):
        return
    _check_only_added(found, new.tolerations, old.tolerations, leniency)
    _check_only_removed(found, new, old)
    if semantically_equal(new, old):
        return
    masked = _mask(new, old)
    if old.scheduling_gates:
        masked = _mask_node_choice(found, masked, old)
    if not semantically_equal(masked, old):
        detail = (
            f"pod updates may not change fields other than {_MUTABLE}\n{difference(old, masked)}"
        )
        found.forbidden("spec", detail)


def _check_same_containers(
    found: Findings, new: Sequence[Container], old: Sequence[Container], path: str
) -> bool:
    if len(new) != len(old):
        found.forbidden(path, "pod updates may not add or remove containers")
        return False
    for index, container in enumerate(new):
        if not container.image:
            found.required(f"{path}[{index}].image")
    check_image_spaces(found, new, path)
    return True


def _check_deadline(found: Findings, new: PodSpec, old: PodSpec) -> bool:
    """Whether the deadline is such that the rest is worth looking at."""
    path = "spec.activeDeadlineSeconds"
    ours, theirs = new.active_deadline_seconds, old.active_deadline_seconds
    if ours is None:
        if theirs is not None:
            found.invalid(path, None, "must not update from a positive integer to nil value")
        return True
    if not 0 <= ours <= ACTIVE_DEADLINE_SECONDS_MAX:
        detail = f"must be between 0 and {ACTIVE_DEADLINE_SECONDS_MAX}, inclusive"
        found.invalid(path, ours, detail)
        return False
    if theirs is not None and theirs < ours:
        found.invalid(path, ours, "must be less than or equal to previous value")
        return False
    return True


def _check_only_added(
    found: Findings, new: Sequence[Toleration], old: Sequence[Toleration], leniency: Leniency
) -> None:
    path = "spec.tolerations"
    kept = set(map(_tolerated, new))
    if any(_tolerated(toleration) not in kept for toleration in old):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        found.forbidden(path, detail)
        return
    check_tolerations(found, new, path, leniency)


def _tolerated(toleration: Toleration) -> tuple[str, str, str, str]:
    """What a toleration is for, beside how long. Members without a type have no say, nor a hash."""
    return toleration.key, toleration.operator, toleration.value, toleration.effect


def _check_only_removed(found: Findings, new: PodSpec, old: PodSpec) -> None:
    known = {gate.name for gate in old.scheduling_gates}
    added = {
        gate.name: index
        for index, gate in enumerate(new.scheduling_gates)
        if gate.name not in known
    }
    for name, index in added.items():
        found.forbidden(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{name}'",
        )


# What may change, put back to what it was -------------------------------------------------------


def _mask(new: PodSpec, old: PodSpec) -> PodSpec:
    """The new spec with the old value of everything that may change."""
    grace, old_grace = new.termination_grace_period_seconds, old.termination_grace_period_seconds
    return edit(
        new,
        containers=_mask_images(new.containers or (), old.containers or ()),
        init_containers=_mask_images(new.init_containers, old.init_containers),
        active_deadline_seconds=old.active_deadline_seconds,
        scheduling_gates=old.scheduling_gates,
        tolerations=old.tolerations,
        termination_grace_period_seconds=old_grace
        if old_grace is not None and old_grace < 0 and grace == 1
        else grace,
    )


def _mask_images(new: Sequence[Container], old: Sequence[Container]) -> tuple[Container, ...]:
    return tuple(
        edit(container, image=stored.image) for container, stored in zip(new, old, strict=True)
    )


def _mask_node_choice(found: Findings, masked: PodSpec, old: PodSpec) -> PodSpec:
    """The same for a gated pod, whose choice of nodes may still become narrower."""
    selector = masked.node_selector
    if any(selector.get(key) != value for key, value in old.node_selector.items()):
        found.invalid(
            "spec.nodeSelector",
            dict(selector),
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
        )
    masked = edit(masked, node_selector=old.node_selector)
    ours = masked.affinity.node_affinity if masked.affinity is not None else None
    theirs = old.affinity.node_affinity if old.affinity is not None else None
    if semantically_equal(ours, theirs):
        return masked
    _check_narrower(found, ours, theirs)
    if masked.affinity is None:
        # Affinity of pods went away too, if there was any; that is not forgiven.
        bare = old.affinity and edit(old.affinity, pod_affinity=None, pod_anti_affinity=None)
        return edit(masked, affinity=bare)
    affinity = edit(masked.affinity, node_affinity=theirs)
    if old.affinity is None and affinity == type(affinity)():
        return edit(masked, affinity=None)
    return edit(masked, affinity=affinity)


def _check_narrower(found: Findings, new: NodeAffinity | None, old: NodeAffinity | None) -> None:
    required = old and old.required_during_scheduling_ignored_during_execution
    old_terms = (required and required.node_selector_terms) or ()
    if not old_terms:
        return
    required = new and new.required_during_scheduling_ignored_during_execution
    new_terms = (required and required.node_selector_terms) or ()
    path = (
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        ".nodeSelectorTerms"
    )
    if len(old_terms) != len(new_terms):
        found.invalid(
            path,
            as_internal(new_terms) if new_terms else None,
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
        )
        return
    for index, (ours, theirs) in enumerate(zip(new_terms, old_terms, strict=True)):
        if not _only_adds(ours, theirs):
            found.invalid(
                f"{path}[{index}]",
                as_internal(ours),
                "only additions are allowed (no mutations or deletions)",
            )


def _only_adds(new: NodeSelectorTerm, old: NodeSelectorTerm) -> bool:
    expressions, fields = len(old.match_expressions), len(old.match_fields)
    if not expressions and not fields:
        # A term without clauses matches nothing; clauses would make it match something.
        return not new.match_expressions and not new.match_fields
    return (
        new.match_expressions[:expressions] == old.match_expressions
        and new.match_fields[:fields] == old.match_fields
    )
