"""What the controller remembers beyond its views, and for how long."""

from __future__ import annotations

import asyncio
from typing import Any

from dray.api.core import Pod, PodStatus
from dray.api.meta import ObjectMeta
from dray.api.wire import Time, replace
from dray.client import Client, Informers
from dray.controllers.resource_claims import views as module
from dray.controllers.resource_claims.generation import generated_claim
from dray.controllers.resource_claims.views import Views, is_done
from dray.entropy import SeededEntropy
from dray.testing import FakeClock
from tests.unit.controllers.resource_claims.scene import pod, template

NOW = Time(FakeClock().now())
WEB = replace(
    pod("web", templates={"gpu": "t"}),
    metadata=ObjectMeta(name="web", namespace="default", uid="u1", resource_version="5"),
)


class Nowhere:
    """A transport for views that are filled by hand."""

    async def request(self, call: Any) -> Any:
        raise AssertionError(call)

    async def stream(self, call: Any) -> Any:
        raise AssertionError(call)

    async def close(self) -> None: ...


def make_views() -> Views:
    async def make() -> Views:
        clock = FakeClock()
        client = Client(Nowhere(), clock=clock)
        return Views(Informers(client, clock=clock, entropy=SeededEntropy(1)))

    return asyncio.run(make())


def see(views: Views, pod: Pod) -> None:
    """What the controller does when it hears of a pod."""
    views.pods._put(("default", pod.metadata.name), pod)
    views.see_pod(pod)


def at(revision: str, pod: Pod = WEB) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, resource_version=revision))


def test_a_claim_that_was_created_counts_until_it_is_seen() -> None:
    views = make_views()
    claim = generated_claim(WEB, "gpu", template("t"))
    views.created(claim, WEB)
    assert views.made_for(WEB, "gpu") == claim
    assert views.made_for(WEB, "nic") is None
    assert views.claim("default", claim.metadata.name, "u1") == claim
    views.see_claim(claim)
    assert views.made_for(WEB, "gpu") is None


def test_a_claim_that_is_being_deleted_is_nobodys() -> None:
    views = make_views()
    claim = generated_claim(WEB, "gpu", template("t"))
    now = replace(claim.metadata, deletion_timestamp=NOW)
    views.created(replace(claim, metadata=now), WEB)
    assert views.made_for(WEB, "gpu") is None


def test_what_was_written_counts_until_the_view_has_come_as_far() -> None:
    views = make_views()
    see(views, WEB)
    views.written(at("7"))
    assert views.newest(WEB).metadata.resource_version == "7"
    see(views, at("6"))
    assert views.newest(at("6")).metadata.resource_version == "7"
    see(views, at("8"))
    assert views.newest(at("8")).metadata.resource_version == "8"


def test_an_answer_that_comes_after_the_watch_is_not_kept() -> None:
    views = make_views()
    see(views, at("8"))
    views.written(at("7"))
    assert views.newest(at("8")).metadata.resource_version == "8"


def test_nothing_is_kept_of_a_pod_that_is_gone() -> None:
    views = make_views()
    views.created(generated_claim(WEB, "gpu", template("t")), WEB)
    views.deleted(WEB)
    views.written(at("7"))
    assert views.made_for(WEB, "gpu") is None
    assert views.newest(WEB) is WEB


def test_only_so_many_ends_are_remembered(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "DELETED_MAX", 2)
    views = make_views()
    for uid in ("u1", "u2", "u3"):
        views.deleted(replace(WEB, metadata=replace(WEB.metadata, uid=uid)))
    assert [views.is_deleted(uid) for uid in ("u1", "u2", "u3")] == [False, True, True]


def test_pods_are_done_when_nothing_of_them_runs_or_will() -> None:
    leaving = replace(WEB, metadata=replace(WEB.metadata, deletion_timestamp=NOW))
    on_node = replace(leaving, spec=replace(leaving.spec, node_name="n1"))
    assert not is_done(WEB)
    assert is_done(replace(WEB, status=PodStatus(phase="Failed")))
    assert is_done(leaving)
    assert not is_done(on_node)
