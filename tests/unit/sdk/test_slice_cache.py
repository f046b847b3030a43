"""Slices as a watch and own writes tell of them."""

from __future__ import annotations

from dray.api.meta import ObjectMeta
from dray.api.resource import ResourcePool, ResourceSlice, ResourceSliceSpec
from dray.sdk import _slice_cache as module
from dray.sdk._slice_cache import SliceCache


def slice_of(name: str, revision: int, pool: str = "p", driver: str = "d") -> ResourceSlice:
    return ResourceSlice(
        metadata=ObjectMeta(name=name, resource_version=str(revision)),
        spec=ResourceSliceSpec(driver=driver, pool=ResourcePool(name=pool)),
    )


class Seen:
    def __init__(self) -> None:
        self.foreign: list[tuple[str, bool]] = []
        self.cache = SliceCache(
            is_ours=lambda slice_: slice_.spec.driver == "d",
            on_foreign=lambda pool, deleted: self.foreign.append((pool, deleted)),
        )

    def names(self) -> list[str]:
        return [slice_.metadata.name for slice_ in self.cache.of_pool("p")]


def test_what_somebody_else_does_is_told() -> None:
    seen = Seen()
    first = slice_of("a", 1)
    seen.cache.hear(None, first)
    seen.cache.hear(first, slice_of("a", 2))
    seen.cache.hear(slice_of("a", 2), None)
    assert seen.foreign == [("p", False), ("p", False), ("p", True)]
    assert seen.names() == []


def test_own_writes_are_no_news_when_they_come_back() -> None:
    seen = Seen()
    seen.cache.wrote(slice_of("a", 5))
    seen.cache.hear(None, slice_of("a", 4))
    seen.cache.hear(slice_of("a", 4), slice_of("a", 5))
    assert seen.foreign == []
    assert seen.cache.of_pool("p") == (slice_of("a", 5),)


def test_a_deleted_slice_is_not_brought_back_by_a_late_event() -> None:
    seen = Seen()
    seen.cache.wrote(slice_of("a", 5))
    seen.cache.deleted("a")
    seen.cache.hear(None, slice_of("a", 5))
    seen.cache.hear(slice_of("a", 5), None)
    assert seen.foreign == []
    assert seen.names() == []


def test_a_list_replaces_what_was_known() -> None:
    seen = Seen()
    seen.cache.wrote(slice_of("a", 5))
    seen.cache.reset([slice_of("b", 7), slice_of("c", 3, driver="other")])
    assert seen.names() == ["b"]


def test_a_server_that_was_set_back_is_believed() -> None:
    seen = Seen()
    seen.cache.hear(None, slice_of("a", 5000))
    seen.cache.hear(slice_of("a", 5000), slice_of("a", 300))
    assert seen.cache.of_pool("p") == (slice_of("a", 300),)
    assert len(seen.foreign) == 2


def test_slices_of_others_are_not_kept() -> None:
    seen = Seen()
    seen.cache.hear(None, slice_of("a", 1, driver="other"))
    assert seen.cache.pools() == frozenset()
    assert seen.foreign == []


def test_the_memory_of_deletions_is_bounded() -> None:
    seen = Seen()
    for n in range(module.DELETED_MAX + 10):
        seen.cache.deleted(f"s{n}")
    assert len(seen.cache._deleted) == module.DELETED_MAX
