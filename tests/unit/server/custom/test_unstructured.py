from __future__ import annotations

from dray.api.codec import encode
from dray.api.meta import ObjectMeta
from dray.api.wire import replace
from dray.server.custom.unstructured import Unstructured, fresh

OBJECT = Unstructured.of("example.com/v1", "Widget", ObjectMeta(name="w"), {"spec": {"a": [1]}})


def test_content_is_everything_beside_metadata() -> None:
    assert OBJECT.content == {"spec": {"a": [1]}}
    assert OBJECT.whole() == {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"a": [1]},
    }


def test_of_its_metadata_the_name_may_do() -> None:
    labelled = replace(OBJECT, metadata=ObjectMeta(name="w", labels={"a": "b"}))
    assert labelled.whole(with_metadata=False)["metadata"] == {"name": "w"}
    assert labelled.whole()["metadata"] == {"name": "w", "labels": {"a": "b"}}


def test_content_comes_along_when_metadata_changes() -> None:
    assert replace(OBJECT, metadata=ObjectMeta(name="x")).content == OBJECT.content


def test_stored_it_begins_with_metadata_and_does_not_say_its_kind() -> None:
    assert OBJECT.stored() == b'{"metadata":{"name":"w"},"spec":{"a":[1]}}'
    empty = Unstructured.of("example.com/v1", "Widget", ObjectMeta(name="w"), {})
    assert empty.stored() == b'{"metadata":{"name":"w"}}'


def test_it_is_written_like_any_object() -> None:
    assert b'"spec":{"a":[1]}' in encode(OBJECT)


def test_a_fresh_copy_may_be_changed() -> None:
    copy = fresh(OBJECT.content)
    copy["spec"]["a"].append(2)
    assert OBJECT.content == {"spec": {"a": [1]}}


def test_an_object_without_content_has_none() -> None:
    assert Unstructured().content == {}
