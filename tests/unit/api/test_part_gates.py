"""Fields inside parts whose features are off."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from dray.api.core import Container, PodSpec
from dray.api.part_gates import PartFeature, drop_disabled_parts

HTTP2 = {"httpGet": {"port": 1, "protocol": "HTTP2"}}
HTTP = {"httpGet": {"port": 1}}
USED = {"key": "k", "path": "p", "user": 1}
UNUSED = {"key": "k", "path": "p"}


def spec(volume: Any = None, **parts: Any) -> PodSpec:
    def raw(value: Any) -> Raw:
        return Raw(msgspec.json.encode(value))

    carried: Any = {name: raw(value) for name, value in parts.items()}
    volumes = None if volume is None else raw([{"name": "v", **volume}])
    return PodSpec(volumes=volumes, containers=(Container(name="c", **carried),))


CASES = [
    pytest.param(
        spec({"emptyDir": {"mode": 1}}), spec({"emptyDir": {}}), id="mode-of-a-directory"
    ),
    pytest.param(
        spec({"secret": {"defaultUser": 1, "items": [USED]}}),
        spec({"secret": {"items": [UNUSED]}}),
        id="owner-of-a-secret",
    ),
    pytest.param(
        spec({"projected": {"sources": [
            {"configMap": {"items": [USED]}}, {"serviceAccountToken": {"path": "t", "user": 1}},
        ]}}),
        spec({"projected": {"sources": [
            {"configMap": {"items": [UNUSED]}}, {"serviceAccountToken": {"path": "t"}},
        ]}}),
        id="owner-of-projections",
    ),
    pytest.param(
        spec(volume_mounts=[{"name": "v", "mountPath": "/", "bindMountOptions": ["noexec"]}]),
        spec(volume_mounts=[{"name": "v", "mountPath": "/"}]),
        id="mount-options",
    ),
    pytest.param(
        spec(liveness_probe={"grpc": {"port": 1, "service": "", "mode": "TLS"}}),
        spec(liveness_probe={"grpc": {"port": 1, "service": ""}}),
        id="encrypted-probe",
    ),
    pytest.param(spec(startup_probe=HTTP2), spec(startup_probe=HTTP), id="protocol-of-a-probe"),
    pytest.param(
        spec(lifecycle={"preStop": HTTP2, "stopSignal": "SIGHUP"}),
        spec(lifecycle={"preStop": HTTP}),
        id="hooks",
    ),
    pytest.param(spec(lifecycle={"stopSignal": "SIGHUP"}), spec(), id="nothing-but-a-signal"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "left"), CASES)
def test_what_is_off_is_removed(given: PodSpec, left: PodSpec) -> None:
    assert drop_disabled_parts(given, None) == left
    assert drop_disabled_parts(given, spec()) == left


@pytest.mark.parametrize(("given", "left"), CASES)
def test_what_the_stored_pod_has_stays(given: PodSpec, left: PodSpec) -> None:
    assert left != given
    assert drop_disabled_parts(given, given) == given


def test_one_feature_in_use_keeps_no_other() -> None:
    new = spec({"emptyDir": {"mode": 1}}, startup_probe=HTTP2)
    old = spec({"emptyDir": {"mode": 2}})
    assert drop_disabled_parts(new, old) == spec({"emptyDir": {"mode": 1}}, startup_probe=HTTP)


def test_a_spec_without_any_comes_back_itself() -> None:
    plain = spec({"emptyDir": {}}, liveness_probe=HTTP)
    assert drop_disabled_parts(plain, None) is plain
    assert len(PartFeature) == 6
