"""Nodes of a cluster in one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from dray.agent.fleet import Traits
from dray.api.codec import decode_builtins
from dray.api.core import Node, Pod
from dray.api.resource import ResourceSlice
from dray.cli.embedded.instance import Instance
from dray.cli.embedded.plan import NodePlan, plan_nodes
from dray.client import Client
from dray.errors import ConfigurationError
from tests.unit.cli.embedded.clusters import run_one, settings_for
from tests.unit.cli.embedded.test_cluster import POD, running
from tests.unit.sdk.drivers import short_directory

pytestmark = pytest.mark.slow

USUAL = plan_nodes(count=1, fleet=None, drivers=(), runtime=None)[0].drivers


def test_a_node_that_is_this_machine_has_its_files_its_drivers_and_its_rights() -> None:
    with short_directory() as root:

        async def visit(client: Client, _instance: Instance) -> None:
            node = await client.get(Node, "node-1")
            assert node.metadata.labels["rack"] == "r1"
            assert node.status.daemon_endpoints.kubelet_endpoint.port > 0
            (owned,) = {one.spec.node_name for one in (await client.list(ResourceSlice)).items}
            assert owned == "node-1"
            files = root / "nodes" / "node-1"
            assert (files / "plugins" / "gpu.simulated.dev" / "dra.sock").is_socket()

        plan = NodePlan("node-1", "process", Traits(labels={"rack": "r1"}), USUAL)
        run_one(settings_for(root, nodes=[plan]), visit)
        left = [path for path in root.rglob("*.sock") if path.is_socket()]
        assert not left, "sockets are removed"


SLEEPER = {
    **POD,
    "spec": {
        "containers": [{"name": "main", "image": "i", "command": ["sleep", "1000"]}],
        "terminationGracePeriodSeconds": 5,
    },
}


@pytest.mark.parametrize("keep", [False, True], ids=["ended", "kept"])
def test_what_pods_run_ends_with_the_cluster_unless_it_is_kept(keep: bool) -> None:
    with short_directory() as root:
        plans = [NodePlan("node-1", "process")]

        async def begin(client: Client, _instance: Instance) -> None:
            await client.create(decode_builtins(SLEEPER, Pod).value)
            await running(client, "train")

        async def look(client: Client, _instance: Instance) -> None:
            async for event in client.watch(Pod, namespace="default"):
                status = event.object.status
                restarts = [one.restart_count for one in status.container_statuses]
                if status.phase == "Running" and restarts == ([0] if keep else [1]):
                    break

        run_one(settings_for(root, nodes=plans, keep_pods=keep), begin)
        run_one(settings_for(root, nodes=plans), look)


def test_a_directory_whose_sockets_would_have_too_long_names_is_refused(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    with pytest.raises(ConfigurationError, match="a socket's path has 107 at most"):
        run_one(settings_for(deep, nodes=[NodePlan("node-1", "process")]), visit=_nobody)


async def _nobody(_client: Client, _instance: Instance) -> None:
    raise AssertionError("it must not become ready")
