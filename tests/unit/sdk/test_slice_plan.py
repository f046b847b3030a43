"""Which writes turn existing slices into wanted ones, and in which generation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from dray.api.meta import ObjectMeta, OwnerReference
from dray.api.resource import DeviceTaint, ResourceSlice, ResourceSliceSpec
from dray.api.wire import Time, replace
from dray.sdk._inventory import Pool, device
from dray.sdk._slice_layout import lay_out
from dray.sdk._slice_names import index_of
from dray.sdk._slice_plan import Plan, keep_taint_times, plan, same_spec, taint_times

OWNERS = (OwnerReference(api_version="v1", kind="Node", name="n", uid="u", controller=True),)


def wanted(*sizes: int, tag: str = "") -> tuple[ResourceSliceSpec, ...]:
    """Slices of these many devices; the tag makes their content another."""
    attributes = {"tag": tag} if tag else {}
    (blank,) = lay_out(Pool([]), driver="d.example.com", node_name="n")
    return tuple(
        replace(
            blank,
            pool=replace(blank.pool, resource_slice_count=len(sizes)),
            devices=tuple(device(f"d{slot}-{n}", attributes=attributes) for n in range(size)),
        )
        for slot, size in enumerate(sizes)
    )


def planned(specs: Sequence[ResourceSliceSpec], existing: Sequence[ResourceSlice]) -> Plan:
    return plan(specs, existing, node_name="n", owners=OWNERS)


class Server:
    """Carries out plans, and shows every state in between."""

    def __init__(self) -> None:
        self.slices: dict[str, ResourceSlice] = {}
        self._names = 0

    def carry_out(self, todo: Plan, writes_max: int = 10_000) -> Iterator[None]:
        steps = [("delete", each) for each in todo.deletes]
        steps += [("update", each) for each in todo.updates]
        steps += [("create", each) for each in todo.creates]
        for verb, each in steps[:writes_max]:
            name = each.metadata.name
            if verb == "create":
                self._names += 1
                name = f"{each.metadata.generate_name}{self._names:05}"
                each = replace(each, metadata=replace(each.metadata, name=name))
            if verb == "delete":
                del self.slices[name]
            else:
                self.slices[name] = each
            yield

    def existing(self) -> list[ResourceSlice]:
        return list(self.slices.values())

    def seen(self) -> list[ResourceSliceSpec] | None:
        """What a reader believes: the newest generation, if it is complete."""
        newest = max((each.spec.pool.generation for each in self.slices.values()), default=0)
        current = [it for it in self.existing() if it.spec.pool.generation == newest]
        if not current or any(
            each.spec.pool.resource_slice_count != len(current) for each in current
        ):
            return None
        current.sort(key=lambda each: each.metadata.name)
        return [each.spec for each in current]


def settle(server: Server, specs: Sequence[ResourceSliceSpec]) -> Plan:
    todo = planned(specs, server.existing())
    for _ in server.carry_out(todo):
        pass
    return todo


def test_a_new_pool_is_created_in_its_first_generation() -> None:
    todo = planned(wanted(1, 2), [])
    assert todo.generation == 1
    assert [each.metadata.generate_name for each in todo.creates] == [
        "00000-d.example.com-n-",
        "00001-d.example.com-n-",
    ]
    assert todo.creates[0].metadata.owner_references == OWNERS


def test_nothing_is_written_when_nothing_changed() -> None:
    server = Server()
    settle(server, wanted(3, 3))
    assert planned(wanted(3, 3), server.existing()).is_empty


def test_one_changed_slice_is_updated_in_place() -> None:
    server = Server()
    settle(server, wanted(3, 3))
    todo = settle(server, (wanted(3, 3)[0], wanted(3, 3, tag="x")[1]))
    assert (todo.generation, len(todo.updates), len(todo.creates)) == (1, 1, 0)


def test_more_changes_are_a_new_generation_of_all_slices() -> None:
    server = Server()
    settle(server, wanted(3, 3, 3))
    changed = wanted(3, 3, 3, tag="x")
    todo = settle(server, (wanted(3, 3, 3)[0], *changed[1:]))
    assert (todo.generation, len(todo.updates), len(todo.creates)) == (2, 3, 0)


def test_more_or_fewer_slices_are_a_new_generation() -> None:
    server = Server()
    settle(server, wanted(3, 3))
    assert settle(server, wanted(3, 3, 3)).generation == 2
    todo = settle(server, wanted(3, 3))
    assert (todo.generation, len(todo.deletes), len(todo.updates)) == (3, 1, 2)


def test_a_slice_that_was_deleted_is_brought_back_alone() -> None:
    server = Server()
    settle(server, wanted(3, 3, 3))
    del server.slices[sorted(server.slices)[1]]
    todo = settle(server, wanted(3, 3, 3))
    assert (todo.generation, len(todo.updates), len(todo.creates)) == (1, 0, 1)
    assert server.seen() is not None


def test_after_a_wipe_the_generation_goes_on_from_what_was_seen() -> None:
    todo = plan(wanted(1), [], node_name="n", owners=OWNERS, seen_generation=7)
    assert todo.generation == 8


def test_the_drivers_generation_is_taken_when_it_is_higher() -> None:
    server = Server()
    settle(server, wanted(1))
    todo = plan(wanted(1), server.existing(), node_name="n", owners=OWNERS, generation=9)
    assert (todo.generation, len(todo.updates)) == (9, 1)
    assert plan(wanted(1), [], node_name="n", owners=OWNERS, generation=0).generation == 1


def test_slices_named_otherwise_and_doubles_are_deleted() -> None:
    server = Server()
    settle(server, wanted(1))
    (ours,) = server.existing()
    double = replace(ours, metadata=replace(ours.metadata, name="00000-zzz"))
    stray = replace(ours, metadata=ObjectMeta(name="n-d.example.com-abcde"))
    todo = planned(wanted(1), [double, ours, stray])
    assert {each.metadata.name for each in todo.deletes} == {"00000-zzz", stray.metadata.name}
    assert not todo.updates
    assert not todo.creates


def test_a_slice_whose_node_changed_is_made_anew() -> None:
    server = Server()
    settle(server, wanted(1))
    elsewhere = tuple(replace(each, node_name=None, all_nodes=True) for each in wanted(1))
    todo = planned(elsewhere, server.existing())
    assert (len(todo.deletes), len(todo.updates), len(todo.creates)) == (1, 0, 1)


def test_a_new_owner_is_written() -> None:
    server = Server()
    settle(server, wanted(1))
    other = (replace(OWNERS[0], uid="v"),)
    todo = plan(wanted(1), server.existing(), node_name="n", owners=other)
    assert [each.metadata.owner_references for each in todo.updates] == [other]


TIME = Time.parse("2026-01-01T00:00:00Z")
LATER = Time.parse("2026-01-01T00:00:01Z")
MUCH_LATER = Time.parse("2026-01-01T00:01:00Z")
TAINT = DeviceTaint(key="k.example.com/x", value="v", effect="NoExecute")


def tainted(taint: DeviceTaint) -> ResourceSliceSpec:
    (spec,) = wanted(1)
    return replace(spec, devices=(device("d", taints=[taint]),))


def test_the_time_of_a_taint_is_kept_unless_the_taint_changed() -> None:
    stored = ResourceSlice(spec=tainted(replace(TAINT, time_added=TIME)))
    times = taint_times([stored])
    kept = keep_taint_times(tainted(TAINT), times)
    assert (kept.devices or ())[0].taints[0].time_added == TIME
    changed = keep_taint_times(tainted(replace(TAINT, value="w")), times)
    assert (changed.devices or ())[0].taints[0].time_added is None


def test_times_of_taints_differ_only_if_asked_for_and_by_more_than_a_second() -> None:
    stored = tainted(replace(TAINT, time_added=TIME))
    assert same_spec(stored, tainted(TAINT))
    assert same_spec(stored, tainted(replace(TAINT, time_added=LATER)))
    assert not same_spec(stored, tainted(replace(TAINT, time_added=MUCH_LATER)))
    assert not same_spec(stored, tainted(replace(TAINT, effect="NoSchedule")))
    assert not same_spec(stored, wanted(1)[0])
    assert not same_spec(stored, wanted(2)[0])


sizes = st.lists(st.integers(0, 2), min_size=1, max_size=4)
states = st.tuples(sizes, st.sampled_from(["", "x"]))


@given(st.lists(st.tuples(states, st.integers(0, 6), st.integers(0, 5)), max_size=6), states)
def test_readers_never_see_a_mixture_whatever_happens_on_the_way(
    steps: list[tuple[tuple[list[int], str], int, int]], last: tuple[list[int], str]
) -> None:
    """Against crashes after any write and foreign deletions: what is complete was once wanted."""
    server = Server()
    history: list[list[ResourceSliceSpec]] = []

    def check() -> None:
        seen = server.seen()
        if seen is not None:
            bare = [replace(spec, pool=replace(spec.pool, generation=0)) for spec in seen]
            assert bare in history

    for (counts, tag), writes, victim in steps:
        specs = wanted(*counts, tag=tag)
        history.append(list(specs))
        for _ in server.carry_out(planned(specs, server.existing()), writes):
            check()
        if victim < len(server.slices):
            del server.slices[sorted(server.slices)[victim]]
            check()
    final = wanted(*last[0], tag=last[1])
    history.append(list(final))
    settle(server, final)
    seen = server.seen()
    assert seen is not None
    assert [replace(spec, pool=replace(spec.pool, generation=0)) for spec in seen] == list(final)
    assert [index_of(name) for name in sorted(server.slices)] == list(range(len(final)))
    assert planned(final, server.existing()).is_empty
