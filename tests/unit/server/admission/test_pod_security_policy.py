from __future__ import annotations

import pytest

from dray.server.admission.pod_security_policy import LABEL_PREFIX, LevelVersion, policy_of


def labels(**given: str) -> dict[str, str]:
    return {f"{LABEL_PREFIX}{name.replace('_', '-')}": value for name, value in given.items()}


@pytest.mark.parametrize(
    ("given", "enforce", "warn"),
    [
        pytest.param({}, "privileged:latest", "privileged:latest", id="nothing-said"),
        pytest.param(
            {"enforce": "baseline", "enforce_version": "v1.20"},
            "baseline:v1.20",
            "baseline:v1.20",
            id="warns-of-what-it-enforces",
        ),
        pytest.param(
            {"enforce": "restricted", "warn": "privileged"},
            "restricted:latest",
            "privileged:latest",
            id="unless-told-otherwise",
        ),
        pytest.param(
            {"enforce": "restricted", "warn_version": "v1.9"},
            "restricted:latest",
            "restricted:v1.9",
            id="in-a-version-of-its-own",
        ),
        pytest.param(
            {"enforce": "nonsense", "warn": "nonsense"},
            "restricted:latest",
            "privileged:latest",
            id="nonsense-refuses-but-does-not-warn",
        ),
    ],
)
def test_labels_say_what_is_asked_of_pods(given: dict[str, str], enforce: str, warn: str) -> None:
    policy, _ = policy_of(labels(**given))
    assert (str(policy.enforce), str(policy.warn)) == (enforce, warn)


def test_every_label_that_makes_no_sense_is_named() -> None:
    _, errors = policy_of(labels(enforce="x", audit="y", warn_version="2"))
    levels = "must be one of privileged, baseline, restricted"
    assert [(error.field, error.value, error.detail) for error in errors] == [
        ("metadata.labels[pod-security.kubernetes.io/enforce]", "x", levels),
        ("metadata.labels[pod-security.kubernetes.io/audit]", "y", levels),
        (
            "metadata.labels[pod-security.kubernetes.io/warn-version]",
            "2",
            'must be "latest" or "v1.x"',
        ),
    ]


def test_other_labels_do_not_matter() -> None:
    assert policy_of({"a": "b"})[0].enforce == LevelVersion()


def test_levels_are_ordered_by_strictness() -> None:
    levels = [LevelVersion(level) for level in ("privileged", "baseline", "restricted")]
    assert [level.strictness for level in levels] == [0, 1, 2]
