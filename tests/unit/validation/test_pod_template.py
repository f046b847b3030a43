"""Templates, and the selectors that find their pods."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import EphemeralContainer, PodResourceClaim, PodTemplateSpec, ResourceClaim
from dray.api.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta
from dray.api.pod_defaults import default_pod_spec
from dray.api.wire import replace
from dray.validation.pod_leniency import STRICT
from dray.validation.pod_template import (
    check_lasting_pods,
    check_pod_template,
    check_selected,
    has_odd_values,
    is_empty,
    read_selector,
)
from tests.unit.validation.builders import told
from tests.unit.validation.pod_builders import container, paths, resources
from tests.unit.validation.workload_builders import LABELS, SELECTOR, template

PATH = "spec.template"


def checked(made: PodTemplateSpec) -> list[str]:
    return told(check_pod_template, made, PATH, STRICT)


def complete(**spec: Any) -> PodTemplateSpec:
    made = template(**spec)
    return replace(made, spec=default_pod_spec(made.spec))


def test_a_plain_template_is_fine() -> None:
    assert checked(complete()) == []


def test_claims_are_checked_where_the_template_has_them() -> None:
    made = complete(
        containers=(container(resources=resources(claims=[ResourceClaim(name="nic")])),),
        resource_claims=(PodResourceClaim(name="gpu"),),
    )
    unresolved, unknown = checked(made)
    assert unresolved.startswith("spec.template.spec.resourceClaims[0]: Invalid value: ")
    assert unknown == (
        'spec.template.spec.containers[0].resources.claims[0]: Not found: "nic": '
        "must be one of the names in pod.spec.resourceClaims: gpu"
    )


def test_labels_and_annotations_are_reported_without_the_metadata_around_them() -> None:
    meta = ObjectMeta(labels={"A!": "x"}, annotations={"B!": "x"})
    made = replace(complete(), metadata=meta)
    assert paths(checked(made)) == ["spec.template.labels", "spec.template.annotations"]


def test_annotations_that_mean_something_are_read() -> None:
    cost = "controller.kubernetes.io/pod-deletion-cost"
    made = replace(complete(), metadata=ObjectMeta(annotations={cost: "x"}))
    assert checked(made) == [
        f'spec.template.annotations[{cost}]: Invalid value: "x": must be a 32bit integer'
    ]


def test_no_debugger_comes_with_a_template() -> None:
    made = complete(ephemeral_containers=(EphemeralContainer(name="debug", image="sh:1"),))
    assert checked(made) == [
        (
            "spec.template.spec.ephemeralContainers: Forbidden: "
            "ephemeral containers not allowed in pod template"
        )
    ]


def test_pods_that_are_to_stay_restart_and_have_no_deadline() -> None:
    made = template(restart_policy="Never", active_deadline_seconds=5)
    assert told(check_lasting_pods, made, PATH, "DaemonSet") == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        (
            "spec.template.spec.activeDeadlineSeconds: Forbidden: "
            "activeDeadlineSeconds in DaemonSet is not Supported"
        ),
    ]


def test_the_selector_finds_the_templates_pods() -> None:
    assert told(check_selected, SELECTOR, template(), PATH) == []
    assert told(check_selected, SELECTOR, template(labels={"app": "db"}), PATH) == [
        (
            'spec.template.metadata.labels: Invalid value: {"app":"db"}: '
            "`selector` does not match template `labels`"
        )
    ]


def test_no_selector_finds_no_pod() -> None:
    assert told(check_selected, None, template(labels={}), PATH) == [
        (
            "spec.template.metadata.labels: Invalid value: null: "
            "`selector` does not match template `labels`"
        )
    ]


def test_what_cannot_be_read_is_refused_elsewhere() -> None:
    unreadable = LabelSelector(match_labels={"A!": ""})
    assert read_selector(unreadable) is None
    assert told(check_selected, unreadable, template(), PATH) == []


@pytest.mark.parametrize(
    ("selector", "empty"),
    [
        pytest.param(LabelSelector(), True, id="nothing"),
        pytest.param(LabelSelector(match_labels=LABELS), False, id="labels"),
    ],
)
def test_an_empty_selector_is_known_as_such(selector: LabelSelector, empty: bool) -> None:
    assert is_empty(selector) is empty


@pytest.mark.parametrize(("value", "odd"), [("x", False), ("x!", True)])
def test_odd_values_of_a_stored_selector_are_noticed(value: str, odd: bool) -> None:
    clause = LabelSelectorRequirement(key="app", operator="In", values=(value,))
    assert has_odd_values(LabelSelector(match_expressions=(clause,))) is odd
