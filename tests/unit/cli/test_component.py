"""A component against a real server, as its command runs it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dray.api.coordination import Lease, LeaseSpec
from dray.api.core import Namespace
from dray.api.meta import ObjectMeta
from dray.api.wire import MicroTime
from dray.cli import component as module
from dray.cli.component import Component, ComponentOptions, run_component
from dray.cli.errors import CommandError, CommandFailed
from dray.client import Client, Informers, LeaderElector, connect, load_kubeconfig
from dray.clock import Clock, SystemClock
from dray.entropy import Entropy, SystemEntropy
from dray.errors import LeadershipLost
from tests.unit.cli.test_node import KUBECONFIG, cluster
from tests.unit.server.harness import make_request


class Watcher:
    """Knows all namespaces, and does what a test says once it does."""

    def __init__(self, informers: Informers, then: Callable[[], None]) -> None:
        self._informer = informers.of(Namespace)
        self._then = then

    async def run(self) -> None:
        await self._informer.synced()
        asyncio.get_running_loop().call_later(0.05, self._then)
        await asyncio.Event().wait()

    async def ready(self) -> None:
        await self._informer.synced()

    def metrics(self) -> bytes:
        return b"things_total 1\n"


def stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def making(then: Callable[[], None]) -> Any:
    def make(_client: Client, informers: Informers, _clock: Clock, _entropy: Entropy) -> Component:
        return Watcher(informers, then)

    return make


@pytest.mark.slow
@pytest.mark.parametrize("elect", [True, False])
def test_a_component_works_until_it_is_told_to_stop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], elect: bool
) -> None:
    leases: list[str] = []

    class Looking(Watcher):
        def __init__(self, client: Client, informers: Informers) -> None:
            super().__init__(informers, stop)
            self._client = client

        async def ready(self) -> None:
            await super().ready()
            found = await self._client.list(Lease, namespace="kube-system")
            leases.extend(one.metadata.name for one in found.items)

    def make(client: Client, informers: Informers, _clock: Clock, _entropy: Entropy) -> Component:
        return Looking(client, informers)

    with cluster(tmp_path) as kubeconfig:
        options = ComponentOptions(
            name="watcher", lease="watchers", kubeconfigs=(kubeconfig,), elect=elect, port=0
        )
        run_component(options, make)
    told = capsys.readouterr().out
    assert "dray watcher started, probes at http://127.0.0.1:" in told
    assert "dray watcher is at work" in told
    assert leases == (["watchers"] if elect else [])


@pytest.mark.slow
@pytest.mark.parametrize(("age_seconds", "refused"), [(1, True), (20, False)])
def test_what_does_harm_twice_begins_without_a_lease_only_if_nobody_has_it(
    tmp_path: Path, age_seconds: int, refused: bool
) -> None:
    renewed = datetime.now(UTC) - timedelta(seconds=age_seconds)
    lease = Lease(
        metadata=ObjectMeta(name="watchers", namespace="kube-system"),
        spec=LeaseSpec(
            holder_identity="first", lease_duration_seconds=15, renew_time=MicroTime(renewed)
        ),
    )

    async def prepare(kubeconfig: Path) -> None:
        client = connect(load_kubeconfig(kubeconfig), clock=SystemClock())
        await client.create(lease)
        await client.close()

    with cluster(tmp_path) as kubeconfig:
        asyncio.run(prepare(kubeconfig))
        options = ComponentOptions(
            name="watcher",
            lease="watchers",
            kubeconfigs=(kubeconfig,),
            elect=False,
            exclusive=True,
        )
        if not refused:
            run_component(options, making(stop))
            return
        with pytest.raises(CommandError, match="first is at work already, by the lease kube-syst"):
            run_component(options, making(stop))


@pytest.mark.slow
def test_a_lost_lease_ends_it_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose(_self: object, _work: object) -> None:
        raise LeadershipLost("the lease kube-system/watchers is lost")

    monkeypatch.setattr("dray.client.LeaderElector.lead", lose)
    with cluster(tmp_path) as kubeconfig:
        options = ComponentOptions(name="watcher", lease="watchers", kubeconfigs=(kubeconfig,))
        with pytest.raises(CommandFailed, match=r"watchers is lost; .* Start this one again"):
            run_component(options, making(stop))


@pytest.mark.slow
def test_the_lease_is_not_renewed_by_the_client_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All connections of that one may be taken for longer than the lease lasts."""
    electing: list[Client] = []
    working: list[Client] = []

    class Candidate(LeaderElector):
        def __init__(self, client: Client, **options: Any) -> None:
            electing.append(client)
            super().__init__(client, **options)

    def make(client: Client, informers: Informers, _clock: Clock, _entropy: Entropy) -> Component:
        working.append(client)
        return Watcher(informers, stop)

    monkeypatch.setattr(module, "LeaderElector", Candidate)
    with cluster(tmp_path) as kubeconfig:
        options = ComponentOptions(name="watcher", lease="watchers", kubeconfigs=(kubeconfig,))
        run_component(options, make)
    assert len(electing) == len(working) == 1
    assert electing[0] is not working[0]


def test_a_cluster_that_is_not_configured_is_said_so(tmp_path: Path) -> None:
    options = ComponentOptions(name="watcher", lease="w", kubeconfigs=(tmp_path / "none",))
    with pytest.raises(CommandError, match="none"):
        run_component(options, making(stop))


def test_probes_are_answered(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(KUBECONFIG)

    async def body() -> None:
        clock, entropy = SystemClock(), SystemEntropy()
        client = connect(load_kubeconfig(config), clock=clock)
        options = ComponentOptions(name="watcher", lease="w")
        office = module._Office(options, client, client, making(stop), clock, entropy)

        async def ask(path: str) -> tuple[int, bytes]:
            answer = await office.answer(make_request("GET", path, None, {}))
            return answer.status, answer.body

        assert await ask("/readyz") == (200, b"ok"), "whoever waits for its turn is well"
        assert await ask("/metrics") == (200, b"")
        assert (await ask("/elsewhere"))[0] == 404
        informers = Informers(client, clock=clock, entropy=entropy)
        office._component = Watcher(informers, stop)
        assert (await ask("/readyz"))[0] == 500
        assert (await ask("/livez"))[0] == 200
        office._ready = True
        assert (await ask("/readyz"))[0] == 200
        assert await ask("/metrics") == (200, b"things_total 1\n")
        await client.close()

    asyncio.run(body())
