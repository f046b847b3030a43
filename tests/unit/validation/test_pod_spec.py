"""The spec of a pod, beside its containers and its placement."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import (
    EvictionResponder,
    PodOS,
    PodReadinessGate,
    PodSchedulingGate,
    PodSchedulingGroup,
)
from dray.api.wire import replace
from dray.validation.pod_claims import MIRROR_POD_ANNOTATION
from dray.validation.pod_leniency import DELETION_COST_ANNOTATION
from dray.validation.pod_spec import check_pod_spec
from tests.unit.validation.builders import told
from tests.unit.validation.pod_builders import created, pod

GATE = PodSchedulingGate(name="example.com/wait")


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (
            {"restart_policy": "Often"},
            (
                'spec.restartPolicy: Unsupported value: "Often": supported values: "Always",'
                ' "OnFailure", "Never"'
            ),
        ),
        (
            {"dns_policy": "Guess"},
            (
                'spec.dnsPolicy: Unsupported value: "Guess": supported values:'
                ' "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"'
            ),
        ),
        (
            {"preemption_policy": "Ask"},
            (
                'spec.preemptionPolicy: Unsupported value: "Ask": supported values:'
                ' "PreemptLowerPriority", "Never"'
            ),
        ),
        ({"preemption_policy": ""}, "spec.preemptionPolicy: Required value"),
        (
            {"active_deadline_seconds": 0},
            (
                "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647,"
                " inclusive"
            ),
        ),
        (
            {"hostname": "a.b"},
            'spec.hostname: Invalid value: "a.b": must not contain dots',
        ),
        (
            {"share_process_namespace": True, "host_pid": True},
            (
                "spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID"
                " cannot both be enabled"
            ),
        ),
        (
            {"scheduling_gates": (GATE, GATE)},
            'spec.schedulingGates[1]: Duplicate value: "example.com/wait"',
        ),
        ({"os": PodOS()}, "spec.os.name: Required value"),
        (
            {"os": PodOS(name="plan9")},
            'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"',
        ),
        (
            {"scheduling_group": PodSchedulingGroup()},
            (
                "spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of:"
                " `podGroupName`"
            ),
        ),
        (
            {
                "scheduling_group": PodSchedulingGroup(pod_group_name="g"),
                "eviction_responders": (EvictionResponder(name="x"),),
            },
            "spec.schedulingGroup: Forbidden: may not be set when evictionResponders is set",
        ),
        (
            {"hostname_override": "h", "host_network": True},
            "spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
        ),
        (
            {"hostname_override": "h", "set_hostname_as_fqdn": True},
            "spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
        ),
        (
            {"hostname_override": "h" * 65},
            "spec.hostnameOverride: Too long: may not be more than 64 bytes",
        ),
    ],
)
def test_a_value_outside_its_rule_is_told(spec: dict[str, Any], error: str) -> None:
    assert created(pod(**spec)) == [error]


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("node_name", "spec.nodeName"),
        ("priority_class_name", "spec.priorityClassName"),
        ("runtime_class_name", "spec.runtimeClassName"),
        ("service_account_name", "spec.serviceAccountName"),
        ("subdomain", "spec.subdomain"),
    ],
)
def test_names_of_other_objects_are_names(field: str, path: str) -> None:
    (error,) = created(pod(**{field: "Not_a_name"}))  # type: ignore[arg-type]  # a field by name
    assert error.startswith(f'{path}: Invalid value: "Not_a_name": a lowercase RFC 1123')


def test_conditions_and_gates_are_named_like_labels() -> None:
    errors = created(
        pod(
            readiness_gates=(PodReadinessGate(condition_type="-"),),
            scheduling_gates=(PodSchedulingGate(name="-"),),
        )
    )
    assert [error.partition(": ")[0] for error in errors] == [
        "spec.readinessGates[0].conditionType",
        "spec.schedulingGates[0]",
    ]


def test_the_old_name_of_the_service_account_agrees_with_the_new() -> None:
    plain = pod(service_account_name="robot")
    odd = replace(plain, spec=replace(plain.spec, service_account="other"))
    assert created(odd) == [
        (
            'spec.deprecatedServiceAccount: Invalid value: "other": must be the same as'
            ' serviceAccountName: "robot"'
        )
    ]


def test_without_defaults_a_grace_period_is_missed_and_less_than_none_is_refused() -> None:
    plain = pod()
    spec = replace(plain.spec, termination_grace_period_seconds=None)
    assert told(check_pod_spec, spec, None, "spec") == [
        "spec.terminationGracePeriodSeconds: Required value"
    ]
    spec = replace(plain.spec, termination_grace_period_seconds=-1)
    assert created(replace(plain, spec=spec)) == [
        "spec.terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_a_mirror_of_a_nodes_own_pod_is_on_that_node() -> None:
    mirror = {"annotations": {MIRROR_POD_ANNOTATION: "x"}}
    assert created(pod(metadata=mirror, node_name="node-1")) == []
    assert created(pod(metadata=mirror)) == [
        (
            f'metadata.annotations[{MIRROR_POD_ANNOTATION}]: Invalid value: "x": must set'
            " spec.nodeName if mirror pod annotation is set"
        )
    ]


def test_a_deletion_cost_is_a_number() -> None:
    assert created(pod(metadata={"annotations": {DELETION_COST_ANNOTATION: "x"}})) == [
        (
            f'metadata.annotations[{DELETION_COST_ANNOTATION}]: Invalid value: "x": must be a 32bit'
            " integer"
        )
    ]
