"""Who can be trusted with CDI devices."""

from __future__ import annotations

import pytest

from dray.agent.runtimes.cri.cdi_support import knows_cdi
from dray.proto import cri_v1_pb2 as cri


@pytest.mark.parametrize(
    ("name", "version", "config", "known"),
    [
        pytest.param("containerd", "v2.3.2", '{"enableCDI": true}', True, id="containerd-2"),
        pytest.param("containerd", "1.7.28", '{"enableCDI": true}', True, id="switched-on"),
        pytest.param("containerd", "1.7.28", '{"enableCDI": false}', False, id="switched-off"),
        pytest.param("containerd", "1.6.20~ds1", "{}", False, id="too-old"),
        pytest.param("containerd", "v10.0", "{}", True, id="numbers-not-letters"),
        pytest.param("containerd", "weird", "no json", True, id="nothing-is-known"),
        pytest.param("cri-o", "1.26.4", "", False, id="old-crio"),
        pytest.param("cri-o", "1.33.0", "", True, id="crio"),
        pytest.param("other", "0.1", "[]", True, id="others"),
    ],
)
def test_by_version_and_configuration(name: str, version: str, config: str, known: bool) -> None:
    answer = cri.VersionResponse(runtime_name=name, runtime_version=version)
    assert knows_cdi(answer, cri.StatusResponse(info={"config": config})) is known
