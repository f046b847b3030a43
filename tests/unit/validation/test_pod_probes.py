"""Probes and hooks."""

from __future__ import annotations

from typing import Any

import pytest

from dray.api.core import PodOS
from dray.validation.pod_probes import check_probes
from tests.unit.validation.builders import told
from tests.unit.validation.part_builders import container
from tests.unit.validation.pod_builders import paths, pod

EXEC = {"exec": {"command": ["true"]}}


def of(os: str | None = None, **parts: Any) -> list[str]:
    spec = pod(os=None if os is None else PodOS(name=os)).spec
    return told(check_probes, container(**parts), spec, "c")


def test_a_probe_has_one_handler() -> None:
    assert of(liveness_probe=EXEC) == []
    assert of(liveness_probe={}) == ["c.livenessProbe: Required value: must specify a handler type"]
    two = {**EXEC, "tcpSocket": {"port": 0}}
    assert of(liveness_probe=two) == [
        "c.livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type"
    ]


@pytest.mark.parametrize(
    ("action", "where"),
    [
        ({"exec": {}}, "c.livenessProbe.exec.command"),
        ({"httpGet": {"port": 0}}, "c.livenessProbe.httpGet.port"),
        ({"httpGet": {"port": 1, "scheme": "ftp"}}, "c.livenessProbe.httpGet.scheme"),
        (
            {"httpGet": {"port": 1, "httpHeaders": [{"name": "a b", "value": ""}]}},
            "c.livenessProbe.httpGet.httpHeaders",
        ),
        ({"httpGet": {"port": 1, "protocol": "HTTP3"}}, "c.livenessProbe.httpGet.protocol"),
        (
            {"httpGet": {"port": 1, "protocol": "HTTP2", "scheme": "HTTPS"}},
            "c.livenessProbe.httpGet.protocol",
        ),
        (
            {"httpGet": {"port": 1, "protocol": "HTTP2", "host": "h"}},
            "c.livenessProbe.httpGet.host",
        ),
        ({"tcpSocket": {"port": "-"}}, "c.livenessProbe.tcpSocket.port"),
        ({"grpc": {"port": 0}}, "c.livenessProbe.grpc.port"),
        ({"grpc": {"port": 1, "mode": "odd"}}, "c.livenessProbe.grpc.mode"),
    ],
)
def test_handlers_are_looked_into(action: dict[str, Any], where: str) -> None:
    assert set(paths(of(liveness_probe=action))) == {where}


def test_numbers_are_not_negative() -> None:
    odd = {"initialDelaySeconds": -1, "terminationGracePeriodSeconds": 0, **EXEC}
    assert paths(of(startup_probe=odd)) == [
        "c.startupProbe.initialDelaySeconds",
        "c.startupProbe.terminationGracePeriodSeconds",
    ]


def test_only_readiness_counts_successes_and_never_ends_a_container() -> None:
    twice = {"successThreshold": 2, **EXEC}
    assert of(readiness_probe=twice) == []
    assert paths(of(liveness_probe=twice, startup_probe=twice)) == [
        "c.livenessProbe.successThreshold",
        "c.startupProbe.successThreshold",
    ]
    ending = {"terminationGracePeriodSeconds": 5, **EXEC}
    assert of(liveness_probe=ending) == []
    assert paths(of(readiness_probe=ending)) == ["c.readinessProbe.terminationGracePeriodSeconds"]


@pytest.mark.parametrize(("seconds", "fine"), [(0, True), (30, True), (31, False), (-1, False)])
def test_nobody_sleeps_longer_than_the_pod_has(seconds: int, fine: bool) -> None:
    hooks = {"preStop": {"sleep": {"seconds": seconds}}, "postStart": EXEC}
    assert (of(lifecycle=hooks) == []) is fine


@pytest.mark.parametrize(
    ("os", "signal", "fine"),
    [
        (None, "SIGTERM", False),
        ("linux", "SIGRTMIN+3", True),
        ("linux", "SIGODD", False),
        ("windows", "SIGKILL", True),
        ("windows", "SIGUSR1", False),
    ],
)
def test_signals_are_those_of_the_operating_system(os: str | None, signal: str, fine: bool) -> None:
    assert (of(os, lifecycle={"stopSignal": signal}) == []) is fine
