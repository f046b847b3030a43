"""What controllers make pods from, and the selectors by which they find those pods again.

A template is checked like a pod, except for what only a pod has: a name, a namespace, a status.
Upstream reports labels and annotations of a template without the `metadata` they are in. Upstream
counterparts: ValidatePodTemplateSpec in
pkg/apis/core/validation, ValidatePodTemplateSpecForReplicaSet in pkg/apis/apps/validation.
"""

from __future__ import annotations

from typing import Final

from dray.api import names
from dray.api.core import RESTART_POLICY_ALWAYS, PodTemplateSpec
from dray.api.labels import Selector
from dray.api.meta import LabelSelector
from dray.errors import ParseError
from dray.validation.findings import Findings
from dray.validation.meta import validate_annotations, validate_labels
from dray.validation.pod_leniency import Leniency
from dray.validation.pod_profiles import check_profiles_agree
from dray.validation.pod_spec import check_annotations, check_pod_spec
from dray.validation.shown import as_wire

__all__ = [
    "check_lasting_pods",
    "check_pod_template",
    "check_selected",
    "has_odd_values",
    "is_empty",
    "read_selector",
]

_NOT_SELECTED: Final = "`selector` does not match template `labels`"


def check_pod_template(
    found: Findings, template: PodTemplateSpec, path: str, leniency: Leniency
) -> None:
    annotations = template.metadata.annotations
    found.extend(validate_labels(template.metadata.labels, f"{path}.labels"))
    found.extend(validate_annotations(annotations, f"{path}.annotations"))
    check_annotations(found, annotations, template.spec, leniency, path=f"{path}.annotations")
    check_pod_spec(found, template.spec, None, f"{path}.spec", leniency)
    check_profiles_agree(found, annotations, template.spec, f"{path}.spec")
    if template.spec.ephemeral_containers:
        detail = "ephemeral containers not allowed in pod template"
        found.forbidden(f"{path}.spec.ephemeralContainers", detail)


def check_lasting_pods(found: Findings, template: PodTemplateSpec, path: str, owner: str) -> None:
    """Pods that are there to stay: they restart for ever, and have no deadline."""
    policy = template.spec.restart_policy
    if policy != RESTART_POLICY_ALWAYS:
        found.not_supported(f"{path}.spec.restartPolicy", policy, (RESTART_POLICY_ALWAYS,))
    if template.spec.active_deadline_seconds is not None:
        detail = f"activeDeadlineSeconds in {owner} is not Supported"
        found.forbidden(f"{path}.spec.activeDeadlineSeconds", detail)


def read_selector(selector: LabelSelector | None) -> Selector | None:
    """What the selector means; None if it means nothing sensible. An absent one finds no pod."""
    if selector is None:
        return Selector.nothing()
    clauses = [
        (clause.key, clause.operator, clause.values) for clause in selector.match_expressions
    ]
    try:
        return Selector.from_label_selector(selector.match_labels, clauses)
    except ParseError:
        return None


def check_selected(
    found: Findings, selector: LabelSelector | None, template: PodTemplateSpec, path: str
) -> None:
    """That the selector finds the pods made from the template; an unreadable one is no matter."""
    meaning = read_selector(selector)
    labels = template.metadata.labels
    if meaning is not None and not meaning.matches(labels):
        found.invalid(f"{path}.metadata.labels", as_wire(labels) or None, _NOT_SELECTED)


def is_empty(selector: LabelSelector) -> bool:
    """Whether the selector finds every pod there is."""
    return not selector.match_labels and not selector.match_expressions


def has_odd_values(selector: LabelSelector | None) -> bool:
    """Whether a stored selector asks for what no label can be, so that it must be let through."""
    return selector is not None and any(
        names.label_value(value) for clause in selector.match_expressions for value in clause.values
    )
