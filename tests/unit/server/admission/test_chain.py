from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dray.api.core import ConfigMap, Pod
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.entropy import SeededEntropy
from dray.errors import Forbidden, NotFound
from dray.server.admission import chain as chain_module
from dray.server.admission.chain import Chain, default_chain
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.resources import Resource
from dray.server.state import FixedState
from dray.server.user import Decision
from dray.testing import FakeClock
from tests.unit.server.admission.builders import (
    CONFIG_MAPS,
    NODES,
    PODS,
    account,
    container,
    create,
    delete,
    limit_range,
    namespace,
    node,
    pod,
    quota,
)

CONFIG_MAP = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns"))


class Naming(Plugin):
    """Adds a letter to an annotation, for one resource only."""

    def __init__(self, letter: str, plural: str = "pods") -> None:
        self._letter = letter
        self._plural = plural
        self.asked = 0

    def concerns(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        self.asked += 1
        return resource.plural == self._plural and not subresource

    def admit(self, request: AdmissionRequest) -> Any:
        metadata = request.object.metadata
        word = metadata.annotations.get("word", "") + self._letter
        return replace(request.object, metadata=replace(metadata, annotations={"word": word}))


class Refusing(Plugin):
    """Refuses in the second pass, and has something to say."""

    def warn(self, request: AdmissionRequest) -> Sequence[str]:
        return (f"mind {request.object.metadata.name}",)

    def validate(self, request: AdmissionRequest) -> None:
        raise Forbidden(f"no {request.object.metadata.name}")


def test_each_plugin_sees_what_the_one_before_left() -> None:
    admitted = Chain([Naming("a"), Naming("x", "nodes"), Naming("b")]).admit(create(PODS, pod()))
    assert admitted.metadata.annotations == {"word": "ab"}


def test_whom_a_sort_of_request_concerns_is_asked_once() -> None:
    plugin = Naming("a")
    chain = Chain([plugin])
    for _ in range(3):
        chain.admit(create(PODS, pod()))
        chain.validate(create(PODS, pod()))
    assert plugin.asked == 1
    chain.admit(create(PODS, pod(), subresource="binding"))
    assert plugin.asked == 2


def test_the_sorts_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_module, "_SORTS_REMEMBERED_MAX", 1)
    plugin = Naming("a")
    chain = Chain([plugin])
    for what in (PODS, NODES, PODS):
        chain.admit(create(what, pod()))
    assert plugin.asked == 3


def test_a_refusal_of_the_second_pass_comes_through() -> None:
    chain = Chain([Refusing()])
    request = create(PODS, pod())
    assert chain.admit(request) is request.object
    with pytest.raises(Forbidden, match="no p"):
        chain.validate(request)


def test_warnings_are_collected() -> None:
    request = create(PODS, pod())
    assert Chain([Refusing(), Naming("a"), Refusing()]).warn(request) == ["mind p", "mind p"]
    assert Chain([]).warn(request) == []


def test_without_quotas_nothing_is_charged() -> None:
    assert Chain([]).charge(create(PODS, pod())) == ()


def whole(*objects: Any) -> Chain:
    state = FixedState(*objects)
    return default_chain(state, FakeClock(), SeededEntropy(1), lambda _: Decision(None))


def test_a_new_pod_meets_every_plugin_in_upstreams_order() -> None:
    chain = whole(
        namespace(),
        account(),
        limit_range("a", default={"cpu": "2"}, default_request={"cpu": "1"}),
        node(labels={"topology.kubernetes.io/zone": "z"}),
        quota("q", {"requests.cpu": "1"}),
    )
    admitted: Pod = chain.admit(create(PODS, pod(node_name="n1")))
    spec = admitted.spec
    assert spec.service_account_name == "default"
    assert spec.volumes is not None
    assert spec.priority == 0
    assert len(spec.tolerations) == 2
    assert admitted.metadata.labels == {"topology.kubernetes.io/zone": "z"}
    request = create(PODS, admitted)
    chain.validate(request)
    (charge,) = chain.charge(request)
    assert str(charge.used["requests.cpu"]) == "1"


def test_a_missing_namespace_is_the_first_thing_said() -> None:
    with pytest.raises(NotFound):
        whole().admit(create(PODS, pod(service_account_name="zzz")))


def test_a_full_quota_refuses_only_when_all_else_agreed() -> None:
    chain = whole(namespace(), quota("q", {"configmaps": "0"}))
    request = create(CONFIG_MAPS, CONFIG_MAP)
    assert chain.admit(request) is CONFIG_MAP
    chain.validate(request)
    with pytest.raises(Forbidden, match="exceeded quota: q"):
        chain.charge(request)


def test_a_delete_leaves_no_object() -> None:
    chain = whole(namespace())
    request = delete(PODS, pod("p", container()))
    assert chain.admit(request) is None
    chain.validate(request)
    assert chain.charge(request) == ()
