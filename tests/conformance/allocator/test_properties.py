"""Small cases, decided safely, as by trying everything, and alike however early pruning starts.

Each seed is one case of tests/conformance/allocator/tiny.py. Pruning usually waits until a search
has failed a few times, which in small cases it seldom does, so every property is also looked at
with pruning from the start.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dray.allocator import Allocation
from dray.allocator.solver import search
from dray.errors import AllocationError
from dray.testing.allocation import allocate_case, allocator_of
from tests.conformance.allocator.answers import difference, outcome
from tests.conformance.allocator.checker import violations
from tests.conformance.allocator.reference import allocate_case as try_everything
from tests.conformance.allocator.tiny import Object, tiny

REGRESSIONS = Path(__file__).parent / "regressions.jsonl"
ANSWER = ("results", "error", "nodeOnly")

SEEDS = 2000
CHUNK = 110
QUICK = 20

# Beyond those, what shows mistakes that they do not: over-drawn counters that nobody draws from,
# and constraints that keep what they took back.
KEPT = (2545, 3378, 4622)

# Enough for all but one case in a thousand, and that one may take minutes.
REFERENCE_STEPS_MAX = 20_000


def chunks() -> list[Any]:
    """A few seeds to run always, and the others."""
    starts = range(QUICK, SEEDS, CHUNK)
    return [
        pytest.param(range(QUICK), id=f"to{QUICK}"),
        *(
            pytest.param(range(start, start + CHUNK), id=f"from{start}", marks=pytest.mark.slow)
            for start in starts
        ),
        pytest.param(KEPT, id="kept"),
    ]


@pytest.fixture(
    params=[
        pytest.param(search.DEAD_ENDS_BEFORE_PRUNING, id="as-usual"),
        pytest.param(0, id="pruning-at-once"),
    ]
)
def _pruning(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "DEAD_ENDS_BEFORE_PRUNING", request.param)


@cache
def expected(seed: int) -> Object:
    return try_everything(tiny(seed), steps_max=REFERENCE_STEPS_MAX)


@pytest.mark.usefixtures("_pruning")
@pytest.mark.parametrize("seeds", chunks())
def test_what_is_given_breaks_no_rule(seeds: Sequence[int]) -> None:
    broken = {}
    for seed in seeds:
        case = tiny(seed)
        found = violations(case, results) if (results := allocate_case(case).get("results")) else []
        if found:
            broken[seed] = found
    assert not broken


@pytest.mark.usefixtures("_pruning")
@pytest.mark.parametrize("seeds", chunks())
def test_the_answer_is_that_of_trying_everything(seeds: Sequence[int]) -> None:
    different = {}
    for seed in seeds:
        if not expected(seed).get("aborted"):
            kind = difference(expected(seed), allocate_case(tiny(seed)))
            if kind is not None:
                different[seed] = kind
    assert not different


@pytest.mark.usefixtures("_pruning")
@pytest.mark.parametrize("seeds", chunks())
def test_whoever_gets_nothing_could_not_have_got_anything(seeds: Sequence[int]) -> None:
    wronged = []
    for seed in seeds:
        answer = allocate_case(tiny(seed))
        assert not answer.get("aborted"), f"seed {seed} is too small to be left undecided"
        if outcome(answer) == "no fit" and outcome(expected(seed)) != "no fit":
            wronged.append(seed)
    assert not wronged


@pytest.mark.usefixtures("_pruning")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["name"])
        for case in map(json.loads, REGRESSIONS.read_text().splitlines())
    ],
)
def test_what_went_wrong_once_is_decided_as_upstream_decides_it(case: Object) -> None:
    asked = {name: value for name, value in case.items() if name not in ANSWER}
    assert difference(case, allocate_case(asked)) is None


@pytest.mark.slow
def test_the_cases_have_enough_of_every_outcome_to_mean_something() -> None:
    outcomes = Counter(
        "aborted" if expected(seed).get("aborted") else outcome(expected(seed))
        for seed in range(SEEDS)
    )
    difficult = sum(expected(seed).get("steps", 0) > 50 for seed in range(SEEDS))
    assert min(outcomes["success"], outcomes["no fit"], outcomes["error"]) > SEEDS / 10
    assert outcomes["aborted"] < SEEDS / 100
    assert difficult > SEEDS / 20


def test_a_seed_is_a_case() -> None:
    assert [tiny(seed) for seed in range(QUICK)] == [tiny(seed) for seed in range(QUICK)]


@pytest.mark.parametrize("seed", range(QUICK))
def test_asking_twice_changes_nothing(seed: int) -> None:
    allocator, node, claims = allocator_of(tiny(seed))

    def ask() -> object:
        try:
            answer = allocator.allocate(node, claims)
        except AllocationError as error:
            return str(error)
        if not isinstance(answer, Allocation):
            return answer
        # Not the results as they are: every share has a name of its own.
        given = [one for result in answer.results for one in result.devices.results]
        return [(one.request, one.pool, one.device) for one in given], answer.steps

    assert ask() == ask()


# A checker that never complains proves nothing --------------------------------------------------

DEVICES: list[Object] = [
    {"name": "d0", "attributes": {"numa": {"int": 0}, "model": {"string": "a"}}},
    {"name": "d1", "attributes": {"numa": {"int": 0}, "model": {"string": "a"}}},
    {"name": "d2", "attributes": {"numa": {"int": 1}, "model": {"string": "b"}}},
    {
        "name": "tainted",
        "attributes": {"numa": {"int": 0}, "model": {"string": "a"}},
        "taints": [{"key": "k", "effect": "NoSchedule"}],
    },
    {"name": "shared", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "4"}}},
    {"name": "p0", "consumesCounters": [{"counterSet": "s", "counters": {"mem": {"value": "2"}}}]},
    {"name": "p1", "consumesCounters": [{"counterSet": "s", "counters": {"mem": {"value": "2"}}}]},
]


def asked(*requests: Object, **devices: Any) -> Object:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 2}
    common = {"driver": "driver", "pool": pool, "nodeName": "node"}
    counters = [{"name": "s", "counters": {"mem": {"value": "3"}}}]
    return {
        "features": ["DRAConsumableCapacity", "DRADeviceTaints", "DRAPartitionableDevices"],
        "node": {"metadata": {"name": "node"}},
        "classes": [{"metadata": {"name": "any"}, "spec": {}}],
        "slices": [
            {"metadata": {"name": "s0"}, "spec": {**common, "devices": DEVICES}},
            {"metadata": {"name": "s1"}, "spec": {**common, "sharedCounters": counters}},
        ],
        "claims": [
            {
                "metadata": {"name": "c"},
                "spec": {"devices": {"requests": list(requests), **devices}},
            }
        ],
    }


def wish(name: str = "r", **members: Any) -> Object:
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1, **members}
    return {"name": name, "exactly": exactly}


def given(*devices: str, request: str = "r", **members: Any) -> list[Object]:
    entry = {"request": request, "driver": "driver", "pool": "p", **members}
    return [{"devices": {"results": [{**entry, "device": device} for device in devices]}}]


MODEL = {"cel": {"expression": 'device.attributes["driver"].?model.orValue("") == "a"'}}
SHARE: Object = {"shareID": "x", "consumedCapacity": {"memory": "3"}}
MATCH: Object = {"constraints": [{"matchAttribute": "driver/numa"}]}
DISTINCT: Object = {"constraints": [{"distinctAttribute": "driver/numa"}]}
OTHER_SHARE: Object = {
    "consumed": [{"driver": "driver", "pool": "p", "device": "shared", "capacity": {"memory": "2"}}]
}
HELD: Object = {"allocated": [{"driver": "driver", "pool": "p", "device": "d0"}]}


@pytest.mark.parametrize(
    ("case", "fine", "wrong", "complaint"),
    [
        pytest.param(
            asked(wish(count=2)),
            given("d0", "d1"),
            given("d0", "d0"),
            "was given to",
            id="a-device-twice",
        ),
        pytest.param(
            {**asked(wish()), **HELD},
            given("d1"),
            given("d0"),
            "is allocated",
            id="a-device-in-use",
        ),
        pytest.param(
            asked(wish(count=2)), given("d0", "d1"), given("d0"), "1 devices", id="too-few"
        ),
        pytest.param(asked(wish()), given("d0"), given(), "nothing", id="none"),
        pytest.param(
            asked(wish()), given("d0"), given("nope"), "no such device", id="no-such-device"
        ),
        pytest.param(
            asked(wish()),
            given("d0"),
            given("d0", request="q"),
            "nobody asked",
            id="no-such-request",
        ),
        pytest.param(
            asked(wish(selectors=[MODEL])), given("d1"), given("d2"), "is not for", id="a-selector"
        ),
        pytest.param(asked(wish()), given("d0"), given("tainted"), "has the taint", id="a-taint"),
        pytest.param(
            asked(wish(count=2), **MATCH),
            given("d0", "d1"),
            given("d0", "d2"),
            "does not hold",
            id="a-match",
        ),
        pytest.param(
            asked(wish(count=2), **DISTINCT),
            given("d0", "d2"),
            given("d0", "d1"),
            "does not hold",
            id="distinct",
        ),
        pytest.param(
            asked(wish(), **MATCH), given("d0"), given("p0"), "lacks", id="a-missing-attribute"
        ),
        pytest.param(
            asked(wish(count=2)), given("p0", "d0"), given("p0", "p1"), "over-drawn", id="counters"
        ),
        pytest.param(
            asked(wish()),
            given("shared", **SHARE),
            given("shared"),
            "which share",
            id="an-unnamed-share",
        ),
        pytest.param(
            {**asked(wish()), **OTHER_SHARE},
            given("d0"),
            given("shared", **SHARE),
            "more of memory",
            id="capacity",
        ),
        pytest.param(
            asked(wish(capacity={"requests": {"memory": "3"}})),
            given("shared", **SHARE),
            given("shared", shareID="x", consumedCapacity={"memory": "1"}),
            "has not 3",
            id="too-small-a-share",
        ),
    ],
)
def test_the_checker_tells_right_from_wrong(
    case: Object, fine: list[Object], wrong: list[Object], complaint: str
) -> None:
    assert violations(case, fine) == []
    assert any(complaint in text for text in violations(case, wrong))
