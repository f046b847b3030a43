"""Compares dray with upstream on fresh questions: verdicts, texts of errors, costs.

    python tests/oracle/cel/differential.py --pairs 60000 --seed 7
    python tests/oracle/cel/differential.py --quirks

Needs Go. Questions are asked in batches, each with a seed of its own, so that memory is bounded and
any batch can be asked again alone (`--seed` of the batch, `--pairs` of one batch). Where upstream
contradicts itself, because Go iterates over maps at random, only what is stable is compared. Prints
how often each class of difference was seen, with the shortest expressions. Exits with 1 if there is
any.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import re
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BINARY = HERE.parent / ".build" / "cel"
BATCH_EXPRESSIONS = 250
DEVICES_EACH = 4
BATCHES_PER_WORKER = 10
EXAMPLES_SHOWN = 3

sys.path.insert(0, str(ROOT))

from tests.conformance.cel.answers import answer, same  # noqa: E402
from tests.oracle.cel.evaluations import EvaluationGenerator, quirks  # noqa: E402
from tests.oracle.cel.generate import Question  # noqa: E402

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    kind: str
    expression: str
    asked: str
    theirs: str
    ours: str


@dataclass(slots=True)
class Tally:
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    differences: list[Difference] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.counts.update(other.counts)
        by_kind: dict[str, list[Difference]] = {}
        for difference in [*self.differences, *other.differences]:
            by_kind.setdefault(difference.kind, []).append(difference)
        # Only examples are kept: the shortest of each kind.
        self.differences = [
            example
            for found in by_kind.values()
            for example in sorted(found, key=lambda one: len(one.expression))[:EXAMPLES_SHOWN]
        ]


def upstream(asked: list[Question]) -> list[Answer]:
    lines = "".join(json.dumps(question) + "\n" for question in asked)
    answered = subprocess.run([BINARY], input=lines.encode(), capture_output=True, check=True)
    return [json.loads(line) for line in answered.stdout.splitlines()]


def compare(asked: list[Question]) -> Tally:
    tally = Tally()
    for question, theirs in zip(asked, upstream(asked), strict=True):
        try:
            ours = answer(question)
        except Exception:  # noqa: BLE001 - whatever escapes is a difference to report
            raised = traceback.format_exc().strip().splitlines()
            where = next((line for line in reversed(raised) if line.startswith("  File")), "")
            note(tally, f"raised {raised[-1][:60]}", question, {}, theirs, {"raised": where})
            continue
        compare_answers(tally, question, theirs, ours)
    return tally


def compare_answers(tally: Tally, question: Question, theirs: Answer, ours: Answer) -> None:
    tally.counts["expressions"] += 1
    if "panic" in theirs:
        tally.counts["upstream panics"] += 1
        return
    for member in ("kind", "error", "outputType", "maxCost"):
        if theirs.get(member) != ours.get(member):
            note(tally, f"compiling: {member}", question, {}, theirs, ours)
            return
    if "error" in theirs:
        tally.counts["refused"] += 1
        return
    pairs = zip(
        question["devices"], theirs.get("evaluations", ()), ours["evaluations"], strict=True
    )
    for device, their, our in pairs:
        tally.counts["pairs"] += 1
        kind = difference(their, our)
        if kind is not None:
            note(tally, kind, question, device, their, our)


def difference(theirs: Answer, ours: Answer) -> str | None:
    """What kind of difference there is between two evaluations, if any."""
    if theirs.get("timeout") or same(theirs, ours):
        return None
    if ("error" in theirs) != ("error" in ours):
        text = theirs.get("error") or ours.get("error") or ""
        who = "only upstream fails" if "error" in theirs else "only dray fails"
        return f"{who}: {masked(text)}"
    if theirs.get("error") != ours.get("error"):
        return f"text: {masked(theirs['error'])} | {masked(ours['error'])}"
    if same({**theirs, "unstable": "cost"}, ours):
        return f"cost of {'an error' if 'error' in theirs else 'a value'}"
    ways = [way for way in ("exactly", "in code", "in a table") if way in ours]
    return f"another answer {' and '.join(ways)}".rstrip()


def masked(text: str) -> str:
    """The text without what makes each one different."""
    return re.sub(r"\"[^\"]*\"|\d+", "…", text)[:90]


def note(
    tally: Tally, kind: str, question: Question, device: Any, theirs: Answer, ours: Answer
) -> None:
    tally.counts[f"DIFFERENT {kind}"] += 1
    flags = {
        name: value for name, value in question.items() if name not in ("expression", "devices")
    }
    tally.differences.append(
        Difference(
            kind,
            question["expression"],
            json.dumps({**flags, "device": mentioned(question["expression"], device)}),
            json.dumps(theirs, ensure_ascii=False)[:400],
            json.dumps(ours, ensure_ascii=False, default=str)[:400],
        )
    )


def mentioned(expression: str, device: Any) -> Any:
    """The device without what the expression does not name."""
    kept = dict(device)
    for part in ("attributes", "capacity"):
        if part in kept:
            kept[part] = {
                name: value
                for name, value in kept[part].items()
                if re.search(rf"\b{re.escape(name.rpartition('/')[2])}\b", expression)
                or name == "poison"
            }
    return kept


def batch(seed: int) -> Tally:
    generator = EvaluationGenerator(seed, devices_each=DEVICES_EACH)
    tally = compare(list(generator.questions(BATCH_EXPRESSIONS)))
    tally.counts["batches"] += 1
    return tally


def batches(seed: int, pairs: int, workers: int) -> Iterator[Tally]:
    count = -(-pairs // (BATCH_EXPRESSIONS * DEVICES_EACH))
    seeds = range(seed, seed + count)
    if workers == 1:
        yield from map(batch, seeds)
        return
    # A worker that has done its share is replaced, which gives back what its caches hold.
    with multiprocessing.Pool(workers, maxtasksperchild=BATCHES_PER_WORKER) as pool:
        yield from pool.imap_unordered(batch, seeds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=2000, help="expressions times devices")
    parser.add_argument("--seed", type=int, default=1, help="of the first batch")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--quirks", action="store_true", help="the hand-written expressions")
    parser.add_argument("--examples", type=int, default=EXAMPLES_SHOWN, help="of each difference")
    options = parser.parse_args()
    subprocess.run(["go", "build", "-o", BINARY, "."], cwd=HERE, check=True)
    tally = Tally()
    if options.quirks:
        tally.add(compare(list(quirks())))
    else:
        for found in batches(options.seed, options.pairs, options.workers):
            tally.add(found)
    report(tally, options.examples)
    return 1 if tally.differences else 0


def report(tally: Tally, examples: int) -> None:
    write = sys.stdout.write
    for name, count in tally.counts.most_common():
        write(f"{count:8}  {name}\n")
    shown: collections.Counter[str] = collections.Counter()
    for example in sorted(tally.differences, key=lambda one: (one.kind, len(one.expression))):
        shown[example.kind] += 1
        if shown[example.kind] > examples:
            continue
        write(
            f"\n== {example.kind}\n   {example.expression}\n   asked    {example.asked}\n"
            f"   upstream {example.theirs}\n   dray     {example.ours}\n"
        )


if __name__ == "__main__":
    sys.exit(main())
