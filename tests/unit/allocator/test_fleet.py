"""Many nodes at once: the answers are those of asking every node alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.allocator import Allocation, Allocator, Features, Inventory, Occupancy
from dray.allocator.answers import Unsatisfiable
from dray.allocator.fleet import Fleet
from dray.allocator.models import VALUES_MAX
from dray.api.meta import ObjectMeta
from dray.api.resource import (
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceSlice,
)
from dray.api.wire import replace
from dray.errors import AllocationError, ConfigurationError, InternalError
from tests.unit.allocator.builders import (
    CLASS,
    DRIVER,
    claim,
    device,
    device_class,
    labelled,
    node,
    request,
    slice_,
    taint,
)

UUID = f'device.attributes["{DRIVER}"].uuid'
MODEL = f'device.attributes["{DRIVER}"].model'


def names(count: int) -> list[str]:
    return [f"node-{number}" for number in range(count)]


def gpus(name: str, count: int = 2, *, model: str = "a100") -> ResourceSlice:
    devices = [
        device(f"gpu-{i}", attributes={"model": model, "uuid": f"{name}-{i}"}) for i in range(count)
    ]
    return slice_(*devices, name=f"{name}-gpus", pool=name, node_name=name)


def fleet_of(slices: Sequence[ResourceSlice], node_names: Sequence[str]) -> Fleet:
    shares = itertools.count()
    allocator = Allocator(
        Inventory(Features.everything(), slices),
        Occupancy(),
        {CLASS: device_class()},
        share_id=lambda: f"share-{next(shares)}",
    )
    return Fleet(allocator, map(node, node_names))


def allocated(asked: ResourceClaim, answer: Allocation | Unsatisfiable) -> ResourceClaim:
    assert isinstance(answer, Allocation)
    return replace(asked, status=ResourceClaimStatus(allocation=answer.results[0]))


def given_devices(answer: Allocation | Unsatisfiable) -> list[tuple[str, str]]:
    if not isinstance(answer, Allocation):
        return []
    return [(r.pool, r.device) for result in answer.results for r in result.devices.results]


def test_nodes_that_are_alike_are_one_group() -> None:
    fleet = fleet_of([gpus(name) for name in names(50)], names(50))
    survey = fleet.survey([claim()])
    assert len(survey.groups) == 1
    assert sorted(survey.fitting()) == sorted(names(50))


def test_an_answer_names_the_devices_of_its_own_node() -> None:
    fleet = fleet_of([gpus(name) for name in names(3)], names(3))
    survey = fleet.survey([claim()])
    assert given_devices(survey.on("node-2")) == [("node-2", "gpu-0")]


def test_the_first_node_is_the_one_that_came_first() -> None:
    fleet = fleet_of([gpus(name) for name in names(12)], names(12))
    taken = claim(request(count=2), name="both")
    fleet.add_claim(allocated(taken, fleet.survey([taken]).on("node-0")))
    assert fleet.survey([claim()]).first() == "node-1"


def test_a_device_that_comes_free_brings_its_node_back() -> None:
    fleet = fleet_of([gpus("node-0", 1)], ["node-0"])
    holder = claim(name="holder")
    holder = allocated(holder, fleet.survey([holder]).on("node-0"))
    fleet.add_claim(holder)
    assert fleet.survey([claim()]).first() is None
    fleet.remove_claim(holder)
    assert fleet.survey([claim()]).first() == "node-0"


def test_a_node_that_left_is_not_offered() -> None:
    fleet = fleet_of([gpus(name) for name in names(2)], names(2))
    fleet.survey([claim()])
    fleet.remove_node("node-0")
    assert fleet.survey([claim()]).first() == "node-1"
    fleet.remove_node("node-0")
    assert list(fleet) == ["node-1"]


def test_a_slice_that_is_withdrawn_takes_its_devices_along() -> None:
    fleet = fleet_of([gpus("node-0")], ["node-0"])
    fleet.survey([claim()])
    fleet.remove_slice("node-0-gpus")
    fleet.remove_slice("node-0-gpus")
    assert fleet.survey([claim()]).first() is None


def test_a_slice_that_moves_is_gone_from_where_it_was() -> None:
    fleet = fleet_of([gpus("node-0")], names(2))
    fleet.survey([claim()])
    moved = gpus("node-1")
    fleet.apply_slice(replace(moved, metadata=ObjectMeta(name="node-0-gpus")))
    assert list(fleet.survey([claim()]).fitting()) == ["node-1"]


def test_a_taint_rule_counts_from_the_next_survey_on() -> None:
    fleet = fleet_of([gpus(name) for name in names(2)], names(2))
    fleet.survey([claim()])
    rule = DeviceTaintRule(
        metadata=ObjectMeta(name="rule"),
        spec=DeviceTaintRuleSpec(
            device_selector=DeviceTaintSelector(pool="node-0"), taint=taint("sick")
        ),
    )
    fleet.apply_rule(rule)
    assert list(fleet.survey([claim()]).fitting()) == ["node-1"]
    fleet.remove_rule("rule")
    assert fleet.survey([claim()]).first() == "node-0"


def test_a_serial_number_is_found_on_its_own_node_among_many() -> None:
    count = VALUES_MAX + 2
    fleet = fleet_of([gpus(name) for name in names(count)], names(count))
    asked = claim(request(select=[f'{UUID} == "node-7-1"']))
    survey = fleet.survey([asked])
    assert survey.fitting() == ("node-7",)
    assert given_devices(survey.on("node-7")) == [("node-7", "gpu-1")]
    fleet.add_claim(allocated(asked, survey.on("node-7")))
    assert fleet.survey([asked]).first() is None


def test_individuals_do_not_make_kinds_of_nodes() -> None:
    count = VALUES_MAX * 2
    fleet = fleet_of([gpus(name) for name in names(count)], names(count))
    assert len(fleet.survey([claim()]).groups) == 1


def test_a_shared_device_that_is_taken_is_gone_for_all_nodes() -> None:
    nic = slice_(device("nic", attributes={"uuid": "n"}), name="nic", pool="fabric", all_nodes=True)
    fleet = fleet_of([nic], names(3))
    asked = claim()
    survey = fleet.survey([asked])
    assert len(survey.groups) == 1
    fleet.add_claim(allocated(asked, survey.on("node-2")))
    assert fleet.survey([asked]).first() is None


def test_nodes_with_shared_pools_of_their_own_stay_apart() -> None:
    """Each rack has a device of its own. They look alike until one of them is taken."""
    racks = [
        slice_(
            device("nic"),
            name=f"rack-{rack}",
            pool=f"rack-{rack}",
            node_selector=labelled("rack", rack),
        )
        for rack in ("a", "b")
    ]
    fleet = fleet_of(racks, [])
    for name, rack in (("node-a", "a"), ("node-b", "b")):
        fleet.apply_node(node(name, labels={"rack": rack}))
    for select in ([], [f'!has({UUID}) || {UUID} == "x"']):
        asked = claim(request(select=select))
        survey = fleet.survey([asked])
        held = allocated(asked, survey.on("node-a"))
        fleet.add_claim(held)
        assert list(fleet.survey([asked]).fitting()) == ["node-b"]
        fleet.remove_claim(held)


def test_a_failure_names_the_claims_that_were_asked_about() -> None:
    fleet = fleet_of([gpus("node-0", 1)], ["node-0"])
    for name in ("one", "other"):
        survey = fleet.survey([claim(request(count=40), name=name)])
        with pytest.raises(AllocationError, match=f"claim default/{name}, request req"):
            survey.check()


def test_a_selector_that_fails_on_one_node_ends_the_attempt_for_all() -> None:
    odd = slice_(device("odd"), name="odd", pool="node-1", node_name="node-1")
    fleet = fleet_of([gpus("node-0"), odd], names(2))
    survey = fleet.survey([claim(request(select=[f'{MODEL} == "a100"']))])
    assert survey.first() == "node-0"
    with pytest.raises(AllocationError, match=r"on device gpu\.example\.com/node-1/odd"):
        survey.check()


def test_the_first_node_is_not_looked_for_behind_one_that_fails() -> None:
    odd = slice_(device("odd"), name="odd", pool="node-0", node_name="node-0")
    fleet = fleet_of([odd, gpus("node-1")], names(2))
    survey = fleet.survey([claim(request(select=[f'{MODEL} == "a100"']))])
    assert survey.fitting() == ("node-1",)
    with pytest.raises(AllocationError, match="node-0/odd"):
        survey.first()


def test_a_survey_that_outlived_a_change_says_so() -> None:
    fleet = fleet_of([gpus("node-0", 1)], ["node-0"])
    asked = claim()
    survey = fleet.survey([asked])
    holder = allocated(claim(name="holder"), survey.on("node-0"))
    fleet.add_claim(holder)
    for late in (survey.first, survey.fitting, lambda: survey.on("node-0")):
        with pytest.raises(InternalError, match="survey it again"):
            late()
    fleet.remove_claim(holder)
    assert fleet.survey([asked]).first() == "node-0"


def test_nodes_that_nobody_knows_are_named() -> None:
    fleet = fleet_of([], ["node-0"])
    with pytest.raises(ConfigurationError, match='node "node-9" is not in the fleet'):
        fleet.survey([claim()]).on("node-9")


def test_nodes_that_fit_are_told_in_the_order_of_the_fleet() -> None:
    slices = [gpus(name, model=MODELS[i % 2]) for i, name in enumerate(names(5))]
    assert fleet_of(slices, names(5)).survey([claim()]).fitting() == tuple(names(5))


def test_a_node_that_comes_back_comes_last() -> None:
    fleet = fleet_of([gpus(name) for name in names(3)], names(3))
    fleet.survey([claim()])
    fleet.remove_node("node-0")
    fleet.apply_node(node("node-0"))
    assert fleet.survey([claim()]).fitting() == ("node-1", "node-2", "node-0")
    assert fleet.survey([claim()]).first() == "node-1"


def test_old_shapes_are_forgotten_and_asked_anew() -> None:
    shares = itertools.count()
    allocator = Allocator(
        Inventory(Features.everything(), [gpus("node-0")]),
        Occupancy(),
        {CLASS: device_class()},
        share_id=lambda: f"share-{next(shares)}",
    )
    fleet = Fleet(allocator, [node("node-0")], shapes_max=1)
    for count in (1, 2, 1, 3):
        fits = fleet.survey([claim(request(count=count))]).first() is not None
        assert fits is (count < 3)


# One change after the other ---------------------------------------------------------------------

NODES = names(4)
MODELS = ("a100", "t4")
SHAPES: tuple[Callable[[str], ResourceClaim], ...] = (
    lambda name: claim(name=name),
    lambda name: claim(request(count=2), name=name),
    lambda name: claim(request(select=[f'{MODEL} == "a100"']), name=name),
    lambda name: claim(request(select=[f'{UUID}.endsWith("-1")']), name=name),
    lambda name: claim(request(mode="All"), name=name),
)
Change = Callable[[Fleet, list[ResourceClaim]], None]


def _apply(number: int, model: int, count: int) -> Change:
    return lambda fleet, _: fleet.apply_slice(gpus(NODES[number], count, model=MODELS[model]))


def _everywhere(count: int) -> Change:
    attributes = [{"model": "nic", "uuid": f"nic-{i}"} for i in range(count)]
    nics = [device(f"nic-{i}", attributes=each) for i, each in enumerate(attributes)]
    return lambda fleet, _: fleet.apply_slice(
        slice_(*nics, name="nics", pool="fabric", all_nodes=True)
    )


def _take(number: int, shape: int) -> Change:
    def take(fleet: Fleet, held: list[ResourceClaim]) -> None:
        names = {one.metadata.name for one in held}
        name = next(f"claim-{i}" for i in range(99) if f"claim-{i}" not in names)
        if NODES[number] not in fleet:
            return
        answer = fleet.survey([SHAPES[shape](name)]).on(NODES[number])
        if isinstance(answer, Allocation):
            held.append(allocated(SHAPES[shape](name), answer))
            fleet.add_claim(held[-1])

    return take


def _release(position: int) -> Change:
    def release(fleet: Fleet, held: list[ResourceClaim]) -> None:
        if held:
            fleet.remove_claim(held.pop(position % len(held)))

    return release


def _remove(number: int) -> Change:
    return lambda fleet, _: fleet.remove_slice(f"{NODES[number]}-gpus")


def _node(number: int, present: bool) -> Change:
    name = NODES[number]
    if present:
        return lambda fleet, _: fleet.apply_node(node(name))
    return lambda fleet, _: fleet.remove_node(name)


small = st.integers(0, 3)
changes = st.one_of(
    st.builds(_apply, small, st.integers(0, 1), st.integers(1, 3)),
    st.builds(_everywhere, st.integers(0, 2)),
    st.builds(_take, small, st.integers(0, len(SHAPES) - 1)),
    st.builds(_release, small),
    st.builds(_remove, small),
    st.builds(_node, small, st.booleans()),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(changes, max_size=12))
def test_a_fleet_answers_as_every_node_alone_would(steps: list[Change]) -> None:
    """Whatever came before, the groups give what a new allocator gives for each node."""
    fleet = fleet_of([], NODES)
    held: list[ResourceClaim] = []
    for step in steps:
        step(fleet, held)
        alone = Allocator(
            Inventory(Features.everything(), fleet.allocator.inventory.slices()),
            Occupancy.of(held),
            fleet.allocator.classes,
            share_id=lambda: "share",
        )
        for shape in SHAPES:
            asked = shape("asked")
            survey = fleet.survey([asked])
            for name in fleet:
                assert given_devices(survey.on(name)) == given_devices(
                    alone.allocate(node(name), [asked])
                )


def test_what_is_forgotten_is_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in ("faces.FACES_MAX", "models.MODELS_MAX", "fleet.OUTCOMES_MAX"):
        monkeypatch.setattr(f"dray.allocator.{bound}", 1)
    slices = [gpus(name, 1 + i % 3, model=MODELS[i % 2]) for i, name in enumerate(NODES)]
    fleet = fleet_of(slices, NODES)
    alone = Allocator(
        Inventory(Features.everything(), slices),
        Occupancy(),
        fleet.allocator.classes,
        share_id=lambda: "share",
    )
    for shape in (*SHAPES, *SHAPES):
        survey = fleet.survey([shape("asked")])
        for name in NODES:
            assert given_devices(survey.on(name)) == given_devices(
                alone.allocate(node(name), [shape("asked")])
            )
