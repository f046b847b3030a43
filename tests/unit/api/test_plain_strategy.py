from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from dray.api.apiextensions import CustomResourceDefinition
from dray.api.apps import ControllerRevision
from dray.api.codec import decode_builtins
from dray.api.coordination import Lease
from dray.api.core import ConfigMap, Namespace, Node, ResourceQuota
from dray.api.meta import Object
from dray.api.plain_strategy import (
    NAMESPACE_LABEL,
    prepare_plain_for_create,
    prepare_plain_for_status_update,
    prepare_plain_for_update,
)
from dray.api.policy import PodDisruptionBudget
from dray.api.scheduling import PriorityClass


def made(kind: type[Object], **document: Any) -> Any:
    return decode_builtins({"metadata": {"name": "x"}, **document}, kind).value


BUDGET = made(PodDisruptionBudget, spec={"minAvailable": 1}, status={"disruptionsAllowed": 5})


def test_a_new_object_has_no_status_yet() -> None:
    assert prepare_plain_for_create(BUDGET).status == PodDisruptionBudget().status
    quota = made(ResourceQuota, status={"used": {"pods": "3"}})
    assert prepare_plain_for_create(quota).status == ResourceQuota().status


def test_a_node_tells_its_state_from_the_start() -> None:
    node = made(Node, status={"capacity": {"cpu": "4"}})
    assert prepare_plain_for_create(node).status == node.status


@pytest.mark.parametrize(
    ("kind", "generation"),
    [(PodDisruptionBudget, 1), (PriorityClass, 1), (CustomResourceDefinition, 1), (Node, 0)],
)
def test_some_kinds_count_generations(kind: type[Object], generation: int) -> None:
    assert prepare_plain_for_create(made(kind)).metadata.generation == generation


def test_a_namespace_is_active_held_and_labelled() -> None:
    namespace = prepare_plain_for_create(made(Namespace, spec={"finalizers": ["example.com/x"]}))
    assert namespace.spec.finalizers == ("example.com/x", "kubernetes")
    assert namespace.status.phase == "Active"
    assert namespace.metadata.labels == {NAMESPACE_LABEL: "x"}


def test_a_lease_takes_part_in_no_coordinated_election() -> None:
    lease = prepare_plain_for_create(
        made(Lease, spec={"holderIdentity": "me", "strategy": "OldestEmulationVersion"})
    )
    assert lease.spec.strategy is None
    assert lease.spec.holder_identity == "me"


def versions(*names: str, storage: str) -> Any:
    return {"versions": [{"name": name, "storage": name == storage} for name in names]}


def test_a_definition_remembers_every_version_its_objects_were_stored_in() -> None:
    first = prepare_plain_for_create(
        made(CustomResourceDefinition, spec=versions("v1alpha1", "v1", storage="v1alpha1"))
    )
    assert first.status.stored_versions == ("v1alpha1",)
    wanted = made(CustomResourceDefinition, spec=versions("v1alpha1", "v1", storage="v1"))
    second = prepare_plain_for_update(wanted, first)
    assert second.status.stored_versions == ("v1alpha1", "v1")
    assert second.metadata.generation == 2


def test_an_update_keeps_the_stored_status() -> None:
    wanted = made(PodDisruptionBudget, spec={"minAvailable": 1}, status={"disruptionsAllowed": 9})
    assert prepare_plain_for_update(wanted, BUDGET).status == BUDGET.status


@pytest.mark.parametrize(
    ("least", "generation"),
    [pytest.param(1, 1, id="same"), pytest.param(2, 2, id="other")],
)
def test_an_update_counts_changes_of_the_spec(least: int, generation: int) -> None:
    stored = prepare_plain_for_create(BUDGET)
    wanted = made(PodDisruptionBudget, spec={"minAvailable": least})
    assert prepare_plain_for_update(wanted, stored).metadata.generation == generation


def test_an_update_does_not_change_who_holds_a_namespace() -> None:
    stored = prepare_plain_for_create(made(Namespace))
    wanted = made(Namespace, spec={"finalizers": []})
    assert prepare_plain_for_update(wanted, stored).spec.finalizers == ("kubernetes",)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        pytest.param(b'{"b": "<", "a": 1}', b'{"a":1,"b":"\\u003c"}', id="spelled-otherwise"),
        pytest.param(b'{"a":2}', b'{"a":2}', id="another"),
        pytest.param(b"null", b"null", id="none"),
    ],
)
def test_the_data_of_a_revision_stays_as_it_was_written_first(written: bytes, kept: bytes) -> None:
    stored = ControllerRevision(data=Raw(b'{"a":1,"b":"\\u003c"}'), revision=1)
    new = prepare_plain_for_update(ControllerRevision(data=Raw(written), revision=2), stored)
    assert (new.data, new.revision) == (Raw(kept), 2)


def test_a_kind_without_rules_is_stored_as_it_comes() -> None:
    wanted = made(ConfigMap, data={"a": "b"})
    assert prepare_plain_for_create(wanted) == wanted
    assert prepare_plain_for_update(wanted, made(ConfigMap)).data == {"a": "b"}


def test_a_status_update_keeps_the_stored_spec() -> None:
    wanted = made(PodDisruptionBudget, spec={"minAvailable": 7}, status={"disruptionsAllowed": 9})
    prepared = prepare_plain_for_status_update(wanted, BUDGET)
    assert prepared.spec == BUDGET.spec
    assert prepared.status.disruptions_allowed == 9


def test_a_status_update_of_a_definition_keeps_its_metadata() -> None:
    stored = made(CustomResourceDefinition)
    document = {"name": "x", "labels": {"a": "b"}, "finalizers": ["example.com/x"]}
    wanted = decode_builtins({"metadata": document}, CustomResourceDefinition).value
    prepared = prepare_plain_for_status_update(wanted, stored)
    assert prepared.metadata.labels == {}
    assert prepared.metadata.finalizers == ()
