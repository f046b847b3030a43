from __future__ import annotations

import pytest

from dray.server.admission.pod_security_checks import describe, violations
from dray.server.admission.pod_security_policy import LATEST, LevelVersion
from dray.server.admission.pod_security_view import Violation
from tests.unit.server.admission.builders import pod

PLAIN = pod(host_pid=True)


def reasons(level: str, minor: int = LATEST) -> list[str]:
    found = violations(LevelVersion(level, minor), PLAIN.metadata, PLAIN.spec)
    return [violation.reason for violation in found]


def test_privileged_forbids_nothing() -> None:
    assert reasons("privileged") == []


def test_restricted_forbids_what_baseline_does_and_more() -> None:
    assert reasons("baseline") == ["host namespaces"]
    assert reasons("restricted") == [
        "host namespaces",
        "allowPrivilegeEscalation != false",
        "unrestricted capabilities",
        "runAsNonRoot != true",
        "seccompProfile",
    ]


@pytest.mark.parametrize(
    ("minor", "count"),
    [
        pytest.param(0, 2, id="in-the-beginning"),
        pytest.param(8, 3, id="no-escalation"),
        pytest.param(19, 4, id="seccomp"),
        pytest.param(22, 5, id="capabilities"),
        pytest.param(99, 5, id="the-future-means-the-same"),
    ],
)
def test_versions_differ_in_what_they_forbid(minor: int, count: int) -> None:
    assert len(reasons("restricted", minor)) == count


def test_violations_are_listed_with_their_details() -> None:
    assert describe([Violation("a", "x"), Violation("b")]) == "a (x), b"
