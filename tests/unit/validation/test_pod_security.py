"""Security contexts."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core.parts import PodSecurityContext, SecurityContext
from dray.validation.pod_leniency import STRICT, Leniency
from dray.validation.pod_security import check_pod_security, check_security
from tests.unit.validation.builders import told
from tests.unit.validation.part_builders import part
from tests.unit.validation.pod_builders import paths, pod


def of(leniency: Leniency = STRICT, *, host_users: bool = True, **fields: Any) -> list[str]:
    context = part(SecurityContext, fields)
    return told(check_security, context, "s", host_users=host_users, leniency=leniency)


def of_pod(leniency: Leniency = STRICT, *, host: bool = False, **fields: Any) -> list[str]:
    spec = pod(host_network=host, host_ipc=host).spec
    return told(check_pod_security, part(PodSecurityContext, fields), spec, "s", leniency)


ADMIN: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"add": ["CAP_SYS_ADMIN"]},
}


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({}, []),
        ({"privileged": True}, []),
        ({"runAsUser": -1, "runAsGroup": 2**31}, ["s.runAsUser", "s.runAsGroup"]),
        ({"procMount": "Odd"}, ["s.procMount"]),
        ({"procMount": "Unmasked"}, ["s.procMount"]),
        ({"allowPrivilegeEscalation": False, "privileged": True}, ["s"]),
        (ADMIN, ["s"]),
        ({"windowsOptions": {"runAsUserName": ""}}, ["s.windowsOptions.runAsUserName"]),
        ({"seccompProfile": {}}, ["s.seccompProfile.type"]),
        ({"seccompProfile": {"type": "Odd"}}, ["s.seccompProfile.type"]),
        ({"seccompProfile": {"type": "Localhost"}}, ["s.seccompProfile.localhostProfile"]),
        (
            {"seccompProfile": {"type": "Localhost", "localhostProfile": "/a"}},
            ["s.seccompProfile.localhostProfile"],
        ),
        ({"appArmorProfile": {}}, ["s.appArmorProfile.type"]),
        ({"appArmorProfile": {"type": "Odd"}}, ["s.appArmorProfile.type"]),
        ({"appArmorProfile": {"type": "Localhost"}}, ["s.appArmorProfile.localhostProfile"]),
        (
            {"appArmorProfile": {"type": "Localhost", "localhostProfile": " a"}},
            ["s.appArmorProfile.localhostProfile"],
        ),
        (
            {"appArmorProfile": {"type": "Localhost", "localhostProfile": "a" * 4096}},
            ["s.appArmorProfile.localhostProfile"],
        ),
        (
            {"appArmorProfile": {"type": "Unconfined", "localhostProfile": "a"}},
            ["s.appArmorProfile.localhostProfile"],
        ),
    ],
)
def test_a_container_asks_within_limits(fields: dict[str, Any], where: list[str]) -> None:
    assert paths(of(**fields)) == where


def test_a_profile_out_of_place_is_shown_as_upstream_has_it() -> None:
    profile = {"type": "Unconfined", "localhostProfile": "a"}
    assert of(seccompProfile=profile) == [
        (
            's.seccompProfile.localhostProfile: Invalid value: {"Type":"Unconfined",'
            '"LocalhostProfile":"a"}: can only be set when seccomp type is Localhost'
        )
    ]


def test_proc_is_unmasked_for_users_of_the_pods_own() -> None:
    assert of(host_users=False, procMount="Unmasked") == []


def test_a_stored_pod_may_keep_its_administrators() -> None:
    assert of(Leniency(admin_without_escalation=True), **ADMIN) == []


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({}, []),
        ({"fsGroup": -1, "supplementalGroups": [0, -1]}, ["s.fsGroup", "s.supplementalGroups[1]"]),
        (
            {
                "fsGroupChangePolicy": "Odd",
                "supplementalGroupsPolicy": "Odd",
                "seLinuxChangePolicy": "Odd",
            },
            ["s.fsGroupChangePolicy", "s.supplementalGroupsPolicy", "s.seLinuxChangePolicy"],
        ),
        ({"sysctls": [{"name": ""}, {"name": "A"}]}, ["s.sysctls[0].name", "s.sysctls[1].name"]),
        ({"sysctls": [{"name": "a.b"}, {"name": "a.b"}]}, ["s.sysctls[1].name"]),
    ],
)
def test_a_pod_asks_within_limits(fields: dict[str, Any], where: list[str]) -> None:
    assert paths(of_pod(**fields)) == where


@pytest.mark.parametrize(
    ("name", "field"),
    [("net.a", "hostNetwork"), ("net/a", "hostNetwork"), ("kernel.sem", "hostIPC")],
)
def test_parameters_of_the_host_are_not_the_pods_to_set(name: str, field: str) -> None:
    sysctls = [{"name": name}]
    assert of_pod(sysctls=sysctls) == []
    assert of_pod(host=True, sysctls=sysctls) == [
        f"s.sysctls[0].name: Invalid value: \"{name}\": may not be specified when '{field}' is true"
    ]
    assert of_pod(Leniency(sysctls_of_host=True), host=True, sysctls=sysctls) == []
