"""The cluster that a driver under test believes in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dray.api.core import Node
from dray.api.resource import DeviceID, ResourceClaim
from dray.client import connect, load_kubeconfig
from dray.clock import SystemClock
from dray.conform.cluster import Cluster, uid_of
from dray.entropy import SeededEntropy
from dray.errors import NotFound
from tests.unit.sdk.drivers import short_directory

pytestmark = pytest.mark.slow


def cluster(root: Path, kubeconfig: Path | None = None) -> Cluster:
    return Cluster(root, "n1", SystemClock(), SeededEntropy(1), kubeconfig=kubeconfig)


def test_a_driver_reaches_it_with_the_kubeconfig_and_finds_its_node() -> None:
    async def body(root: Path) -> None:
        async with cluster(root / "c") as made:
            client = connect(load_kubeconfig(made.kubeconfig), clock=SystemClock())
            try:
                assert (await client.get(Node, "n1")).metadata.name == "n1"
            finally:
                await client.close()
            # One that is already there is used as it is.
            async with cluster(root / "d", made.kubeconfig) as given:
                assert await given.devices("gpu.example.com") == []

    with short_directory() as root:
        asyncio.run(body(root))


def test_a_device_can_be_given_to_two_claims_as_drivers_must_refuse_it() -> None:
    async def body(root: Path) -> None:
        device = DeviceID("gpu.example.com", "n1", "gpu-0")
        async with cluster(root) as made:
            for _ in range(2):
                assert (await made.claim([device])).status.allocation is not None

    with short_directory() as root:
        asyncio.run(body(root))


def test_claims_are_allocated_by_hand_and_deleted_for_good() -> None:
    async def body(root: Path) -> None:
        device = DeviceID("gpu.example.com", "n1", "gpu-0")
        async with cluster(root) as made:
            claim = await made.claim([device], admin=True)
            assert claim.status.allocation is not None
            (result,) = claim.status.allocation.devices.results
            assert (result.device, result.admin_access) == ("gpu-0", True)
            assert len(claim.status.reserved_for) == 1
            assert (await made.claim([], allocated=False)).status.allocation is None
            for _ in range(2):
                await made.delete(claim)
            namespace, name, _uid = uid_of(claim)
            with pytest.raises(NotFound):
                await made.client.get(ResourceClaim, name, namespace=namespace)

    with short_directory() as root:
        asyncio.run(body(root))
