"""Which replica set is which."""

from __future__ import annotations

from dray.api.apps import LABEL_POD_TEMPLATE_HASH
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.controllers.deployments.family import (
    HISTORY_CHARACTERS_MAX,
    REVISION,
    REVISION_HISTORY,
    family_of,
    new_annotations,
    revision_of,
    same_template,
)
from tests.unit.controllers.deployments.deployment_parts import make_deployment, make_replica_set
from tests.unit.controllers.workloads import make_template


def test_the_new_one_has_the_template_whatever_its_mark() -> None:
    marked = make_template({"app": "web", LABEL_POD_TEMPLATE_HASH: "x"}, image="new")
    new = make_replica_set("a", 1)
    new = replace(new, spec=replace(new.spec, template=marked))
    old = [make_replica_set("c", 1, age=9), make_replica_set("b", 0, age=20)]
    family = family_of(make_deployment(), [old[0], new, old[1]])
    assert family.new == new
    assert [each.metadata.name for each in family.old] == ["b", "c"]
    assert [each.metadata.name for each in family.active()] == ["c", "a"]


def test_of_several_the_oldest_is_the_new_one() -> None:
    pair = [make_replica_set(name, 1, image="new", age=age) for name, age in (("a", 1), ("b", 9))]
    family = family_of(make_deployment(), pair)
    assert family.new is not None
    assert family.new.metadata.name == "b"


def test_templates_differ_by_anything_else() -> None:
    assert not same_template(make_template({"a": "1"}), make_template({"a": "2"}))
    assert not same_template(make_template({}), make_template({}, restart_policy="Never"))


def test_a_revision_is_one_more_than_any_former_had() -> None:
    old = [
        make_replica_set("a", 0, annotations={REVISION: "7"}),
        make_replica_set("b", 0, annotations={REVISION: "x"}),
        make_replica_set("c", 0),
    ]
    assert family_of(make_deployment(), old).next_revision() == 8
    assert revision_of(old[1]) == 0
    assert family_of(make_deployment(), []).next_revision() == 1


def test_who_is_returned_to_remembers_the_revisions_it_had() -> None:
    deployment = make_deployment()
    first = new_annotations(deployment, {}, 1)
    assert first == {REVISION: "1"}
    assert new_annotations(deployment, first, 1) == first
    third = new_annotations(deployment, first, 3)
    assert third == {REVISION: "3", REVISION_HISTORY: "1"}
    assert new_annotations(deployment, third, 5)[REVISION_HISTORY] == "1,3"
    assert new_annotations(deployment, third, 2) == third


def test_a_history_does_not_grow_without_end() -> None:
    known = {REVISION: "9999", REVISION_HISTORY: ",".join(["1000"] * 400)}
    history = new_annotations(make_deployment(), known, 10000)[REVISION_HISTORY]
    assert len(history) <= HISTORY_CHARACTERS_MAX
    assert history.endswith(",1000,9999")


def test_annotations_of_the_deployment_are_copied_but_for_its_own() -> None:
    deployment = make_deployment()
    own = {
        "note": "1",
        REVISION: "9",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    deployment = replace(deployment, metadata=ObjectMeta(annotations=own))
    assert new_annotations(deployment, {}, 1) == {REVISION: "1", "note": "1"}
