"""Admission plugins against what upstream's own answered: tests/oracle/admission recorded it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dray.api.authentication import TokenRequest
from dray.api.codec import decode_builtins, to_builtins
from dray.api.core import Binding
from dray.api.defaults import default
from dray.api.features import FeatureGates
from dray.api.meta import Object
from dray.api.policy import Eviction
from dray.api.quantity import Quantity
from dray.api.schema import StructOf
from dray.api.scheme import find_kind
from dray.api.wire import Time
from dray.entropy import SeededEntropy
from dray.errors import APIError
from dray.server.admission.chain import Chain
from dray.server.admission.default_toleration_seconds import DefaultTolerationSeconds
from dray.server.admission.limit_ranger import LimitRanger
from dray.server.admission.namespace_lifecycle import NamespaceLifecycle
from dray.server.admission.node_declared_features import (
    NODE_ALLOCATABLE_FEATURE,
    NodeDeclaredFeatures,
)
from dray.server.admission.node_restriction import NodeRestriction
from dray.server.admission.pod_security import PodSecurity
from dray.server.admission.pod_topology_labels import PodTopologyLabels
from dray.server.admission.priority import Priority
from dray.server.admission.request import AdmissionRequest, Operation, Plugin
from dray.server.admission.resource_quota import ResourceQuotas
from dray.server.admission.service_account import ServiceAccounts
from dray.server.admission.taint_nodes_by_condition import TaintNodesByCondition
from dray.server.resources import Resource
from dray.server.state import FixedState
from dray.server.user import Decision, User
from dray.testing import FakeClock

HERE = Path(__file__).parent
NOW = datetime(2026, 6, 1, tzinfo=UTC)

# Bodies of subresources, which are never stored and so in no scheme.
BODIES: dict[str, type[Object]] = {
    "Binding": Binding,
    "Eviction": Eviction,
    "TokenRequest": TokenRequest,
}


class FixedEntropy(SeededEntropy):
    """Draws what the recorder wrote over upstream's draws."""

    def name_suffix(self) -> str:
        return "zzzzz"


PLUGINS: dict[str, Callable[[FixedState], Plugin]] = {
    "namespace_lifecycle": NamespaceLifecycle,
    "limit_ranger": LimitRanger,
    "service_account": lambda state: ServiceAccounts(state, FixedEntropy(0)),
    "node_restriction": lambda state: NodeRestriction(state, lambda _: Decision(None)),
    "taint_nodes_by_condition": lambda _: TaintNodesByCondition(),
    "priority": Priority,
    "default_toleration_seconds": lambda _: DefaultTolerationSeconds(),
    "pod_topology_labels": PodTopologyLabels,
    "pod_security": PodSecurity,
    "node_declared_features": lambda state: NodeDeclaredFeatures(
        state, FeatureGates({NODE_ALLOCATABLE_FEATURE: True})
    ),
}


def recorded(*names: str) -> list[Any]:
    return [
        pytest.param(case["request"], case["answer"], id=f"{name}: {case['request']['title']}")
        for name in names
        for case in map(json.loads, (HERE / f"{name}.jsonl").read_text().splitlines())
    ]


@pytest.mark.parametrize(("asked", "answer"), recorded(*PLUGINS))
def test_a_plugin_does_what_upstream_does(asked: dict[str, Any], answer: dict[str, Any]) -> None:
    state = FixedState(*(read(obj) for obj in asked["state"]))
    chain = Chain([PLUGINS[asked["plugin"]](state)])
    request = request_of(asked)
    if "admitted" not in answer:
        with pytest.raises(APIError) as refused:
            chain.validate(request_of(asked, chain.admit(request)))
        assert comparable(refused.value.as_status()) == expected(answer)
        return
    admitted = chain.admit(request)
    going_on = request_of(asked, admitted)
    chain.validate(going_on)
    assert chain.warn(going_on) == answer.get("warnings", [])
    if "object" not in answer:
        assert admitted is request.object
    else:
        assert plain(admitted) == plain(read(answer["object"], defaulted=False))


@pytest.mark.parametrize(("asked", "answer"), recorded("usage"))
def test_an_object_uses_what_upstream_says(asked: dict[str, Any], answer: dict[str, Any]) -> None:
    state = FixedState(*(read(obj) for obj in asked["state"]))
    quotas = ResourceQuotas(state, FakeClock(NOW))
    request = request_of(asked)
    used = quotas.usage_of(request.object, request.resource)
    assert {name: str(amount) for name, amount in used.items()} == canonical(answer["used"])


@pytest.mark.parametrize(("asked", "answer"), recorded("quota"))
def test_a_write_is_charged_as_upstream_does(asked: dict[str, Any], answer: dict[str, Any]) -> None:
    objects = [read(obj) for obj in asked["state"]]
    chain = Chain([], ResourceQuotas(FixedState(*objects), FakeClock(NOW)))
    if "used" not in answer:
        with pytest.raises(APIError) as refused:
            chain.charge(request_of(asked))
        assert comparable(refused.value.as_status()) == expected(answer)
        return
    charges = chain.charge(request_of(asked))
    used = {
        obj.metadata.name: dict(obj.status.used)  # type: ignore[attr-defined]  # quotas have one
        for obj in objects
        if obj.kind == "ResourceQuota"
    }
    used |= {charge.quota.metadata.name: dict(charge.used) for charge in charges}
    shown = {
        name: {key: str(amount) for key, amount in amounts.items()}
        for name, amounts in used.items()
    }
    assert shown == {name: canonical(amounts) for name, amounts in answer["used"].items()}


# Reading cases ---------------------------------------------------------------------------------


def read(obj: dict[str, Any], *, defaulted: bool = True) -> Object:
    kind = BODIES.get(obj["kind"])
    if kind is None:
        kind = find_kind(obj["apiVersion"], obj["kind"])[1].type
    value: Object = decode_builtins(obj, kind).value
    return default(value, now=Time(NOW)) if defaulted else value


def request_of(asked: dict[str, Any], admitted: Any = None) -> AdmissionRequest:
    body = read(asked["object"]) if asked["object"] else None
    return AdmissionRequest(
        operation=Operation(asked["operation"]),
        resource=Resource(
            group=asked["group"],
            version=asked["version"],
            plural=asked["resource"],
            singular=asked["kind"].lower(),
            kind=asked["kind"],
            namespaced=bool(asked["namespace"]),
            schema=StructOf("Object", dict),
        ),
        user=User(asked["user"], groups=tuple(asked["groups"])),
        namespace=asked["namespace"],
        name=asked["name"],
        subresource=asked.get("subresource", ""),
        object=body if admitted is None else admitted,
        old=read(asked["old"]) if asked["old"] else None,
    )


# Comparing -------------------------------------------------------------------------------------


def expected(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:  # not a Status: the server makes one of it without reason or details
        return {"code": 500, "message": [answer["error"]], "reason": "", "details": {}}
    return comparable(answer["refused"])


RULES = re.compile(r", (?=minimum |maximum |\S+ max limit)")


def comparable(status: dict[str, Any]) -> dict[str, Any]:
    """A Status without the order of broken limits, which upstream leaves to chance."""
    message = status["message"].replace("is forbidden: [", "is forbidden: ").removesuffix("]")
    head, forbidden, rules = message.partition("is forbidden: ")
    return {
        "code": status["code"],
        "message": [head + forbidden, *sorted(RULES.split(rules))] if forbidden else [message],
        "reason": status.get("reason", ""),
        "details": status.get("details", {}),
    }


def plain(obj: Object) -> dict[str, Any]:
    """An object's JSON; fields that upstream writes though they say nothing are left out."""
    found = to_builtins(obj)
    found.pop("status", None)
    return found


def canonical(amounts: dict[str, str]) -> dict[str, str]:
    return {name: str(Quantity.parse(text)) for name, text in amounts.items()}
