"""Which templates there were."""

from __future__ import annotations

import pytest
from msgspec import Raw

from dray.api.apps import (
    LABEL_CONTROLLER_REVISION_HASH,
    ControllerRevision,
    DaemonSet,
    DaemonSetStatus,
)
from dray.api.meta import ObjectMeta
from dray.api.wire import Time, replace
from dray.controllers.daemon_sets.history import (
    History,
    hash_of,
    history_of,
    holds,
    make_revision,
    patch_of,
    surplus,
)
from dray.controllers.ownership import is_controlled_by
from tests.unit.controllers.daemon_sets.daemon_parts import NOW, make_daemon_set, make_pod


def of_image(image: str) -> DaemonSet:
    return make_daemon_set(image=f"registry.example/main:{image}")


def kept(number: int, image: str = "", name: str = "") -> ControllerRevision:
    """A revision of a template of its own, or of an image."""
    revision = make_revision(of_image(image or str(number)), number)
    return replace(revision, metadata=replace(revision.metadata, name=name or f"r{number}"))


def numbers(revisions: object) -> list[int]:
    assert isinstance(revisions, (list, tuple))
    return [each.revision for each in revisions]


def test_a_patch_is_written_as_go_writes_one() -> None:
    daemon_set = make_daemon_set(image="a<b>&c\u2028\u00fc")
    assert bytes(patch_of(daemon_set)).decode() == (
        '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"agent"}},'
        '"spec":{"containers":[{"image":"a\\u003cb\\u003e\\u0026c\\u2028\u00fc","name":"main",'
        '"resources":{}}]}}}}'
    )


def test_a_revision_is_named_labelled_and_owned_by_what_it_is_of() -> None:
    daemon_set = make_daemon_set(annotations={"kubernetes.io/change-cause": "why"})
    revision = make_revision(daemon_set, 4)
    mark = hash_of(revision)
    assert revision.metadata.name == f"agent-{mark}"
    assert revision.metadata.labels == {"app": "agent", LABEL_CONTROLLER_REVISION_HASH: mark}
    assert revision.metadata.annotations == {"kubernetes.io/change-cause": "why"}
    assert is_controlled_by(revision, daemon_set)
    assert (revision.revision, revision.data) == (4, patch_of(daemon_set))


def test_after_a_collision_a_revision_has_another_name() -> None:
    daemon_set = make_daemon_set()
    collided = replace(daemon_set, status=DaemonSetStatus(collision_count=1))
    first, second = make_revision(daemon_set, 1), make_revision(collided, 1)
    assert first.metadata.name != second.metadata.name
    assert first.data == second.data


@pytest.mark.parametrize(
    ("data", "same"),
    [
        pytest.param(b'{"b":[1,"\\u003c"],"a":{}}', True, id="another-order"),
        pytest.param(b'{ "a": {}, "b": [1, "<"] }', True, id="other-spaces"),
        pytest.param(b'{"a":{},"b":[true,"<"]}', False, id="another-type"),
        pytest.param(b'{"a":{}}', False, id="less"),
        pytest.param(b"null", False, id="null"),
        pytest.param(None, False, id="nothing"),
    ],
)
def test_a_revision_holds_a_patch_however_it_spells_it(data: bytes | None, same: bool) -> None:
    patch = Raw(b'{"a":{},"b":[1,"\\u003c"]}')
    revision = ControllerRevision(data=None if data is None else Raw(data))
    assert holds(revision, patch) is same


def test_revisions_are_told_apart_by_their_templates() -> None:
    history = history_of(of_image("2"), [kept(3), kept(1), kept(2)])
    assert (numbers(history.current), numbers(history.old)) == ([2], [1, 3])
    assert history.number == 4


def test_of_equal_revisions_the_one_of_the_highest_number_comes_first() -> None:
    equal = [kept(2, "x", "b"), kept(5, "x", "a"), kept(5, "x", "c")]
    history = history_of(of_image("x"), equal)
    assert [each.metadata.name for each in history.current] == ["c", "a", "b"]
    assert history.number == 1


def test_of_equal_revisions_one_that_is_on_its_way_out_comes_last() -> None:
    going = kept(5, "x", "a")
    going = replace(going, metadata=replace(going.metadata, deletion_timestamp=Time(NOW)))
    history = history_of(of_image("x"), [going, kept(2, "x", "b")])
    assert [each.metadata.name for each in history.current] == ["b", "a"]


def test_what_is_beyond_the_limit_goes_the_oldest_first() -> None:
    history = History([kept(9)], [kept(number) for number in (1, 2, 3, 4)])
    assert numbers(surplus(history, 2, [])) == [1, 2]
    assert numbers(surplus(history, 0, [])) == [1, 2, 3, 4]
    assert numbers(surplus(history, 9, [])) == []
    assert surplus(history, None, []) == ()


def test_what_pods_are_still_of_stays() -> None:
    old = [kept(number) for number in (1, 2, 3)]
    pod = make_pod("a", "n1")
    labels = {LABEL_CONTROLLER_REVISION_HASH: hash_of(old[0])}
    pod = replace(pod, metadata=replace(pod.metadata, labels=labels))
    assert numbers(surplus(History([], old), 1, [pod])) == [2, 3]
    assert numbers(surplus(History([], old), 2, [pod])) == [2]


def test_what_is_on_its_way_out_does_not_count() -> None:
    going = replace(kept(1), metadata=ObjectMeta(name="r1", deletion_timestamp=Time(NOW)))
    assert numbers(surplus(History([], [going, kept(2), kept(3)]), 1, [])) == [2]
