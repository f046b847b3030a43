"""Claims in memory: found by name, pod and device, and never ahead of the disk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.agent.claims.cache import ClaimCache
from dray.agent.claims.checkpoint import CheckpointUnwritable, encode_entry
from dray.agent.claims.claim_info import ClaimInfo, ClaimKey, ClaimName, PreparedDevice


class Disk:
    def __init__(self) -> None:
        self.writes: list[list[bytes]] = []
        self.full = False

    def store(self, entries: Iterable[bytes]) -> None:
        if self.full:
            raise CheckpointUnwritable("full")
        self.writes.append(list(entries))


def info(name: str = "a", pods: Iterable[str] = ("p",), *devices: str) -> ClaimInfo:
    prepared = tuple(PreparedDevice("pool", device) for device in devices)
    return ClaimInfo(ClaimName("n", name, f"uid-{name}"), frozenset(pods), {"d": prepared})


A = info("a", ["p", "q"], "x")
B = info("b", ["q"], "x", "y")


def test_claims_are_found_by_name_pod_and_device() -> None:
    cache = ClaimCache(Disk(), [A, B])
    assert cache.get(A.key) is A
    assert cache.get(ClaimKey("n", "c")) is None
    assert cache.of_pod("q") == (A, B)
    assert cache.of_pod("nobody") == ()
    assert cache.pods() == {"p", "q"}
    assert cache.pods_using("d", "pool", "x") == {"p", "q"}
    assert cache.pods_using("d", "pool", "y") == {"q"}
    assert cache.pods_using("d", "pool", "z") == frozenset()


def test_several_changes_are_one_write() -> None:
    disk = Disk()
    cache = ClaimCache(disk)
    cache.commit({A.key: A, B.key: B})
    assert disk.writes == [[encode_entry(A), encode_entry(B)]]


def test_flags_alone_are_no_reason_to_write() -> None:
    disk = Disk()
    cache = ClaimCache(disk, [A])
    cache.commit({A.key: replace(A, prepared=True, unpreparing=True)})
    assert disk.writes == []
    assert cache.values()[0].prepared


def test_what_cannot_be_written_did_not_happen() -> None:
    disk = Disk()
    cache = ClaimCache(disk, [A])
    disk.full = True
    with pytest.raises(CheckpointUnwritable):
        cache.commit({A.key: None, B.key: B})
    assert cache.values() == (A,)
    assert cache.pods_using("d", "pool", "y") == frozenset()
    disk.full = False
    cache.commit({B.key: B})
    assert disk.writes == [[encode_entry(A), encode_entry(B)]]


def test_removing_what_is_not_there_is_nothing() -> None:
    disk = Disk()
    ClaimCache(disk).commit({A.key: None})
    assert disk.writes == []


def test_of_two_entries_of_one_name_the_last_counts() -> None:
    cache = ClaimCache(Disk(), [A, replace(A, pods=frozenset({"z"}))])
    assert cache.pods() == {"z"}


def test_a_thousand_devices_are_found_at_once() -> None:
    disk = Disk()
    cache = ClaimCache(disk, [info(f"c{n}", [f"p{n}"], f"x{n}") for n in range(1000)])
    assert cache.pods_using("d", "pool", "x999") == {"p999"}
    cache.commit({ClaimKey("n", "c0"): info("c0", ["p0"], "moved")})
    assert cache.pods_using("d", "pool", "x0") == frozenset()
    assert cache.pods_using("d", "pool", "moved") == {"p0"}
    assert len(disk.writes[0]) == 1000


names = st.sampled_from("abc")
changes = st.dictionaries(
    names,
    st.none()
    | st.builds(
        lambda pods, devices: (pods, devices),
        st.frozensets(st.sampled_from("pqr"), max_size=3),
        st.lists(st.sampled_from("xyz"), max_size=3),
    ),
)


@pytest.mark.slow
@given(st.lists(st.tuples(st.booleans(), changes)))
def test_indexes_agree_with_looking_at_everything(
    steps: list[tuple[bool, dict[str, tuple[frozenset[str], list[str]] | None]]],
) -> None:
    disk = Disk()
    cache = ClaimCache(disk)
    model: dict[ClaimKey, ClaimInfo] = {}
    for full, change in steps:
        wanted = {
            ClaimKey("n", name): info(name, value[0], *value[1]) if value is not None else None
            for name, value in change.items()
        }
        disk.full = full
        try:
            cache.commit(wanted)
        except CheckpointUnwritable:
            continue
        for key, value in wanted.items():
            if value is None:
                model.pop(key, None)
            else:
                model[key] = value
        if disk.writes:
            assert sorted(disk.writes[-1]) == sorted(map(encode_entry, model.values()))
        for pod_uid in "pqr":
            expected = {key for key, value in model.items() if pod_uid in value.pods}
            assert {found.key for found in cache.of_pod(pod_uid)} == expected
        for device in "xyz":
            using = [
                v.pods for v in model.values() if any(d.device == device for d in v.drivers["d"])
            ]
            assert cache.pods_using("d", "pool", device) == frozenset[str]().union(*using)
