"""What a job may ask for."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.batch import PodFailurePolicy, SuccessPolicy, SuccessPolicyRule
from dray.api.core import PodResourceClaim
from tests.unit.validation.pod_builders import paths
from tests.unit.validation.workload_builders import created, job, template

INDEXED: dict[str, Any] = {"completion_mode": "Indexed", "completions": 5}
HIGH: dict[str, Any] = {**INDEXED, "completions": 100_001, "backoff_limit_per_index": 1}


def test_an_indexed_job_is_fine() -> None:
    policy = SuccessPolicy(rules=(SuccessPolicyRule(succeeded_count=3),))
    spec = {**INDEXED, "backoff_limit_per_index": 1, "max_failed_indexes": 5}
    assert created(job(**spec, success_policy=policy)) == []


@pytest.mark.parametrize(
    ("field", "wire_name"),
    [
        ("parallelism", "parallelism"),
        ("completions", "completions"),
        ("active_deadline_seconds", "activeDeadlineSeconds"),
        ("backoff_limit", "backoffLimit"),
        ("ttl_seconds_after_finished", "ttlSecondsAfterFinished"),
    ],
)
def test_nothing_is_counted_below_nought(field: str, wire_name: str) -> None:
    negative: dict[str, Any] = {field: -1}
    assert created(job(**negative)) == [
        f"spec.{wire_name}: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_claims_in_the_template_are_checked() -> None:
    pods = template(restart_policy="Never", resource_claims=(PodResourceClaim(name="gpu"),))
    assert paths(created(job(template=pods))) == ["spec.template.spec.resourceClaims[0]"]


@pytest.mark.parametrize(
    ("spec", "texts"),
    [
        pytest.param(
            {"completion_mode": "Sometimes"},
            [
                (
                    'spec.completionMode: Unsupported value: "Sometimes": '
                    'supported values: "NonIndexed", "Indexed"'
                )
            ],
            id="unknown-mode",
        ),
        pytest.param(
            {"completion_mode": "Indexed", "parallelism": 1},
            ["spec.completions: Required value: when completion mode is Indexed"],
            id="indexed-without-end",
        ),
        pytest.param(
            {"backoff_limit_per_index": 1},
            ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
            id="index-of-nothing",
        ),
        pytest.param(
            {**INDEXED, "max_failed_indexes": 1},
            [
                "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
            ],
            id="failures-without-limit",
        ),
        pytest.param(
            HIGH,
            [
                (
                    "spec.maxFailedIndexes: Required value: "
                    "must be specified when completions is above 100000"
                )
            ],
            id="too-many-to-list",
        ),
        pytest.param(
            {**HIGH, "max_failed_indexes": 10_001, "parallelism": 10_001},
            [
                (
                    "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000"
                    " when completions are above 100000 and used with backoff limit per index"
                ),
                (
                    "spec.maxFailedIndexes: Invalid value: 10001: must be less than or equal to"
                    " 10000 when completions are above 100000 and used with backoff limit per index"
                ),
            ],
            id="too-many-at-once",
        ),
        pytest.param(
            {"success_policy": SuccessPolicy(rules=(SuccessPolicyRule(succeeded_count=1),))},
            [
                (
                    "spec.successPolicy: Invalid value: "
                    '{"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: '
                    "requires indexed completion mode"
                )
            ],
            id="success-of-nothing",
        ),
        pytest.param(
            {"pod_replacement_policy": "X"},
            [
                (
                    'spec.podReplacementPolicy: Unsupported value: "X": '
                    'supported values: "Failed", "TerminatingOrFailed"'
                )
            ],
            id="unknown-replacement",
        ),
        pytest.param(
            {
                "pod_failure_policy": PodFailurePolicy(),
                "pod_replacement_policy": "TerminatingOrFailed",
            },
            [
                (
                    'spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": '
                    'supported values: "Failed"'
                )
            ],
            id="replaced-before-it-failed",
        ),
    ],
)
def test_what_does_not_go_together(spec: dict[str, Any], texts: list[str]) -> None:
    assert created(job(**spec)) == texts


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("Always", 'Required value: valid values: "OnFailure", "Never"'),
        (
            "OnFailure",
            (
                'Invalid value: "OnFailure": '
                'only "Never" is supported when podFailurePolicy is specified'
            ),
        ),
    ],
)
def test_pods_of_a_job_end(policy: str, text: str) -> None:
    made = job(
        template=template(restart_policy=policy), pod_failure_policy=PodFailurePolicy(rules=())
    )
    assert created(made) == [f"spec.template.spec.restartPolicy: {text}"]


def test_an_unknown_restart_policy_is_told_twice() -> None:
    assert created(job(template=template(restart_policy="X"))) == [
        (
            'spec.template.spec.restartPolicy: Unsupported value: "X": '
            'supported values: "Always", "OnFailure", "Never"'
        ),
        (
            'spec.template.spec.restartPolicy: Unsupported value: "X": '
            'supported values: "OnFailure", "Never"'
        ),
    ]


@pytest.mark.parametrize(
    ("manager", "text"),
    [
        ("", "Required value"),
        ("me", 'Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'),
        ("a.io/b c", 'Invalid value: "b c": Invalid path (regex used for validation is'),
        ("A/b", 'Invalid value: "A": a lowercase RFC 1123 subdomain'),
        ("a.io/" + "x" * 60, "Too long: may not be more than 63 bytes"),
    ],
)
def test_a_manager_is_a_path_in_a_domain(manager: str, text: str) -> None:
    (error,) = created(job(managed_by=manager))
    assert error.startswith(f"spec.managedBy: {text}")
