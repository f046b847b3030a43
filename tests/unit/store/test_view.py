from __future__ import annotations

import pytest

from dray.errors import InternalError
from dray.store.history import History
from dray.store.store import Record
from dray.store.view import View


def record(key: str, revision: int) -> Record:
    return Record(key, b"", revision, revision)


def test_a_view_begins_with_the_records_it_is_given() -> None:
    view = View(7, {key: record(key, 3) for key in ("/b", "/a")}, History(5))
    assert [r.key for r in view.range("").records] == ["/a", "/b"]
    assert (view.revision, view.oldest) == (7, 5)
    # Nothing changed since 5, so that state is known as well.
    assert view.range("/a", revision=5).revision == 5


def test_a_prefix_that_is_no_path_is_a_bug() -> None:
    view = View(1, {}, History(0))
    with pytest.raises(InternalError, match='watch on "/po": a prefix ends with a slash'):
        view.watch("/po", 1, lambda _: None)


def test_a_sink_that_raises_on_what_it_missed_is_its_openers_to_handle() -> None:
    view = View(1, {}, History(0))
    view._apply([(2, "/a", record("/a", 2))])

    def broken(_: object) -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        view.watch("", 1, broken)
    assert len(view._watches) == 0
