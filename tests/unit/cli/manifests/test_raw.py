from __future__ import annotations

import json
from typing import Any

import pytest

from dray.api import codec
from dray.cli.manifests import Manifest, ManifestError, RawObject, read_documents, read_raw
from dray.cli.manifests import raw as module


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RAW_BYTES_MIN", 0)


def listing(*items: Any, kind: str = "List", version: str = "v1") -> bytes:
    return json.dumps({"apiVersion": version, "kind": kind, "items": items}, indent=4).encode()


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "é"}}}


def test_a_list_is_cut_into_its_items_unparsed() -> None:
    first, second = read_raw(listing(NODE, POD))
    assert isinstance(first, RawObject)
    assert isinstance(second, RawObject)
    assert (first.api_version, first.kind, first.item) == ("v1", "Node", 1)
    assert json.loads(second.data) == POD
    assert second.outline().value == {"apiVersion": "v1", "kind": "Pod"}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(listing(NODE, POD), id="list"),
        pytest.param(listing({"metadata": {"name": "p"}}, kind="PodList"), id="typed-list"),
        pytest.param(b"\n\n" + listing(NODE), id="space-before"),
    ],
)
def test_what_is_cut_is_what_exact_reading_finds(data: bytes) -> None:
    exact = [one for one in read_documents(data) if isinstance(one, Manifest)]
    cut = [one.manifest() for one in read_raw(data) if isinstance(one, RawObject)]
    assert len(cut) == len(exact) > 0
    for one, other in zip(cut, exact, strict=True):
        assert isinstance(one, Manifest)
        assert (one.value, one.path, one.item) == (other.value, other.path, other.item)
        assert (one.line, one.line_of("metadata.name")) == (
            other.line,
            other.line_of("metadata.name"),
        )


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(json.dumps(NODE).encode(), id="one-object"),
        pytest.param(b"", id="nothing"),
        pytest.param(listing(), id="empty-list"),
        pytest.param(listing(NODE, 1), id="item-that-is-no-object"),
        pytest.param(listing(NODE, {}, kind="PodList"), id="empty-item"),
        pytest.param(listing(NODE, {"kind": "Pod"}), id="item-without-a-version"),
        pytest.param(listing({"apiVersion": 1, "kind": "Pod"}), id="type-of-a-wrong-type"),
        pytest.param(
            listing(NODE, json.loads(listing(POD))),
            id="list-in-a-list",
        ),
        pytest.param(listing(NODE) + listing(POD), id="several-documents"),
        pytest.param(listing(NODE)[:-5], id="torn"),
        pytest.param(listing(NODE).replace(b"Node", b"N\xffde"), id="not-utf-8"),
        pytest.param(listing(NODE).replace(b"Node", b"N\x01de"), id="control-character"),
        pytest.param(b"\xef\xbb\xbf" + listing(NODE), id="byte-order-mark"),
        pytest.param(b"kind: List\nitems: []\n", id="yaml"),
        pytest.param(b'{"kind": "List", "items": [' + b"[" * 5000 + b"]" * 5000 + b"]}", id="deep"),
    ],
)
def test_what_is_not_plain_is_left_to_exact_reading(data: bytes) -> None:
    found = list(read_raw(data))
    assert not [one for one in found if isinstance(one, RawObject)]
    assert [str(one) for one in found] == [str(one) for one in read_documents(data)]


def test_an_object_over_the_limit_is_left_to_exact_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(codec, "DOCUMENT_BYTES_MAX", 20)
    (found,) = read_raw(listing(NODE))
    assert isinstance(found, ManifestError)
    assert "the limit is 20" in found.rule


def test_more_items_than_memory_can_hold_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "JSON_VALUES_MAX", 2)
    assert not [one for one in read_raw(listing(NODE, POD)) if isinstance(one, RawObject)]


def test_an_object_that_only_exact_reading_refuses_says_which_it_is() -> None:
    data = listing(NODE, POD).replace(b'"p"', b"1" * 2000)
    found = [one.manifest() for one in read_raw(data) if isinstance(one, RawObject)]
    assert isinstance(found[0], Manifest)
    assert isinstance(found[1], ManifestError)
    assert found[1].rule.startswith("items[1]: not JSON we read: an integer of 2000 digits")


def test_small_files_are_read_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RAW_BYTES_MIN", 10_000)
    assert all(isinstance(one, Manifest) for one in read_raw(listing(NODE, POD)))
