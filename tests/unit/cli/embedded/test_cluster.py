"""A cluster in one process, from start to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from dray.api.codec import decode_builtins
from dray.api.core import Node, Pod
from dray.api.resource import DeviceClass, ResourceClaimTemplate, ResourceSlice
from dray.cli.embedded import cluster as module
from dray.cli.embedded.cluster import run_cluster
from dray.cli.embedded.instance import Hold, Instance, find_instance
from dray.cli.embedded.kept_options import NodeOptions, find_options, keep_options
from dray.cli.embedded.layout import FLEET
from dray.cli.embedded.nodes import Nodes
from dray.cli.embedded.plan import plan_nodes
from dray.client import Client, EventType
from dray.clock import SystemClock
from dray.entropy import SystemEntropy
from dray.errors import ConfigurationError, InternalError
from dray.server.server import Settings
from tests.unit.cli.embedded.clusters import run_one, settings_for

pytestmark = pytest.mark.slow

TEMPLATE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "gpu", "namespace": "default"},
    "spec": {
        "spec": {
            "devices": {
                "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.simulated.dev"}}]
            }
        }
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {
        "containers": [
            {"name": "main", "image": "train:1", "resources": {"claims": [{"name": "gpu"}]}}
        ],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
    },
}


async def running(client: Client, name: str) -> Pod:
    async for event in client.watch(Pod, namespace="default"):
        if event.type is EventType.BOOKMARK or event.object.metadata.name != name:
            continue
        if event.object.status.phase == "Running":
            return event.object
    raise AssertionError("the watch ended")


def test_a_pod_gets_its_device_and_runs(tmp_path: Path) -> None:
    async def visit(client: Client, instance: Instance) -> None:
        assert [one.metadata.name for one in (await client.list(Node)).items] == ["node-1"]
        assert (await client.list(ResourceSlice)).items, "devices are published by now"
        await client.create(decode_builtins(TEMPLATE, ResourceClaimTemplate).value)
        await client.create(decode_builtins(POD, Pod).value)
        pod = await running(client, "train")
        assert pod.spec.node_name == "node-1"
        assert find_instance(tmp_path) == instance

    run_one(settings_for(tmp_path), visit)
    assert find_instance(tmp_path) is None
    assert stat.S_IMODE((tmp_path / "kubeconfig").stat().st_mode) == 0o600


def test_the_fleet_file_is_kept_for_the_next_start(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("nodes: [{name: a, runtime: memory}]")

    async def look(client: Client, _instance: Instance) -> None:
        assert [one.metadata.name for one in (await client.list(Node)).items] == ["a"]
        assert (tmp_path / FLEET).read_text() == fleet.read_text()

    nodes = plan_nodes(count=None, fleet=fleet, drivers=(), runtime=None)
    run_one(replace(settings_for(tmp_path, nodes=nodes), fleet=fleet), look)
    assert (tmp_path / FLEET).exists()


def test_what_was_there_is_there_after_a_restart(tmp_path: Path) -> None:
    async def change(client: Client, _instance: Instance) -> None:
        await client.delete(DeviceClass, "shared.gpu.simulated.dev")
        await client.patch(DeviceClass, "gpu.simulated.dev", {"spec": {"selectors": []}})

    async def look(client: Client, _instance: Instance) -> None:
        left = await client.get(DeviceClass, "gpu.simulated.dev")
        assert left.spec.selectors == ()
        await client.get(DeviceClass, "shared.gpu.simulated.dev")

    run_one(settings_for(tmp_path), change)
    run_one(settings_for(tmp_path), look)


def run_badly(settings: module.ClusterSettings) -> None:
    def ready(_instance: Instance) -> None:
        raise AssertionError("it must not become ready")

    work = run_cluster(settings, clock=SystemClock(), entropy=SystemEntropy(), ready=ready)
    asyncio.run(asyncio.wait_for(work, 60))


def test_a_second_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    hold = asyncio.run(Hold.take(tmp_path, SystemClock()))
    try:
        with pytest.raises(ConfigurationError, match=f"process {os.getpid()}"):
            run_badly(settings_for(tmp_path))
    finally:
        hold.release()
    assert not (tmp_path / "pki").exists(), "nothing was touched"


def test_a_port_that_is_taken_leaves_nothing_behind(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        settings = settings_for(tmp_path)
        server = Settings(secrets=tmp_path / "pki", port=taken.getsockname()[1])
        with pytest.raises(ConfigurationError, match="in use"):
            run_badly(
                module.ClusterSettings(
                    data_directory=settings.data_directory,
                    kubeconfig=settings.kubeconfig,
                    server=server,
                    nodes=settings.nodes,
                )
            )
    assert find_instance(tmp_path) is None
    assert not settings.kubeconfig.exists()


def test_a_kubeconfig_nowhere_is_refused(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    settings = module.ClusterSettings(
        data_directory=tmp_path,
        kubeconfig=tmp_path / "no" / "such" / "config",
        server=settings.server,
        nodes=settings.nodes,
    )
    with pytest.raises(ConfigurationError, match="there is no directory"):
        run_badly(settings)


def test_a_start_that_fails_leaves_what_the_last_one_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FLEET).write_text("nodes: [{name: a, runtime: memory}]")
    keep_options(tmp_path, NodeOptions(nodes=1))

    async def start(*_: object) -> None:
        raise ConfigurationError("unix:///nope: there is no such socket")

    monkeypatch.setattr(Nodes, "start", start)
    told = NodeOptions(runtime="cri", cri_endpoint="unix:///nope")
    with pytest.raises(ConfigurationError, match="no such socket"):
        run_badly(replace(settings_for(tmp_path), options=told))
    assert find_options(tmp_path) == NodeOptions(nodes=1)
    assert (tmp_path / FLEET).exists()


def test_what_a_start_was_told_is_kept_once_it_is_ready(tmp_path: Path) -> None:
    told = NodeOptions(nodes=1, runtime="memory")

    async def look(_client: Client, _instance: Instance) -> None:
        assert find_options(tmp_path) == told

    run_one(replace(settings_for(tmp_path), options=told), look)


def test_it_can_be_stopped_while_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(Nodes, "start", start)
    run_badly(settings_for(tmp_path))
    assert find_instance(tmp_path) is None


def test_a_part_that_fails_ends_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ends(_self: object) -> None:
        return

    monkeypatch.setattr("dray.controllers.controllers.Controllers.run", ends)
    monkeypatch.setattr("dray.controllers.controllers.Controllers.ready", asyncio.Event().wait)
    with pytest.raises(InternalError, match="controllers ended by itself"):
        run_badly(settings_for(tmp_path))
    assert find_instance(tmp_path) is None
