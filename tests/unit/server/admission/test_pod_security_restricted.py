from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from dray.api.core import Pod, PodOS
from dray.server.admission.pod_security_restricted import RESTRICTED
from dray.server.admission.pod_security_view import PodView
from tests.unit.server.admission.builders import container, pod


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def hardened(pod_context: Any = None, **changes: Any) -> Pod:
    context = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
        **changes,
    }
    return pod("p", container(security_context=raw(context)), security_context=raw(pod_context))


def texts(made: Pod, minor: int = 37) -> list[str]:
    view = PodView(made.metadata, made.spec)
    forms = (aspect.form(minor) for aspect in RESTRICTED)
    return [str(found) for form in forms if form is not None and (found := form(view))]


def test_a_hardened_pod_passes() -> None:
    assert texts(hardened()) == []


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        pytest.param(
            {"allowPrivilegeEscalation": None},
            'allowPrivilegeEscalation != false (container "c" must set '
            "securityContext.allowPrivilegeEscalation=false)",
            id="escalation",
        ),
        pytest.param(
            {"capabilities": {"drop": ["A"], "add": ["B"]}},
            'unrestricted capabilities (container "c" must set '
            'securityContext.capabilities.drop=["ALL"]; container "c" must not include "B" in '
            "securityContext.capabilities.add)",
            id="capabilities",
        ),
        pytest.param(
            {"runAsNonRoot": False},
            'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
            id="root",
        ),
        pytest.param(
            {"runAsNonRoot": None},
            'runAsNonRoot != true (pod or container "c" must set '
            "securityContext.runAsNonRoot=true)",
            id="perhaps-root",
        ),
        pytest.param(
            {"runAsUser": 0}, 'runAsUser=0 (container "c" must not set runAsUser=0)', id="user-0"
        ),
        pytest.param(
            {"seccompProfile": None},
            'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to '
            '"RuntimeDefault" or "Localhost")',
            id="no-profile",
        ),
    ],
)
def test_what_a_pod_does_not_need_is_forbidden(changes: dict[str, Any], text: str) -> None:
    assert texts(hardened(**changes)) == [text]


def test_a_pod_may_speak_for_its_containers() -> None:
    context = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert texts(hardened(context, runAsNonRoot=None, seccompProfile=None)) == []


def test_volumes_of_the_node_are_restricted() -> None:
    volumes = raw([{"name": "a", "nfs": {}}, {"name": "b"}, {"name": "c", "emptyDir": {}}])
    assert texts(pod(volumes=volumes))[2] == (
        'restricted volume types (volumes "a", "b" use restricted volume types "nfs", "unknown")'
    )


def test_windows_needs_no_linux_settings() -> None:
    made = pod(os=PodOS(name="windows"), security_context=raw({"runAsNonRoot": True}))
    assert texts(made) == []
    assert len(texts(made, 24)) == 3


def test_a_pod_with_users_of_its_own_may_be_root_among_them() -> None:
    rooted = container(security_context=raw({"runAsUser": 0}))
    reasons = [text.partition(" ")[0] for text in texts(pod("p", rooted, host_users=False))]
    assert "runAsUser=0" not in reasons
    assert "runAsNonRoot" not in reasons
