from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from dray.api.core import ContainerPort, Pod
from dray.server.admission.pod_security_baseline import (
    BASELINE,
    adding_capabilities,
    check_proc_mount,
    check_seccomp,
)
from dray.server.admission.pod_security_view import PodView
from tests.unit.server.admission.builders import container, pod


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def secured(**context: Any) -> Pod:
    return pod("p", container(security_context=raw(context)))


def view(made: Pod) -> PodView:
    return PodView(made.metadata, made.spec)


@pytest.mark.parametrize(
    ("aspect", "made", "text"),
    [
        pytest.param(
            "appArmorProfile", secured(appArmorProfile={"type": "Unconfined"}),
            'forbidden AppArmor profile (container "c" must not set AppArmor profile type to '
            '"Unconfined")',
            id="app-armor",
        ),
        pytest.param(
            "capabilities_baseline", secured(capabilities={"add": ["BPF", "CHOWN"]}),
            'non-default capabilities (container "c" must not include "BPF" in '
            "securityContext.capabilities.add)",
            id="capabilities",
        ),
        pytest.param(
            "hostNamespaces", pod(host_network=True, host_ipc=True),
            "host namespaces (hostNetwork=true, hostIPC=true)", id="namespaces",
        ),
        pytest.param(
            "hostPathVolumes", pod(volumes=raw([{"name": "v", "hostPath": {"path": "/"}}])),
            'hostPath volumes (volume "v")', id="paths",
        ),
        pytest.param(
            "hostPorts", pod("p", container(ports=(ContainerPort(host_port=80),))),
            'hostPort (container "c" uses hostPort 80)', id="ports",
        ),
        pytest.param(
            "hostProbesAndHostLifecycle",
            pod("p", container(liveness_probe=raw({"httpGet": {"host": "h"}}))),
            'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
            id="probes",
        ),
        pytest.param(
            "privileged", secured(privileged=True),
            'privileged (container "c" must not set securityContext.privileged=true)',
            id="privileged",
        ),
        pytest.param(
            "seLinuxOptions", pod(security_context=raw({"seLinuxOptions": {"role": "r"}})),
            "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: role may not be "
            "set)",
            id="selinux",
        ),
        pytest.param(
            "sysctls", pod(security_context=raw({"sysctls": [{"name": "kernel.msgmax"}]})),
            "forbidden sysctls (kernel.msgmax)", id="sysctls",
        ),
        pytest.param(
            "windowsHostProcess", secured(windowsOptions={"hostProcess": True}),
            'hostProcess (container "c" must not set '
            "securityContext.windowsOptions.hostProcess=true)",
            id="host-process",
        ),
    ],
)  # fmt: skip
def test_ways_to_become_the_node_are_forbidden(aspect: str, made: Pod, text: str) -> None:
    check = BASELINE[aspect].form(37)
    assert check is not None
    assert str(check(view(made))) == text
    assert check(view(pod())) is None


def test_a_profile_is_no_excuse_for_none() -> None:
    assert str(check_seccomp(view(secured(seccompProfile={"type": "Unconfined"})))) == (
        'seccompProfile (container "c" must not set securityContext.seccompProfile.type to '
        '"Unconfined")'
    )
    assert check_seccomp(view(secured(seccompProfile={"type": "Localhost"}))) is None


def test_only_the_default_proc_mount_is_allowed() -> None:
    assert check_proc_mount(view(secured(procMount="Default"))) is None
    assert str(check_proc_mount(view(secured(procMount="Unmasked")))) == (
        'procMount (container "c" must not set securityContext.procMount to "Unmasked")'
    )


def test_capabilities_beyond_those_allowed_are_named() -> None:
    adding = view(secured(capabilities={"add": ["A", "B"]}))
    assert '"B"' in adding_capabilities(adding, frozenset({"A"}))
    assert adding_capabilities(adding, frozenset({"A", "B"})) == ""
