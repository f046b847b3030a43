"""How generated cases end, and what made them end that way.

    python tests/oracle/allocator/coverage.py --cases 3000 --seed 1

Needs Go. For everything an allocator
looks at, the case is asked again without it. If claims that did not fit then fit, or an error goes
away, that thing caused the refusal. A column of zeros means that the cases prove nothing about it.
"""

from __future__ import annotations

import argparse
import collections
import copy
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent

sys.path.insert(0, str(HERE.parents[2]))

from tests.conformance.allocator.answers import outcome  # noqa: E402
from tests.oracle.allocator.generate import case, world  # noqa: E402
from tests.oracle.allocator.oracle import Object, ask, build  # noqa: E402
from tests.oracle.allocator.world import GATES  # noqa: E402

UNDECIDED = ("requestError", "panic", "timeout", "unstable")


def ended(answer: Object) -> str:
    undecided = (
        name for name in ("requestError", "panic", "timeout", "unstable") if name in answer
    )
    return next(undecided, outcome(answer))


def devices(one: Object) -> Iterator[Object]:
    for each in one["slices"]:
        yield from each["spec"].get("devices", ())


def wishes(one: Object) -> Iterator[Object]:
    for claim in one["claims"]:
        for request in claim["spec"]["devices"].get("requests", ()):
            yield from request.get("firstAvailable") or [request["exactly"]]


def without(of: Callable[[Object], Iterator[Object]], *members: str) -> Callable[[Object], bool]:
    def remove(one: Object) -> bool:
        removed = [each.pop(name, None) for each in of(one) for name in members]
        return any(item is not None for item in removed)

    return remove


def specs(one: Object) -> Iterator[Object]:
    yield from (each["spec"] for each in one["slices"])


def wanted_devices(one: Object) -> Iterator[Object]:
    yield from (each["spec"]["devices"] for each in one["claims"])


def emptied(*members: str) -> Callable[[Object], bool]:
    def empty(one: Object) -> bool:
        found = any(one[name] for name in members)
        one.update({name: [] for name in members})
        return found

    return empty


def everywhere(one: Object) -> bool:
    """Everything on all nodes."""
    found = False
    for spec in [*specs(one), *devices(one)]:
        for name in ("nodeName", "nodeSelector", "perDeviceNodeSelection", "allNodes"):
            found |= name in spec and name != "allNodes"
            spec.pop(name, None)
    for spec in specs(one):
        spec["allNodes"] = True
    return found


def complete(one: Object) -> bool:
    """Every slice is of the latest generation, and none is missing."""
    before = json.dumps(one["slices"])
    newest: collections.Counter[tuple[str, str]] = collections.Counter()
    for spec in specs(one):
        key = (spec["driver"], spec["pool"]["name"])
        newest[key] = max(newest[key], spec["pool"]["generation"])
    one["slices"] = [
        each
        for each in one["slices"]
        if each["spec"]["pool"]["generation"]
        == newest[each["spec"]["driver"], each["spec"]["pool"]["name"]]
    ]
    sizes = collections.Counter((spec["driver"], spec["pool"]["name"]) for spec in specs(one))
    for spec in specs(one):
        spec["pool"]["resourceSliceCount"] = sizes[spec["driver"], spec["pool"]["name"]]
    return json.dumps(one["slices"]) != before


def groups(one: Object) -> bool:
    return without(
        lambda it: (use for each in devices(it) for use in each.get("consumesCounters", ())),
        "compatibilityGroups",
    )(one)


def counters(one: Object) -> bool:
    """No device consumes counters, and slices of counters are devices' slices without any."""
    return without(devices, "consumesCounters")(one) | without(specs, "sharedCounters")(one)


def policies(one: Object) -> bool:
    return without(
        lambda it: (entry for each in devices(it) for entry in each.get("capacity", {}).values()),
        "requestPolicy",
    )(one)


def exact(one: Object) -> bool:
    found = False
    for wish in wishes(one):
        if wish["allocationMode"] == "All":
            found = True
            wish.update(allocationMode="ExactCount", count=1)
    return found


def first_only(one: Object) -> bool:
    found = False
    for claim in one["claims"]:
        for request in claim["spec"]["devices"].get("requests", ()):
            if "firstAvailable" in request:
                found = True
                first = request.pop("firstAvailable")[0]
                request["exactly"] = {name: it for name, it in first.items() if name != "name"}
    return found


def declared(one: Object) -> bool:
    one["node"]["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}
    return any("skipNodeOperations" in spec for spec in specs(one))


def kind_of_constraint(kind: str) -> Callable[[Object], bool]:
    def remove(one: Object) -> bool:
        found = False
        for devices_of in wanted_devices(one):
            constraints = devices_of.get("constraints", [])
            kept = [each for each in constraints if kind not in each]
            found |= len(kept) != len(constraints)
            devices_of["constraints"] = kept
        return found

    return remove


def gate(name: str) -> Callable[[Object], bool]:
    """With the gate off if it is on, and on if it is off."""

    def switch(one: Object) -> bool:
        if name in one["features"]:
            one["features"] = [each for each in one["features"] if each != name]
        else:
            one["features"] = [*one["features"], name]
        return True

    return switch


ABLATIONS: dict[str, Callable[[Object], bool]] = {
    "taints": without(devices, "taints"),
    "tolerations": without(wishes, "tolerations"),
    "counters": counters,
    "compatibility groups": groups,
    "binding conditions": without(devices, "bindingConditions", "bindingFailureConditions"),
    "sharing": without(devices, "allowMultipleAllocations"),
    "capacity": without(devices, "capacity"),
    "capacity requests": without(wishes, "capacity"),
    "request policies": policies,
    "match constraints": kind_of_constraint("matchAttribute"),
    "distinct constraints": kind_of_constraint("distinctAttribute"),
    "derived attributes": without(wishes, "derivedAttributes"),
    "selectors": without(wishes, "selectors"),
    "admin access": without(wishes, "adminAccess"),
    "all devices": exact,
    "alternatives": first_only,
    "node operations": without(specs, "skipNodeOperations"),
    "declared features": declared,
    "allocated": emptied("allocated"),
    "shared, consumed": emptied("shared", "consumed"),
    "nodes": everywhere,
    "generations, completeness": complete,
    **{name: gate(name) for name in GATES},
}


def ablated(one: Object, name: str) -> Object | None:
    changed = copy.deepcopy(one)
    return changed if ABLATIONS[name](changed) else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    build()
    write = sys.stdout.write
    seeds = range(options.seed, options.seed + options.cases)
    cases = [case(seed) for seed in seeds]
    answers = ask(cases, "-timeout", "500ms")
    total: collections.Counter[str] = collections.Counter(map(ended, answers))
    write("".join(f"{count:7} {name}\n" for name, count in total.most_common()))
    devices_of = [
        sum(len(each["devices"].get("results", ())) for each in answer["results"])
        for answer in answers
        if answer.get("results")
    ]
    steps = sorted(answer.get("upstreamSteps", 0) for answer in answers)
    write(f"{sum(devices_of) / max(len(devices_of), 1):7.2f} devices in a success\n")
    write(f"steps: median {steps[len(steps) // 2]}, p99 {steps[len(steps) * 99 // 100]}\n")
    backtracked = sum(map(searched, cases, answers))
    write(f"{backtracked:7} successes after going back\n\n")
    write(f"{'':28} success  no fit   error | refusal caused  success caused  other devices\n")
    for name in ABLATIONS:
        tell(name, cases, answers)
    texts: collections.Counter[str] = collections.Counter(
        masked(answer["error"]) for answer in answers if answer.get("error")
    )
    write("\n" + "".join(f"{count:7} {text}\n" for text, count in texts.most_common(60)))
    themes = collections.Counter(
        (theme, ended(answer))
        for seed, answer in zip(seeds, answers, strict=True)
        for theme in world(seed).themes
    )
    for theme in sorted({theme for theme, _ in themes}):
        ends = {end: count for (of, end), count in sorted(themes.items()) if of == theme}
        write(f"{theme:14} {ends}\n")
    return 0


def searched(one: Object, answer: Object) -> bool:
    """Whether upstream entered its recursion more often than the solution alone needs."""
    if not answer.get("results"):
        return False
    needed = 1 + len(one["claims"])
    for claim in one["claims"]:
        for request in claim["spec"]["devices"].get("requests", ()):
            needed += 2 if "firstAvailable" in request else 1
    needed += sum(len(each["devices"].get("results", ())) for each in answer["results"])
    return bool(answer.get("upstreamSteps", 0) > needed)


def tell(name: str, cases: list[Object], answers: list[Object]) -> None:
    changed = [ablated(one, name) for one in cases]
    pairs = [(answer, one) for answer, one in zip(answers, changed, strict=True) if one is not None]
    again = ask([one for _, one in pairs], "-repeats", "1", "-timeout", "100ms")
    ends = collections.Counter(ended(answer) for answer, _ in pairs)
    caused = {"refusal": 0, "success": 0, "other": 0}
    for (answer, _), other in zip(pairs, again, strict=True):
        before, after = ended(answer), ended(other)
        caused["refusal"] += before != "success" and after == "success"
        caused["success"] += before == "success" and after != "success"
        caused["other"] += before == after == "success" and answer["results"] != other["results"]
    errors = ends["error"] + ends["node only"]
    sys.stdout.write(
        f"{name:28} {ends['success']:7} {ends['no fit']:7} {errors:7} |"
        f" {caused['refusal']:14} {caused['success']:15} {caused['other']:14}\n"
    )


def masked(text: str) -> str:
    """The text of an error without the names in it."""
    words = []
    for word in text.replace("\n", " ").split(" "):
        bare = word.strip(":,")
        named = bare.startswith(("claim-", "default/", "team/", "class-")) or bare.count("/") == 2
        is_request = len(bare) == 2 and bare[0] in "rs" and bare[1].isdigit()
        words.append("…" if named or is_request else word)
    return " ".join(words)[:150]


if __name__ == "__main__":
    sys.exit(main())
