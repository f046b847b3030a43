"""Compares dray with upstream on fresh cases: devices, results, errors.

    python tests/oracle/allocator/differential.py --cases 5000 --seed 1 --workers 2
    python tests/oracle/allocator/differential.py --cases 1 --seed 4711 --shrink
    python tests/oracle/allocator/differential.py --file case.json
    python tests/oracle/allocator/differential.py --against reference --cases 2000

Needs Go. Each case has a seed of its own, so any can be asked again alone. `--against reference`
compares the plain allocator of the tests instead of dray's. Cases that upstream does not decide
in time, or on which it panics, are counted and left out. Prints how often each kind of difference
was seen, and the smallest cases; the whole cases are written to a file, one per line. Exits with
1 if there is any.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.conformance.allocator.answers import canonical, difference, outcome
from tests.oracle.allocator.generate import case
from tests.oracle.allocator.oracle import Asked, Object, ask, build
from tests.oracle.allocator.shrink import shrink

BATCH_CASES = 100
EXAMPLES_SHOWN = 2
SHRUNK_PER_KIND = 2
TEXT_SHOWN = 1500
# Why upstream's answer is no answer.
UNDECIDED = ("requestError", "panic", "timeout", "unstable")

Respond = Callable[[Object], Object]


@dataclass(frozen=True, slots=True)
class Difference:
    kind: str
    asked: Object
    theirs: Object
    ours: Object

    @property
    def size(self) -> int:
        return len(json.dumps(self.asked))


@dataclass(slots=True)
class Tally:
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    differences: list[Difference] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.counts.update(other.counts)
        self.differences += other.differences


@dataclass(frozen=True, slots=True)
class Job:
    seeds: range
    against: str
    steps_max: int
    timeout: str


def responder(against: str, steps_max: int) -> Respond:
    if against == "reference":
        from tests.conformance.allocator.reference import allocate_case

        return lambda asked: allocate_case(asked, steps_max=steps_max)
    from dray.testing.conformance import SUITES

    suite: Callable[[Any], Object] = SUITES["allocator"]
    return suite


def compare(asked: Object, theirs: Object, respond: Respond) -> tuple[str | None, Object]:
    """The kind of difference, and our answer."""
    try:
        ours = respond(asked)
    except Exception:  # noqa: BLE001 - whatever escapes is a difference to report
        raised = traceback.format_exc().strip().splitlines()
        return f"raised {raised[-1][:80]}", {"raised": raised[-8:]}
    return difference(theirs, ours), ours


def batch(job: Job) -> Tally:
    tally = Tally()
    respond = responder(job.against, job.steps_max)
    cases = [case(seed) for seed in job.seeds]
    for asked, theirs in zip(cases, ask(cases, "-timeout", job.timeout), strict=True):
        tally.counts["cases"] += 1
        undecided = next((name for name in UNDECIDED if theirs.get(name)), None)
        if undecided is not None:
            tally.counts[f"upstream: {undecided}"] += 1
            continue
        if job.steps_max and theirs.get("upstreamSteps", 0) > job.steps_max:
            tally.counts["left out: too many steps"] += 1
            continue
        tally.counts[f"upstream: {outcome(theirs)}"] += 1
        kind, ours = compare(asked, theirs, respond)
        if kind is not None:
            tally.counts[f"DIFFERENT {kind}"] += 1
            tally.differences.append(Difference(kind, asked, theirs, ours))
    return tally


def batches(jobs: list[Job], workers: int) -> Iterator[Tally]:
    if workers == 1:
        yield from map(batch, jobs)
        return
    with multiprocessing.Pool(workers) as pool:
        yield from pool.imap_unordered(batch, jobs)


def shrunk(found: Difference, respond: Respond, timeout: str) -> Difference:
    """The difference on as small a case as shows it."""
    upstream = Asked("-timeout", timeout, "-repeats", "60")

    def still(smaller: Object) -> bool:
        theirs = upstream(smaller)
        if any(theirs.get(name) for name in UNDECIDED):
            return False
        return compare(smaller, theirs, respond)[0] == found.kind

    smallest = shrink(found.asked, still)
    theirs = upstream(smallest)
    upstream.close()
    return Difference(found.kind, smallest, theirs, compare(smallest, theirs, respond)[1])


def shown(answer: Object) -> str:
    kept = {name: it for name, it in answer.items() if name not in ("results", "upstreamSteps")}
    if answer.get("results"):
        kept["results"] = canonical(answer["results"])
    return json.dumps(kept, ensure_ascii=False, default=str)[:TEXT_SHOWN]


def report(tally: Tally, examples: int) -> None:
    write = sys.stdout.write
    for name, count in tally.counts.most_common():
        write(f"{count:8}  {name}\n")
    seen: collections.Counter[str] = collections.Counter()
    for found in sorted(tally.differences, key=lambda one: (one.kind, one.size)):
        seen[found.kind] += 1
        if seen[found.kind] > examples:
            continue
        write(
            f"\n== {found.kind}\n   {found.asked.get('name')}\n"
            f"   upstream {shown(found.theirs)}\n   here     {shown(found.ours)}\n"
        )
        if found.size <= 2 * TEXT_SHOWN:
            write(f"   case     {json.dumps(found.asked, ensure_ascii=False)}\n")


def kept(tally: Tally) -> str:
    """The file with all cases that differ, the smallest first."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="allocator-differences-", suffix=".jsonl", delete=False
    ) as file:
        for found in sorted(tally.differences, key=lambda one: one.size):
            told = {"kind": found.kind, "theirs": found.theirs, "ours": found.ours}
            file.write(json.dumps({**found.asked, "difference": told}, default=str) + "\n")
    return file.name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1, help="of the first case")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--against", choices=("dray", "reference"), default="dray")
    parser.add_argument("--shrink", action="store_true", help="make the cases shown smaller")
    parser.add_argument("--file", type=Path, help="cases to ask instead, one per line")
    parser.add_argument("--examples", type=int, default=EXAMPLES_SHOWN, help="of each difference")
    parser.add_argument("--timeout", default="2s", help="of one attempt of upstream")
    parser.add_argument("--steps-max", type=int, help="leave out what takes upstream more steps")
    options = parser.parse_args()
    steps_max = options.steps_max
    if steps_max is None:
        # The reference does every one of upstream's steps, and slowly.
        steps_max = 20_000 if options.against == "reference" else 0
    build()
    respond = responder(options.against, steps_max)
    tally = Tally()
    if options.file is not None:
        cases = [json.loads(line) for line in options.file.read_text().splitlines()]
        for asked, theirs in zip(cases, ask(cases, "-timeout", options.timeout), strict=True):
            kind, ours = compare(asked, theirs, respond)
            tally.counts[f"DIFFERENT {kind}" if kind else "same"] += 1
            if kind is not None:
                tally.differences.append(Difference(kind, asked, theirs, ours))
    else:
        last = options.seed + options.cases
        jobs = [
            Job(
                range(start, min(start + BATCH_CASES, last)),
                options.against,
                steps_max,
                options.timeout,
            )
            for start in range(options.seed, last, BATCH_CASES)
        ]
        for found in batches(jobs, options.workers):
            tally.add(found)
    if options.shrink:
        tally.differences = list(smaller(tally.differences, respond, options.timeout))
    report(tally, options.examples)
    if tally.differences:
        sys.stdout.write(f"\nthe cases that differ: {kept(tally)}\n")
    return 1 if tally.differences else 0


def smaller(found: list[Difference], respond: Respond, timeout: str) -> Iterator[Difference]:
    """The smallest of each kind, made smaller; the others are dropped."""
    done: collections.Counter[str] = collections.Counter()
    for one in sorted(found, key=lambda each: each.size):
        done[one.kind] += 1
        if done[one.kind] <= SHRUNK_PER_KIND:
            yield shrunk(one, respond, timeout)


if __name__ == "__main__":
    sys.exit(main())
