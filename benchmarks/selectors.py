"""Selectors asked about 10,000 devices, in turns with Kubernetes' own evaluator.

The reference is cel-go's program with its inputs made beforehand: dray's rows start from devices
made ready as well. What the scheduler calls today, `DeviceMatches`, makes the inputs anew for
every evaluation; it is shown beside. Both of upstream's rows count the cost of every step, and so
do dray's exact steps; generated code and columns are only used where the estimate bounds the cost.

Ratios are to the reference, so below 1 is faster. Every table first makes sure that all sides give
the same answers. Without Go only dray is measured, against itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from benchmarks.cel_go import CelGo, Counts
from benchmarks.contest import Floor, check_floors, repeats_for, seconds_per_run
from benchmarks.resource_slice import DEVICES as SLICE_DEVICES
from benchmarks.resource_slice import slice_document
from dray.api.codec import decode
from dray.api.resource import Device, ResourceSlice
from dray.cel import DeviceView, Environment, Selector, compile_selector
from dray.cel._codegen import generate
from dray.cel._compiler import _compiled, _wrong_selector
from dray.cel._logic import take_apart
from dray.cel.fleet import DeviceTable, Verdict
from dray.errors import CELError

DEVICES: Final = 10_000
DEVICES_MANY: Final = 100_000
ROUNDS: Final = 25
ROUND_SECONDS: Final = 0.02
"""About what cel-go takes for all devices. Rounds must be of one length on both sides: on a busy
machine the shorter one is the likelier to be left alone."""

DRIVER: Final = "gpu.example.com"
MODELS: Final = ("A100", "H100", "L4", "T4")

PROGRAM: Final = "cel-go, inputs made beforehand"
MATCHES: Final = "cel-go, DeviceMatches"
COMPILE: Final = "cel-go, compile"
EXACT: Final = "dray, exact steps"
CODE: Final = "dray, generated code"
WARM: Final = "dray, Selector.matches"
COLUMNS: Final = "dray, columns"
OWN_COMPILE: Final = "dray, compile"

TARGETS: Final = {EXACT: 1.0, CODE: 0.3, WARM: 0.5, COLUMNS: 0.05, OWN_COMPILE: 2.0}
"""What each should take, as a ratio to cel-go's time."""

MARGIN: Final = 2.0
LIMITS: Final = {name: target * MARGIN for name, target in TARGETS.items()}
"""What fails the run. A missed target is only printed: a noisy machine, or one on which Go's
collector has a core to itself, must not fail it."""

FAILING_LIMITS: Final = LIMITS | {EXACT: 4.0, WARM: 4.0}
"""Where many devices give an error: errors are exceptions, which cost Python more than Go's values.
Whoever has a fleet like that asks by columns."""

DISTINCT_LIMITS: Final = LIMITS | {COLUMNS: LIMITS[WARM]}
"""Where every device has a value of its own, columns ask about each, and cannot beat code."""

ATTRIBUTES: Final = f'device.attributes["{DRIVER}"]'
CAPACITY: Final = f'device.capacity["{DRIVER}"]'

SELECTORS: Final = {
    "driver": f'device.driver == "{DRIVER}"',
    "model and capacity": (
        f'{ATTRIBUTES}.model == "H100" && {CAPACITY}.memory.compareTo(quantity("80Gi")) >= 0'
    ),
    "model in a list and index": (
        f'{ATTRIBUTES}.model in ["A100", "H100"] && {ATTRIBUTES}.index < 4'
    ),
    "exists": f'["A100", "H100"].exists(m, {ATTRIBUTES}.model == m)',
}
UNGUARDED: Final = SELECTORS["model in a list and index"]
GUARDED: Final = f"{SELECTORS['driver']} && {UNGUARDED}"
DISTINCT: Final = f'{ATTRIBUTES}.uuid == "GPU-{7:032x}"'

Timed = Callable[[], float]
"""Does one round and answers the seconds that one evaluation took."""


def main() -> bool:
    """Run all contests, with cel-go if it can be built."""
    if not CelGo.available():
        print("\nGo is not installed: selectors are measured without cel-go.")
        return _contests(None)
    with CelGo() as cel_go:
        return _contests(cel_go)


def gpu(index: int) -> dict[str, Any]:
    """A device of the driver: six attributes in two domains, two capacities."""
    return {
        "driver": DRIVER,
        "attributes": {
            "model": {"string": MODELS[index % 4]},
            "index": {"int": index // 4 % 8},
            "uuid": {"string": f"GPU-{index:032x}"},
            "driverVersion": {"version": f"550.54.{index // 64 % 4}"},
            "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{index % 16:02x}"},
            "resource.kubernetes.io/numaNode": {"int": index % 2},
        },
        "capacity": {
            "memory": {"value": "80Gi" if index // 32 % 2 else "40Gi"},
            "multiprocessors": {"value": "132"},
        },
    }


def nic(index: int) -> dict[str, Any]:
    """A device of another driver: nothing of it is in the first one's domain."""
    return {
        "driver": "nic.example.com",
        "attributes": {
            "speed": {"int": 100 << index % 3},
            "rdma": {"bool": index % 2 == 0},
            "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{index % 16:02x}"},
        },
        "capacity": {"bandwidth": {"value": "100G"}},
    }


@dataclass(frozen=True)
class Fleet:
    """Devices as documents, as the API's types and as views, and a table of them."""

    name: str
    documents: list[dict[str, Any]]
    devices: list[tuple[str, Device]]
    views: list[DeviceView]
    table: DeviceTable

    @staticmethod
    def of(name: str, documents: list[dict[str, Any]]) -> Fleet:
        drivers = [document["driver"] for document in documents]
        devices = list(zip(drivers, _decoded(documents), strict=True))
        views = [DeviceView.of(driver, device) for driver, device in devices]
        return Fleet(name, documents, devices, views, DeviceTable(views))


def _decoded(documents: list[dict[str, Any]]) -> Iterator[Device]:
    """The devices as they come from the API, in slices."""
    plain = [{"attributes": d["attributes"], "capacity": d["capacity"]} for d in documents]
    for start in range(0, len(plain), SLICE_DEVICES):
        document = slice_document(plain[start : start + SLICE_DEVICES])
        yield from decode(json.dumps(document).encode(), ResourceSlice).spec.devices or ()


def _contests(cel_go: CelGo | None) -> bool:
    uniform = Fleet.of("uniform", [gpu(index) for index in range(DEVICES)])
    mixed = Fleet.of("mixed", [nic(i // 2) if i % 2 else gpu(i // 2) for i in range(DEVICES)])
    if cel_go is not None:
        cel_go.load(uniform.name, uniform.documents)
        cel_go.load(mixed.name, mixed.documents)
    held = [
        _evaluations(f"{name}: {expression}", cel_go, uniform, expression)
        for name, expression in SELECTORS.items()
    ]
    held += [
        _evaluations(
            f"half the devices give an error: {UNGUARDED}",
            cel_go,
            mixed,
            UNGUARDED,
            limits=FAILING_LIMITS,
        ),
        _evaluations(f"half the devices are another driver's: {GUARDED}", cel_go, mixed, GUARDED),
        _evaluations(
            f"as many values as devices: {DISTINCT}",
            cel_go,
            uniform,
            DISTINCT,
            limits=DISTINCT_LIMITS,
        ),
        _compilations(cel_go),
    ]
    _preparations(cel_go, uniform)
    _many()
    return all(held)


def _evaluations(
    title: str,
    cel_go: CelGo | None,
    fleet: Fleet,
    expression: str,
    *,
    limits: Mapping[str, float] = LIMITS,
) -> bool:
    selector, table, views = _selector(expression), fleet.table, fleet.views
    exactly = selector.matches_exactly
    expected = _counts(exactly, views)
    answers = {WARM: _counts(selector.matches, views), COLUMNS: _counted(table, selector)}
    contestants: dict[str, Timed] = {}
    if cel_go is not None:
        answers[PROGRAM] = cel_go.count(fleet.name, expression)
        contestants[PROGRAM] = partial(cel_go.program, fleet.name, expression)
        contestants[MATCHES] = partial(cel_go.matches, fleet.name, expression)
    if any(answer != expected for answer in answers.values()):
        raise AssertionError(f"the contestants disagree: {expected}, {answers}")
    yes, no, errors = expected
    contestants[EXACT] = _timed(partial(_ask_all, exactly, views), len(views))
    if selector.code is not None and not errors:
        values = [view.value for view in views]
        contestants[CODE] = _timed(partial(_call_all, selector.code, values), len(views))
    contestants[WARM] = _timed(partial(_ask_all, selector.matches, views), len(views))
    contestants[COLUMNS] = _timed(partial(table.verdicts, selector), len(views))
    print(f"\n{title}\n  {len(views)} devices: {yes} fit, {no} do not, {errors} give an error")
    return _contest(contestants, PROGRAM, limits, [Floor(CODE, EXACT, 1)])


def _compilations(cel_go: CelGo | None) -> bool:
    held = []
    for name, expression in SELECTORS.items():
        compile_once = partial(_compiled, expression, Environment(), _wrong_selector)
        checked = compile_once().checked
        assert checked is not None
        contestants: dict[str, Timed] = {}
        if cel_go is not None:
            once = cel_go.compile(expression, repeats=10)
            repeats = max(1, int(ROUND_SECONDS / once))
            contestants[COMPILE] = partial(cel_go.compile, expression, repeats=repeats)
        contestants[OWN_COMPILE] = _timed(compile_once, 1)
        contestants["dray, making code, later"] = _timed(partial(generate, checked), 1)
        contestants["dray, taking apart, later"] = _timed(partial(take_apart, checked), 1)
        print(f"\ncompiling {name}, with its cost estimated")
        held.append(_contest(contestants, COMPILE, LIMITS, []))
    return all(held)


def _preparations(cel_go: CelGo | None, fleet: Fleet) -> None:
    """What comes before the first answer; no targets, it is done once and not per question."""
    expression = SELECTORS["model and capacity"]
    selector, views, count = _selector(expression), fleet.views, len(fleet.views)
    contestants: dict[str, Timed] = {}
    reference = "cel-go, making inputs"
    if cel_go is not None:
        contestants[MATCHES] = partial(cel_go.matches, fleet.name, expression)
        contestants[PROGRAM] = partial(cel_go.program, fleet.name, expression)
    contestants["dray, making a view"] = _timed(partial(_view_all, fleet.devices), count)
    for place in sorted(selector.references | _selector(DISTINCT).references):
        read = partial(fleet.table._read, place)  # noqa: SLF001 (the cache is in the way)
        contestants[f"dray, column {place.field} {place.name}"] = _timed(read, count)
    contestants["dray, first use of a table"] = _timed(
        lambda: DeviceTable(views).verdicts(selector), count
    )
    best = _best(contestants)
    if cel_go is not None:
        best[reference] = best[MATCHES] - best[PROGRAM]
    print("\nbefore the first answer, per device")
    _print_table(best, reference)


def _many() -> None:
    views = Fleet.of("many", [gpu(index) for index in range(DEVICES_MANY)]).views
    table = DeviceTable(views)
    contestants: dict[str, Timed] = {}
    for name, expression in SELECTORS.items():
        work = partial(table.verdicts, _selector(expression))
        contestants[name] = _timed(work, len(views))
    print(f"\ncolumns of {DEVICES_MANY} devices, per device")
    _print_table(_best(contestants))


def _contest(
    contestants: Mapping[str, Timed],
    reference: str,
    limits: Mapping[str, float],
    without_reference: list[Floor],
) -> bool:
    best = _best(contestants)
    _print_table(best, reference)
    if reference not in best:
        return check_floors(best, [floor for floor in without_reference if floor.subject in best])
    for name, target in TARGETS.items():
        if name in best and best[name] > target * best[reference]:
            print(f"  {name} MISSES its target, {target:g} of {reference}")
    floors = [Floor(name, reference, 1 / limit) for name, limit in limits.items() if name in best]
    return check_floors(best, floors)


def _print_table(best: Mapping[str, float], reference: str = "") -> None:
    for name, seconds in best.items():
        ratio = f"   {seconds / best[reference]:8.4f}" if reference in best else ""
        print(f"  {name:<44} {seconds * 1e9:>12.1f} ns{ratio}")


def _best(contestants: Mapping[str, Timed]) -> dict[str, float]:
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(ROUNDS):
        for name, time in contestants.items():
            best[name] = min(best[name], time())
    return best


def _timed(work: Callable[[], object], evaluations: int) -> Timed:
    repeats = repeats_for(work, round_seconds=ROUND_SECONDS)
    return lambda: seconds_per_run(work, repeats) / evaluations


def _selector(expression: str) -> Selector:
    return Selector(compile_selector(expression, Environment()))


def _counts(ask: Callable[[DeviceView], bool], views: Sequence[DeviceView]) -> Counts:
    yes = no = errors = 0
    for view in views:
        try:
            if ask(view):
                yes += 1
            else:
                no += 1
        except CELError:
            errors += 1
    return yes, no, errors


def _counted(table: DeviceTable, selector: Selector) -> Counts:
    verdicts = table.verdicts(selector).tolist()
    return tuple(verdicts.count(verdict) for verdict in (Verdict.YES, Verdict.NO, Verdict.ERROR))


def _ask_all(ask: Callable[[DeviceView], bool], views: Sequence[DeviceView]) -> None:
    for view in views:
        try:  # noqa: SIM105 (suppress would be a good part of what is measured)
            ask(view)
        except CELError:
            pass


def _call_all(code: Callable[[Any], object], values: Sequence[object]) -> None:
    for value in values:
        code(value)


def _view_all(devices: Sequence[tuple[str, Device]]) -> None:
    for driver, device in devices:
        DeviceView.of(driver, device)
